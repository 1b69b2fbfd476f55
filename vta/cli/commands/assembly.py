"""``vta asm`` and ``vta disasm``: between text assembly and binary programs.

Tests: tests/vta/cli/test_program_commands.py.
"""

from pathlib import Path
from typing import Annotated

import typer

from isa.limits import DEFAULT_LIMITS
from isa.program_file import save_program
from isa.text.assembler import assemble_file
from isa.text.disassembler import disassemble
from isa.whole_file import write_whole
from vta.cli.options import ConfigOption, LimitsOption, given_config
from vta.cli.programs import one_program
from vta.cli.reporting import UserError, counted, reported
from vta.cli.style import say

__all__ = ["asm", "disasm"]


def asm(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Text assembly.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write (default: FILE with the suffix .vtab).")
    ] = None,
    config: ConfigOption = None,
    max_memory: LimitsOption = DEFAULT_LIMITS,
) -> None:
    """Assemble a text program into a binary one."""
    with reported():
        if source.suffix == ".py":
            raise UserError(
                f"{source}: expected text assembly, found a script; `vta disasm {source}` prints a launch as text"
            )
        program = assemble_file(source, config=given_config(config), limits=max_memory)
        target = output or source.with_suffix(".vtab")
        if target.exists() and target.samefile(source):
            raise UserError(f"{target}: this is the text itself; name another file with --output")
        save_program(program, target)
        say(f"{target}: {counted(len(program.instructions), 'instruction')}, {counted(len(program.uops), 'micro-op')}")


def disasm(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A program, a capsule, or a script that launches some.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write (default: the screen).")] = None,
    launch: Annotated[int, typer.Option("--launch", min=0, help="Which launch of a script or capsule.")] = 0,
    max_memory: LimitsOption = DEFAULT_LIMITS,
) -> None:
    """Print a program as text assembly, which `vta asm` reads back."""
    with reported():
        text = disassemble(one_program(file, None, launch, limits=max_memory))
        if output is None:
            say(text.removesuffix("\n"))
        else:
            write_whole(output, text.encode())
