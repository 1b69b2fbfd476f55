import pytest

from vta.relay.text.lexer import Kind, TextError, tokens


def test_words_have_their_lines() -> None:
    found = [(token.kind, token.text, token.line) for token in tokens('%x: nn.relu // not this\n  -1.5e-07, "a\\"b"')]
    assert found == [
        (Kind.MARK, "%", 1),
        (Kind.WORD, "x", 1),
        (Kind.MARK, ":", 1),
        (Kind.WORD, "nn.relu", 1),
        (Kind.NUMBER, "-1.5e-07", 2),
        (Kind.MARK, ",", 2),
        (Kind.STRING, '"a\\"b"', 2),
        (Kind.END, "the end of the text", 2),
    ]


def test_what_begins_like_a_number_may_be_a_word() -> None:
    assert [token.kind for token in tokens("inf -nan info nan_1 ->")] == [
        Kind.NUMBER, Kind.NUMBER, Kind.WORD, Kind.WORD, Kind.MARK, Kind.END,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["a\n\n&", 'a\n\n"open', "a\n\n\x1b[0m"])
def test_what_begins_no_word_is_refused_without_control_characters(text: str) -> None:
    with pytest.raises(TextError) as error:
        list(tokens(text))
    assert str(error.value) == f"line 3: {text[3]!r} begins no word"
