"""``vta reduce``: the smallest capsule that still fails in the same way.

Tests: tests/vta/cli/test_capsule_commands.py.
"""

from pathlib import Path
from typing import Annotated

import typer

from isa.limits import DEFAULT_LIMITS
from isa.text.disassembler import disassemble
from vta.cli.options import LimitsOption
from vta.cli.reporting import UserError, reported, require_file
from vta.cli.style import say
from vta.inspect.capsule import CapsuleError, load_capsule, reduce_capsule, save_capsule

__all__ = ["reduce"]


def reduce(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A capsule of a run that failed, or gave a wrong result.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Where the small capsule goes.")],
    max_memory: LimitsOption = DEFAULT_LIMITS,
) -> None:
    """Shrink a capsule while it fails in the same way, or computes the same wrong thing, and show what is left."""
    with reported():
        require_file(file, "a capsule that `vta run --capsule` wrote")
        capsule = load_capsule(file, limits=max_memory)
        try:
            small = reduce_capsule(capsule, progress=lambda text: say(text, err=True))
        except CapsuleError as error:
            raise UserError(f"{file}: {error}") from None
        save_capsule(small, output)
        say(disassemble(small.programs[-1]))
        before, after = len(capsule.programs[-1].instructions), len(small.programs[-1].instructions)
        kept = small.outcomes[-1].message or f"another result on {small.spec.device} than on the reference interpreter"
        say(f"{output}: {after} of {before} instructions; {kept}")
