"""What a person reads when a script fails: one sentence for our errors, the script's own traceback for its own.

Also the parts that ``vta run`` words differently: whose error it is, which line of the script led to it, and the
traceback without the frames before the script. Tests: tests/vta/front/test_script_errors.py.
"""

import os
import traceback
from pathlib import Path

from isa.errors import VTAError
from isa.printable import printable
from vta.own_packages import file_in_the_way

__all__ = ["describe", "hidden_file_note", "is_ours", "place_in_script", "script_traceback"]


def describe(error: BaseException, script: Path) -> str:
    """Return the text for ``error``, which ended ``script``.

    What this toolchain says is ``error: SCRIPT:LINE: SENTENCE``; any other error is what Python prints, without the
    frames that lead to the script.
    """
    if is_ours(error):
        return printable(f"error: {place_in_script(error, script) or script}: {error}\n")
    return script_traceback(error, script)


def place_in_script(error: BaseException, script: Path) -> str:
    """Return ``SCRIPT:LINE`` of the script's innermost frame on the way to ``error``, nothing if there is none."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if _is_script(frame.f_code.co_filename, script)]
    return f"{script}:{lines[-1]}" if lines else ""


def script_traceback(error: BaseException, script: Path) -> str:
    """Return what Python prints for ``error``, without the frames before the script: none if it did not even start."""
    frames = error.__traceback__
    while frames is not None and not _is_script(frames.tb_frame.f_code.co_filename, script):
        frames = frames.tb_next
    return printable("".join(traceback.format_exception(type(error), error, frames)))


def hidden_file_note(error: BaseException, script: Path) -> str:
    """Return a line about a file beside the script that a package of ours hides, if ``error`` may be due to that."""
    hidden = file_in_the_way(script.resolve().parent)
    if hidden is None or not isinstance(error, ImportError | AttributeError):
        return ""
    return f"note: {hidden} was not imported: its name is that of a package of this toolchain\n"


def is_ours(error: BaseException) -> bool:
    """Whether an error is this project's: its message is the whole story."""
    return isinstance(error, VTAError)


def _is_script(name: str, script: Path) -> bool:
    return os.path.realpath(name) == os.path.realpath(script)
