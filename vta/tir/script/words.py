"""``T``: the words of TVMScript, where Python evaluates them: in annotations and decorators.

The parser reads the text of a function; nothing of its body is ever called. Tests: tests/vta/tir/script/test_parser.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isa.errors import VTAError

__all__ = ["T", "Word", "WordError"]


class WordError(VTAError, TypeError):
    """A word of the script that was called as a function."""


class Word:
    """``T.handle``, ``T.Buffer[(8, 8), "float32"]``: something that only the parser understands."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Word:
        if name.startswith("__"):
            raise AttributeError(name)
        return Word(f"{self.name}.{name}")

    def __getitem__(self, _: object) -> Word:
        return self

    def __call__(self, *_: object, **__: object) -> Word:
        """Raise ``WordError``."""
        raise WordError(f"{self.name} means something inside of a function under @T.prim_func alone; do not call it")

    def __repr__(self) -> str:
        return self.name


class _Words(Word):
    """``T`` itself, with the decorators that are called."""

    def prim_func(self, function: Callable[..., Any]) -> object:
        """Return the function that the text of ``function`` describes."""
        from vta.tir.script.parser import prim_func  # the parser knows these words

        return prim_func(function)

    def __getattribute__(self, name: str) -> Any:
        if name == "Buffer":
            return _BufferWord("T.Buffer")
        return super().__getattribute__(name)


class _BufferWord(Word):
    """``T.Buffer``, which may be called in an annotation, too."""

    def __call__(self, *_: object, **__: object) -> Word:
        """Return the word."""
        return self


T = _Words("T")
