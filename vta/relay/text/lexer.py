"""Words of a graph's text, each with its line. Tests: tests/vta/relay/text/test_lexer.py."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from runtime.executor.operators.types import RelayError

__all__ = ["Kind", "TextError", "Token", "tokens"]


class TextError(RelayError):
    """A text that is no graph: the line, what was expected, and what stands there."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(f"line {line}: {sentence}")


class Kind(StrEnum):
    """What a word is."""

    STRING = "string"
    NUMBER = "number"
    WORD = "word"
    MARK = "mark"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, as it stands in the text."""

    kind: Kind
    text: str
    line: int


_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NUMBER = r"-?(?:inf|nan)\b|-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_WORD = r"[A-Za-z_][A-Za-z0-9_.]*"
_MARK = r"->|[%@#?(){}\[\]<>=:;,.]"
_PATTERN = re.compile(rf"(?P<space>[ \t\r]+|//[^\n]*)|(?P<line>\n)|({_STRING})|({_NUMBER})|({_WORD})|({_MARK})")
_KINDS = (Kind.STRING, Kind.NUMBER, Kind.WORD, Kind.MARK)


def tokens(text: str) -> Iterator[Token]:
    """Yield the words of ``text``, an END behind them; ``//`` begins a comment. Raises ``TextError``."""
    line, place = 1, 0
    while place < len(text):
        match = _PATTERN.match(text, place)
        if match is None:
            raise TextError(line, f"{text[place]!r} begins no word")
        place = match.end()
        if match["line"]:
            line += 1
        elif not match["space"]:
            kind, word = next((kind, word) for kind, word in zip(_KINDS, match.groups()[2:], strict=True) if word)
            yield Token(kind, word, line)
    yield Token(Kind.END, "the end of the text", line)
