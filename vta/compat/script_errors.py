"""What a person reads when a script fails: one sentence for our errors, the script's own traceback for its own.

Imports the standard library alone. Tests: tests/vta/compat/test_script_errors.py.
"""

import os
import traceback
from pathlib import Path
from types import TracebackType

from vta.compat.answer import NotAnsweredError

__all__ = ["describe"]

_OURS = ("isa", "hw", "runtime", "vta")


def describe(error: BaseException, script: Path) -> str:
    """Return the text for ``error``, which ended ``script``.

    What this toolchain says is ``error: SCRIPT:LINE: SENTENCE``; any other error is what Python prints, without the
    frames that lead to the script.
    """
    if isinstance(error, NotAnsweredError) or type(error).__module__.partition(".")[0] in _OURS:
        line = _last_line(error.__traceback__, script)
        place = str(script) if line is None else f"{script}:{line}"
        return f"error: {place}: {error}\n"
    return "".join(traceback.format_exception(type(error), error, _from_script(error.__traceback__, script)))


def _last_line(frames: TracebackType | None, script: Path) -> int | None:
    """Return the line of the innermost frame of the script, None if it is not among them."""
    found = [line for frame, line in traceback.walk_tb(frames) if _is_script(frame.f_code.co_filename, script)]
    return found[-1] if found else None


def _from_script(frames: TracebackType | None, script: Path) -> TracebackType | None:
    while frames is not None and not _is_script(frames.tb_frame.f_code.co_filename, script):
        frames = frames.tb_next
    return frames


def _is_script(name: str, script: Path) -> bool:
    return os.path.realpath(name) == os.path.realpath(script)
