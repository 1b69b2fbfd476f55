"""How the command line speaks: results on stdout, one sentence on stderr for what went wrong, and exit codes.

0: fine. 1: the input is at fault (a sentence says how). 2: the command was called wrongly (typer's code).
Tests: tests/vta/cli/test_unusual_files.py.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.table import Table

from isa.errors import VTAError
from vta.cli.style import plain, say
from vta.script_errors import hidden_file_note, is_ours, place_in_script, script_traceback
from vta.uncaught import traceback_wanted

__all__ = [
    "UserError",
    "counted",
    "fail",
    "reported",
    "require_file",
    "require_outputs",
    "require_place",
    "sentence_of",
    "stats_table",
]


class UserError(VTAError, ValueError):
    """Something about a file or an option that only the command line can see."""


def fail(message: str) -> "SystemExit":
    """Print ``message``, every character as it is, on stderr and return the exit to raise."""
    say(f"error: {message}", err=True)
    return SystemExit(1)


def counted(number: int, noun: str) -> str:
    """Return ``1 instruction``, ``2 launches``, ``no errors``."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"no {plural}" if number == 0 else f"{number} {noun if number == 1 else plural}"


def require_file(file: Path, expected: str) -> None:
    """Raise ``UserError`` unless ``file`` exists and is not a folder; ``expected`` says what it should be."""
    if not file.exists():
        raise UserError(f"{file}: no such file; expected {expected}")
    if file.is_dir():
        raise UserError(f"{file}: this is a folder; expected {expected}")


def require_place(file: Path) -> None:
    """Raise ``UserError`` unless ``file`` can be written: to be called before work whose result would be lost."""
    if file.is_dir():
        raise UserError(f"{file}: this is a folder; name a file in it")
    folder = file.parent
    if not folder.is_dir():
        raise UserError(f"{file}: there is no folder {folder}; create it, or name another file")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise UserError(f"{file}: cannot be written, permission denied; name another file")


def require_outputs(source: Path, outputs: Mapping[str, Path | None]) -> None:
    """Raise ``UserError`` unless the files that options name can be written, each its own and none over ``source``."""
    taken = {source.resolve(): "the file that is read"}
    for option, file in outputs.items():
        if file is None:
            continue
        require_place(file)
        other = taken.get(file.resolve())
        if other is not None and (not file.exists() or file.is_file()):  # a pipe or a device takes more than one
            raise UserError(f"{option} {file}: this is {other} too; name another file")
        taken[file.resolve()] = f"that of {option}"


@contextmanager
def reported(script: Path | None = None, *, program: Path | None = None) -> Iterator[None]:
    """Turn our errors (and the operating system's on files) into one sentence and exit code 1.

    With ``script``, the sentence starts with the line of the script that led to the error, and an error of the script's
    own ends in its traceback from the script downwards, as Python would print it. With ``program``, the sentence starts
    with that file's name. The environment variable VTA_TRACEBACK keeps the traceback of any error.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        if traceback_wanted():
            raise
        if is_ours(error) or isinstance(error, OSError):
            raise fail(_place(error, script, program) + sentence_of(error)) from None
        if script is None:
            raise
        plain((script_traceback(error, script) + hidden_file_note(error, script)).removesuffix("\n"), err=True)
        raise SystemExit(1) from None


def _place(error: Exception, script: Path | None, program: Path | None) -> str:
    """Return ``file:line: `` of the script's innermost frame or ``file: `` of the program, nothing without either."""
    if program is not None:
        return "" if isinstance(error, OSError) else f"{program}: "
    place = "" if script is None else place_in_script(error, script)
    return place and f"{place}: "


def sentence_of(error: Exception) -> str:
    """Return what an error says; one of the system without its number, the file in front."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def stats_table(stats: Mapping[str, int], *, title: str) -> Table:
    """Return counters as a table: name, value."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column("counter")
    table.add_column("value", justify="right")
    for name, value in stats.items():
        table.add_row(name, f"{value:,}")
    return table
