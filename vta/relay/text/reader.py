"""Reading values from words: types, numbers, attributes, constants. Used through ``vta.relay.text.parser``.

Tests: tests/vta/relay/text/test_parser.py.
"""

import json
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

import numpy as np

from runtime.executor.operators.types import AnyDim, Array, Dim, RelayError, TensorType, TupleType, Type, element_type
from vta.relay.ir.nodes import Constant
from vta.relay.text.lexer import Kind, TextError, Token, tokens

__all__ = ["Reader", "Value"]

Value = object
"""What an attribute's text means before its type is known: None, bool, int, float, str, or a tuple of these."""

_T = TypeVar("_T")
_DEEPEST = 50
_LONGEST_NUMBER = 64


class Reader:
    """Words one after the other. Every method reads what it is called after, or raises ``TextError``."""

    def __init__(self, text: str, constants: Sequence[Array]) -> None:
        self._tokens = list(tokens(text))
        self._place = 0
        self._depth = 0
        self._constants = [Constant(each) for each in constants]
        self._named: dict[tuple[int, str], Constant] = {}

    # --- words -------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> Token:
        """The next word."""
        return self._tokens[self._place]

    def behind(self, count: int) -> Token:
        """Return the word that stands ``count`` words behind the next one."""
        return self._tokens[min(self._place + count, len(self._tokens) - 1)]

    def fail(self, expected: str) -> NoReturn:
        """Refuse the next word."""
        raise TextError(self.now.line, f"expected {expected}, got {self.now.text}")

    def take(self) -> Token:
        """Return the next word and go on."""
        token = self.now
        self._place += token.kind is not Kind.END
        return token

    def accept(self, text: str) -> bool:
        """Go on behind ``text`` if it is the next word; return whether it was."""
        is_there = self.now.text == text and self.now.kind in (Kind.MARK, Kind.WORD)
        if is_there:
            self.take()
        return is_there

    def expect(self, text: str) -> None:
        """Go on behind ``text``, which must be the next word."""
        if not self.accept(text):
            self.fail(f"'{text}'")

    def name(self, what: str) -> str:
        """Return a word, or what a string holds."""
        if self.now.kind is Kind.WORD:
            return self.take().text
        return self.string() if self.now.kind is Kind.STRING else self.fail(what)

    def string(self) -> str:
        """Return what a string holds."""
        if self.now.kind is not Kind.STRING:
            self.fail("a string")
        token = self.take()
        try:
            return str(json.loads(token.text))
        except ValueError:
            raise TextError(token.line, f"{token.text} is no string") from None

    def integer(self) -> int:
        """Return an integer."""
        value = self._number()
        if not isinstance(value, int):
            self.fail("an integer")
        return value

    def _number(self) -> int | float:
        if self.now.kind is not Kind.NUMBER or len(self.now.text) > _LONGEST_NUMBER:
            self.fail(f"a number of at most {_LONGEST_NUMBER} characters")
        text = self.take().text
        return int(text) if text.lstrip("-").isdigit() else float(text)

    def nested(self, read: Callable[[], _T]) -> _T:
        """Return what ``read`` reads, one level deeper; raises ``TextError`` if that is too deep."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TextError(self.now.line, f"more than {_DEEPEST} levels within each other")
        result = read()
        self._depth -= 1
        return result

    def listed(self, read: Callable[[], _T], end: str) -> list[_T]:
        """Return what ``read`` reads between commas, up to ``end``; a comma may stand before ``end``."""
        found: list[_T] = []
        while not self.accept(end):
            found.append(read())
            if not self.accept(","):
                self.expect(end)
                break
        return found

    # --- types -------------------------------------------------------------------------------------------------------

    def type(self) -> Type:
        """Return a type."""
        if self.accept("("):
            return TupleType(tuple(self.nested(lambda: self.listed(self.type, ")"))))
        if self.now.text != "Tensor":
            self.fail("a type")
        self.take()
        self.expect("[")
        self.expect("(")
        dims = self.listed(self._dim, ")")
        self.expect(",")
        line, dtype = self.now.line, self.name("an element type")
        self.expect("]")
        return self.refusing(line, lambda: TensorType(tuple(dims), dtype))

    def _dim(self) -> Dim:
        if not self.accept("?"):
            return self.integer()
        return AnyDim(self.name("a name")) if self.now.kind in (Kind.WORD, Kind.STRING) else AnyDim()

    def refusing(self, line: int, make: Callable[[], _T]) -> _T:
        """Return what ``make`` makes; its ``RelayError`` gets the line."""
        try:
            return make()
        except TextError:
            raise
        except RelayError as error:
            raise TextError(line, str(error)) from None

    # --- values ------------------------------------------------------------------------------------------------------

    def value(self) -> Value:
        """Return the value of an attribute, before its type is known."""
        if self.accept("("):
            return tuple(self.nested(lambda: self.listed(self.value, ")")))
        if self.now.kind is Kind.STRING:
            return self.string()
        for text, value in (("None", None), ("True", True), ("False", False)):
            if self.accept(text):
                return value
        return self._number()

    def constant(self) -> Constant:
        """Return a constant, behind the word ``const``: ``<int8[2]>([1, 2], "name")``."""
        line = self.now.line
        self.expect("<")
        dtype = self.refusing(line, lambda: element_type(self.name("an element type")))
        shape = tuple(self.listed(self.integer, "]")) if self.accept("[") else ()
        self.expect(">")
        self.expect("(")
        kind = self.refusing(line, lambda: TensorType(shape, dtype))
        if self.accept("#"):
            index = self.integer()
            found = self._pooled(line, index, kind)
            return self._renamed(index, found, self._constant_name())
        numbers = self.nested(self._numbers)
        return Constant(_array(line, numbers, kind), self._constant_name())

    def _constant_name(self) -> str:
        name = self.string() if self.accept(",") else ""
        self.expect(")")
        return name

    def _pooled(self, line: int, index: int, kind: TensorType) -> Constant:
        if not 0 <= index < len(self._constants):
            count = len(self._constants)
            raise TextError(line, f"constant #{index} is not in the text, and {count} were given beside it")
        found = self._constants[index]
        if found.type != kind:
            raise TextError(line, f"constant #{index} is {kind} in the text, and {found.type} was given")
        return found

    def _renamed(self, index: int, found: Constant, name: str) -> Constant:
        """Return the one constant that ``index`` and ``name`` stand for."""
        return self._named.setdefault((index, name), Constant(found.value, name) if name else found)

    def _numbers(self) -> list[Value]:
        """Return the numbers of a nested list in order."""
        if not self.accept("["):
            return [self.value()]
        return [each for part in self.nested(lambda: self.listed(self._numbers, "]")) for each in part]


def _array(line: int, numbers: list[Value], kind: TensorType) -> Array:
    """Return ``numbers`` as an array of ``kind``."""
    if len(numbers) != kind.size:
        raise TextError(line, f"a constant {kind} has {kind.size} numbers, not {len(numbers)}")
    if not all(_is_element(each, kind) for each in numbers):
        raise TextError(line, f"a constant {kind} has other elements than {kind.dtype}")
    if kind.dtype.is_int and numbers:
        low, high = kind.dtype.bounds
        if wrong := [each for each in numbers if not low <= each <= high]:  # type: ignore[operator]  # they are ints
            raise TextError(line, f"{wrong[0]} is not from {low} to {high}")
    with np.errstate(over="ignore"):
        return np.array(numbers, np.dtype(kind.dtype)).reshape(kind.shape)


def _is_element(value: Value, kind: TensorType) -> bool:
    """Whether ``value`` is written as an element of ``kind``: a truth, an integer, or any number for floats."""
    if kind.dtype == "bool" or isinstance(value, bool):
        return kind.dtype == "bool" and isinstance(value, bool)
    return isinstance(value, int | float if kind.dtype.is_float else int)
