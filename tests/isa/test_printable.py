"""Text from files: nothing of it is obeyed by a terminal."""

import sys

import pytest

from isa.printable import in_one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain text, größer: 你好", "plain text, größer: 你好"),
        ("\x1b]0;title\x07\x1b[2J", r"\x1b]0;title\x07\x1b[2J"),
        ("a\rb\x08\x7f", r"a\rb\x08\x7f"),
        ("\x9b31m\x85\u2028", r"\x9b31m\x85\u2028"),
        ("\u202egnp.exe\u200b\ufeff", r"\u202egnp.exe\u200b\ufeff"),
        ("name\udcff", r"name\udcff"),
        ("\U000e0001", r"\U000e0001"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert in_one_line(text) == shown
    assert printable(text) == shown


def test_line_ends_and_tabs_stay_where_there_may_be_lines() -> None:
    assert in_one_line("a\n\tb\x1b") == r"a\n\tb\x1b"
    assert printable("a\n\tb\x1b\n") == "a\n\tb\\x1b\n"


def test_no_character_that_controls_anything_gets_through() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert in_one_line(everything).isprintable()
    assert printable(everything).replace("\n", "").replace("\t", "").isprintable()
