"""How a plain ``python script.py`` ends with an error of ours: in its one sentence, with the line of the script.

The environment variable VTA_TRACEBACK, set to anything, keeps Python's traceback; so it does on the command line.
Imports nothing of ours before there is an error. Tests: tests/vta/front/test_uncaught.py.
"""

import os
import sys
from pathlib import Path
from types import TracebackType

from vta.own_packages import ShadowedError

__all__ = ["TRACEBACK_VARIABLE", "install", "traceback_wanted"]

TRACEBACK_VARIABLE = "VTA_TRACEBACK"


def traceback_wanted() -> bool:
    """Whether whoever runs this process wants tracebacks of errors that are one sentence."""
    return bool(os.environ.get(TRACEBACK_VARIABLE))


def install() -> None:
    """Let Python end in the sentence from now on, unless something else (a debugger, a shell) shows errors already."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sentence = None if traceback_wanted() or hasattr(sys, "ps1") else _sentence(error)  # ps1: someone types the lines
    if sentence is None:
        sys.__excepthook__(kind, error, trace)
    else:
        sys.stderr.write(sentence)


def _sentence(error: BaseException) -> str | None:
    """Return the line to print, or None for an error that is not ours."""
    if isinstance(error, ShadowedError):
        return f"error: {error}\n"
    from isa.printable import printable
    from vta.script_errors import describe, is_ours  # only now: `isa` may have been hidden, and loads numpy

    if not is_ours(error):
        return None
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return describe(error, Path(script)) if script is not None else printable(f"error: {error}\n")
