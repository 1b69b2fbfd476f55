"""What a message says, asked for by name and kind: everything else is refused in one sentence.

Tests: tests/vta/rpc/test_wire.py.
"""

from collections.abc import Mapping

from isa.errors import VTAError
from vta.rpc.messages.wire import Value, content_of

__all__ = ["Fields", "MessageError"]

MOST_TEXT = 1 << 16
"""Characters of a text, unless said otherwise."""


class MessageError(VTAError, ValueError):
    """A message without something that it must say, or that says it in another way."""


class Fields:
    """The content of one message."""

    def __init__(self, content: Mapping[str, Value], body: bytes = b"") -> None:
        self._content = content
        self.body = body
        """What it was read from, to be passed on."""

    @classmethod
    def of(cls, body: bytes) -> "Fields":
        """Return what a body says; raises ``WireError``."""
        return cls(content_of(body), body)

    def has(self, name: str) -> bool:
        """Whether it says anything of ``name``."""
        return self._content.get(name) is not None

    def value(self, name: str) -> Value:
        """Return whatever it says of ``name``."""
        if name not in self._content:
            raise MessageError(f"the message has no {name!r}")
        return self._content[name]

    def text(self, name: str, *, most: int = MOST_TEXT) -> str:
        """Return a text of at most ``most`` characters."""
        match self.value(name):
            case str() as text if len(text) <= most:
                return text
            case _:
                raise MessageError(f"{name!r} of the message must be a text of at most {most} characters")

    def number(self, name: str, *, low: int = 0, high: int = (1 << 63) - 1) -> int:
        """Return a whole number from ``low`` to ``high``."""
        match self.value(name):
            case int() as number if type(number) is int and low <= number <= high:
                return number
            case _:
                raise MessageError(f"{name!r} of the message must be a number from {low} to {high}")

    def real(self, name: str, *, low: float = 0.0, high: float = 1e9) -> float:
        """Return a number, whole or not."""
        match self.value(name):
            case bool():
                pass
            case int() | float() as number if low <= number <= high:
                return float(number)
        raise MessageError(f"{name!r} of the message must be a number from {low:g} to {high:g}")

    def flag(self, name: str) -> bool:
        """Return true or false."""
        match self.value(name):
            case bool() as flag:
                return flag
            case _:
                raise MessageError(f"{name!r} of the message must be true or false")

    def data(self, name: str, *, most: int) -> bytes:
        """Return at most ``most`` bytes."""
        match self.value(name):
            case bytes() as data if len(data) <= most:
                return data
            case _:
                raise MessageError(f"{name!r} of the message must be at most {most} bytes")

    def entries(self, name: str) -> list[Value]:
        """Return a list."""
        match self.value(name):
            case list() as entries:
                return entries
            case _:
                raise MessageError(f"{name!r} of the message must be a list")

    def mapping(self, name: str) -> dict[str, Value]:
        """Return names and values."""
        match self.value(name):
            case dict() as mapping if all(isinstance(key, str) for key in mapping):
                return mapping
            case _:
                raise MessageError(f"{name!r} of the message must be names and values")

    def shape(self, name: str, *, rank: int = 32) -> tuple[int, ...]:
        """Return extents of an array, each of at most 2**40."""
        extents = self.entries(name)
        if len(extents) > rank:
            raise MessageError(f"{name!r} of the message has more than {rank} extents")
        found: list[int] = []
        for extent in extents:
            if not (type(extent) is int and 0 <= extent <= 1 << 40):
                raise MessageError(f"{name!r} of the message must be a list of extents")
            found.append(extent)
        return tuple(found)

    def texts(self, name: str, *, most: int = 1 << 12) -> list[str]:
        """Return a list of texts."""
        found: list[str] = []
        for entry in self.entries(name):
            if not isinstance(entry, str) or len(entry) > most:
                raise MessageError(f"{name!r} of the message must be a list of texts")
            found.append(entry)
        return found
