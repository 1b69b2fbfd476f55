"""Warnings of the toolchain on the command line: one line each, without the place in our sources.

Tests: tests/vta/cli/test_warning_lines.py.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from isa.printable import in_one_line

__all__ = ["warnings_in_one_line"]

_OURS = ("isa.", "hw.", "runtime.", "vta.")


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Show warnings of our own kinds as ``vta: warning: SENTENCE``; those of others as Python does."""
    usual = warnings.formatwarning

    def formatted(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if category.__module__.startswith(_OURS):
            return f"vta: warning: {in_one_line(str(message))}\n"
        return usual(message, category, filename, lineno, line)

    warnings.formatwarning = formatted
    try:
        yield
    finally:
        warnings.formatwarning = usual
