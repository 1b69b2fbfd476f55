"""What a person reads when a script fails: one sentence for our errors, the script's own traceback for its own.

Also the parts that ``vta run`` words differently: whose error it is, which line of the script led to it, and the
traceback without the frames before the script. Imports the standard library alone.
Tests: tests/vta/compat/test_script_errors.py.
"""

import os
import traceback
from pathlib import Path
from types import TracebackType

__all__ = ["describe", "frames_of_script", "is_ours", "line_of_script"]

_OURS = ("isa", "hw", "runtime", "vta")


def describe(error: BaseException, script: Path) -> str:
    """Return the text for ``error``, which ended ``script``.

    What this toolchain says is ``error: SCRIPT:LINE: SENTENCE``; any other error is what Python prints, without the
    frames that lead to the script.
    """
    if is_ours(error):
        line = line_of_script(error.__traceback__, script)
        place = str(script) if line is None else f"{script}:{line}"
        return f"error: {place}: {error}\n"
    return "".join(traceback.format_exception(type(error), error, frames_of_script(error.__traceback__, script)))


def is_ours(error: BaseException) -> bool:
    """Whether an error is this project's: its message is the whole story."""
    return type(error).__module__.partition(".")[0] in _OURS


def line_of_script(frames: TracebackType | None, script: Path) -> int | None:
    """Return the line of the innermost frame of the script, None if it is not among them."""
    found = [line for frame, line in traceback.walk_tb(frames) if _is_script(frame.f_code.co_filename, script)]
    return found[-1] if found else None


def frames_of_script(frames: TracebackType | None, script: Path) -> TracebackType | None:
    """Return the frames from the script's first one down: none where the script did not even start."""
    while frames is not None and not _is_script(frames.tb_frame.f_code.co_filename, script):
        frames = frames.tb_next
    return frames


def _is_script(name: str, script: Path) -> bool:
    return os.path.realpath(name) == os.path.realpath(script)
