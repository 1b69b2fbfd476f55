"""``vta debug``: step through a program, back and forth, on the reference interpreter.

Tests: tests/vta/cli/test_debug.py.
"""

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from isa.bulk import encode_all
from isa.limits import DEFAULT_LIMITS
from runtime.memory.device_memory import FIRST_ADDRESS
from vta.cli.options import ConfigOption, LimitsOption
from vta.cli.programs import one_program
from vta.cli.reporting import reported
from vta.cli.style import painter, say
from vta.inspect.debug.debugger import Debugger
from vta.inspect.debug.display import where_text

__all__ = ["debug"]

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
"""What readline must know to have no width."""


def debug(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A program, or a script that launches some.")],
    commands: Annotated[
        str | None, typer.Option("--commands", metavar="TEXT", help="Commands to do, with ; between them.")
    ] = None,
    launch: Annotated[int, typer.Option("--launch", min=0, help="Which launch of a script.")] = 0,
    config: ConfigOption = None,
    max_memory: LimitsOption = DEFAULT_LIMITS,
) -> None:
    """Step through a program; commands come from --commands, a terminal or a pipe ('help' lists them)."""
    with reported():
        program = one_program(file, config, launch, limits=max_memory)
        encode_all(program.instructions, program.config)  # an illegal word is refused before the first step
        interactive = commands is None and sys.stdin.isatty()
        debugger = Debugger(
            program, sys.stdin, sys.stdout, first_address=FIRST_ADDRESS, prompts=interactive, paint=painter()
        )
        say(where_text(debugger.machine))
        if interactive:
            debugger.prompt = _ESCAPE.sub("\x01\\g<0>\x02", painter()(debugger.prompt))
            debugger.cmdloop()
            return
        lines = sys.stdin if commands is None else commands.split(";")
        for line in lines:
            if debugger.onecmd(line):
                return
            if debugger.failed:
                raise typer.Exit(1)
