"""How the command line speaks: results on stdout, one sentence on stderr for what went wrong, and exit codes.

0: fine. 1: the input is at fault (a sentence says how). 2: the command was called wrongly (typer's code).
May import rich and typer. Tests: tests/vta/cli/test_unusual_files.py.
"""

import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = [
    "OUR_PACKAGES",
    "UserError",
    "fail",
    "reported",
    "require_file",
    "stats_table",
    "user_location",
]

OUR_PACKAGES = ("isa", "hw", "runtime", "vta")


class UserError(ValueError):
    """Something about a file or an option that only the command line can see."""


def fail(message: str) -> "SystemExit":
    """Print ``message``, every character as it is, on stderr and return the exit to raise."""
    text = Text.assemble(("error:", "bold red"), f" {message}")
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)
    return SystemExit(1)


def require_file(file: Path, expected: str) -> None:
    """Raise ``UserError`` unless ``file`` is there and no folder; ``expected`` says what it should be."""
    if not file.exists():
        raise UserError(f"{file}: no such file; expected {expected}")
    if file.is_dir():
        raise UserError(f"{file}: this is a folder; expected {expected}")


@contextmanager
def reported(script: str | None = None) -> Iterator[None]:
    """Turn our errors (and the operating system's on files) into one sentence and exit code 1.

    With ``script``, the sentence starts with the line of the script that led to the error, and an error of the script's
    own ends in its traceback from the script downwards, as Python would print it.
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
        place = user_location(error.__traceback__, script) if script else None
        if is_ours(error) or isinstance(error, OSError):
            text = _sentence(error)
            raise fail(f"{place}: {text}" if place else text) from None
        if script is None:
            raise
        traceback.print_exception(type(error), error, _from_script(error.__traceback__, script))
        raise SystemExit(1) from None


def _sentence(error: Exception) -> str:
    """Return what an error says; the system's without its number, the file in front."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def is_ours(error: BaseException) -> bool:
    """Whether an error class is one of this project's."""
    return type(error).__module__.split(".")[0] in OUR_PACKAGES


def user_location(tb: TracebackType | None, script: str) -> str | None:
    """Return ``file:line`` of the innermost frame of the script, or None if it is not on the stack."""
    found = None
    for frame, line in traceback.walk_tb(tb):
        if _same_file(frame.f_code.co_filename, script):
            found = f"{script}:{line}"
    return found


def _from_script(tb: TracebackType | None, script: str) -> TracebackType | None:
    """Return the part of a traceback that is the script's: none of it where the script did not even start."""
    start = tb
    while start is not None and not _same_file(start.tb_frame.f_code.co_filename, script):
        start = start.tb_next
    return start


def _same_file(a: str, b: str) -> bool:
    return os.path.realpath(a) == os.path.realpath(b)


def stats_table(stats: Mapping[str, int], *, title: str) -> Table:
    """Return counters as a table: name, value."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column("counter")
    table.add_column("value", justify="right")
    for name, value in stats.items():
        table.add_row(name, f"{value:,}")
    return table
