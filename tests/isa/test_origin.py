"""What an origin says, and how files hold it."""

import pytest

from isa.origin import Origin


@pytest.mark.parametrize(
    ("origin", "text"),
    [
        (Origin("A_buf", "a.py:3"), "A_buf (a.py:3)"),
        (Origin("A_buf"), "A_buf"),
        (Origin("A_buf", "a.py:3", "VTALoadBuffer2D"), "A_buf (a.py:3)"),
        (Origin("", call="VTADepPush"), "VTADepPush"),
        (Origin("A_buf", "a.py:3", node="conv1"), "conv1: A_buf (a.py:3)"),
        (Origin("", node="conv1"), "conv1"),
    ],
)
def test_an_origin_says_what_it_knows(origin: Origin, text: str) -> None:
    assert str(origin) == text
    assert Origin.of_texts(origin.texts()) == origin


def test_files_hold_no_empty_texts_at_the_end() -> None:
    assert Origin("A_buf").texts() == ["A_buf", ""]
    assert Origin("A_buf", "a.py:3", node="conv1").texts() == ["A_buf", "a.py:3", "", "conv1"]


@pytest.mark.parametrize("texts", [["one"], ["a", "b", "c", "d", "e"], ["a", 3], []])
def test_other_than_two_to_four_texts_are_no_origin(texts: list[object]) -> None:
    with pytest.raises(ValueError, match="an origin is two to four texts"):
        Origin.of_texts(texts)
