"""The line of the user's program that describes something: the part of an ``Origin`` that a person can open.

Tests: tests/vta/te/test_origin.py.
"""

import os
import sys
from types import FrameType

__all__ = ["user_line"]

_PACKAGE = __name__.partition(".")[0]


def user_line() -> str:
    """Return ``file.py:12`` of the innermost caller outside this package ("" if there is none)."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    if frame is None:
        return ""
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
