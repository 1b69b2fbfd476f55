"""The launches of the tutorials in ``examples``, as programs that stand alone, with memory as it is before."""

from pathlib import Path

from isa.program import Program
from vta.cli.programs import programs_of

__all__ = ["tutorial_program"]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def tutorial_program(name: str) -> Program:
    """Return the one launch that running ``examples/NAME.py`` makes on target ``sim``."""
    [program] = programs_of(EXAMPLES / f"{name}.py", None, "sim")
    return program
