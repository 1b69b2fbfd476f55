"""Reading a program from a file, whichever of its two forms the file has: text assembly or the binary form.

Tests: tests/vta/cli/test_program_commands.py, tests/vta/cli/test_unusual_files.py.
"""

from pathlib import Path

from isa.config import VTAConfig
from isa.limits import DEFAULT_LIMITS, Limits, read_file
from isa.program import Program
from isa.program_file import MAGIC, program_from_bytes
from isa.text.assembler import assemble_bytes
from vta.cli.reporting import UserError
from vta.inspect.trace.format import MAGIC as TRACE_MAGIC

__all__ = ["read_program", "read_program_or_text"]


def read_program(path: Path, *, config: VTAConfig | None = None, limits: Limits = DEFAULT_LIMITS) -> Program:
    """Return the program in ``path``. ``config`` is for assembly that names none; otherwise it must mean the same.

    The file is read once, so it may be a pipe.
    """
    return read_program_or_text(path, config=config, limits=limits)[0]


def read_program_or_text(
    path: Path, *, config: VTAConfig | None = None, limits: Limits = DEFAULT_LIMITS, asker: str = "--config"
) -> tuple[Program, bool]:
    """Return the same, and whether the file is text; ``asker`` is the option that asks for the configuration."""
    data, where = read_file(path, limits), str(path)
    if data.startswith(TRACE_MAGIC):
        raise UserError(f"{path}: this is a trace, not a program; `vta trace {path}` shows it")
    is_text = not data.startswith(MAGIC)
    if not is_text:
        program = program_from_bytes(data, where=where, budget=limits.budget(len(data)))
    else:
        program = assemble_bytes(data, name=where, config=config, limits=limits, folder=path.parent)
    if config is not None and config.digest != program.config.digest:
        raise UserError(
            f"{path}: the program is for {program.config.bitstream}, not for {config.bitstream}; "
            f"leave {asker} out (the program carries its own), or assemble it again"
        )
    return program, is_text
