"""Text from files made safe for a terminal: what a terminal would obey, instead of showing it, is written out.

Names and messages in programs, traces and capsules may come from a stranger. Whatever prints or puts them into a
message passes them through here. Tests: ``tests/isa/test_printable.py``.
"""

import reprlib

__all__ = ["in_one_line", "printable", "short"]


def in_one_line(text: str) -> str:
    r"""Return ``text`` with every character that cannot be printed written out, as ``\x1b`` or ``\u202e``.

    These are control characters (line ends and tabs included), those that change the direction of writing, and lone
    surrogates, which stand for undecodable bytes in file names.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable(text: str) -> str:
    """Return ``text`` as ``in_one_line`` does, but with its line ends and tabs."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(in_one_line, line.split("\t"))) for line in text.split("\n"))


def short(value: object) -> str:
    """Return ``repr(value)``, cut where it would fill a screen: what a file has in a place where it must not be."""
    return _SHORT.repr(value)


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80
        self.maxlong = 40
        self.maxlevel = 3


_SHORT = _Short()
