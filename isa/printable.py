"""Text from files made safe for a terminal: what a terminal would obey, instead of showing it, is written out.

Names and messages in programs, traces and capsules may come from a stranger. Whatever prints or puts them into a
message passes them through here. Tests: ``tests/isa/test_printable.py``.
"""

__all__ = ["in_one_line", "printable"]


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
