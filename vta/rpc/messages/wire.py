"""Messages on a connection: MessagePack, with limits on all that a stranger could make large.

A frame is an array of three: its number on this connection, its body, and its seal (``seal``). A body is a
MessagePack map from texts to plain values; what may be in which message is asked of ``fields``. There are no
extension types, and nothing is unpickled. Tests: tests/vta/rpc/test_wire.py.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import msgpack

from isa.errors import VTAError

__all__ = [
    "CHUNK", "EARLY_BYTES", "GREETING_BYTES", "MESSAGE_BYTES", "PROTOCOL", "READ_BYTES", "Frame", "Frames", "Value",
    "WireError", "body_of", "content_of", "packed",
]  # fmt: skip

PROTOCOL = 2
"""Version of the messages: both sides must have the same."""

CHUNK = 1 << 20
"""Bytes of a file or of an array that one message carries."""

MESSAGE_BYTES = 4 << 20
"""The longest message."""

EARLY_BYTES = 1 << 17
"""The longest message of somebody who has the key, and no session."""

GREETING_BYTES = 4096
"""The longest message of somebody who has not proved to have the key."""

READ_BYTES = 1 << 18
"""What is read from a connection at once."""

_MOST_PARTS = 1 << 16
"""Entries of a list or a map in a message."""

_MOST_LISTS = 1 << 14
"""Lists and maps of a message: an empty one is a byte there, and a hundred times as much here."""

Value: TypeAlias = "bool | int | float | str | bytes | list[Value] | dict[str, Value] | None"


class WireError(VTAError, ConnectionError):
    """Bytes that are no message, or a message that is too long; the connection is over."""


class Frame(NamedTuple):
    """A message as it travels."""

    number: int
    body: bytes
    seal: bytes


class Frames:
    """Cuts a stream of bytes into frames of at most ``most`` bytes, which may be changed, up to ``MESSAGE_BYTES``."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._fed = self._taken = 0
        self._unpacker = msgpack.Unpacker(
            raw=False,
            strict_map_key=True,
            max_buffer_size=MESSAGE_BYTES + READ_BYTES,
            max_bin_len=MESSAGE_BYTES,
            max_str_len=0,
            max_array_len=3,
            max_map_len=0,
            max_ext_len=0,
        )

    @property
    def partial(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._fed > self._taken)

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes; raises ``WireError`` if they are more than a frame may have."""
        self._fed += len(data)
        if self._fed - self._taken > self.most + READ_BYTES:
            raise WireError(f"a message is longer than {self.most} bytes")
        self._unpacker.feed(data)

    def next(self) -> Frame | None:
        """Return the next frame, None if it is not all there; raises ``WireError`` for anything else."""
        try:
            value = self._unpacker.unpack()
        except msgpack.OutOfData:
            return None
        except Exception as error:  # whatever the parser makes of bytes that are none of its own
            raise WireError(f"these bytes are no message ({_first_line(error)})") from None
        self._taken = self._unpacker.tell()
        match value:
            case [int(), bytes() as body, bytes() as seal] if len(body) + len(seal) > self.most:
                raise WireError(f"these bytes are no message: more than {self.most} bytes")
            case [int() as number, bytes() as body, bytes() as seal] if type(number) is int and number >= 0:
                return Frame(number, body, seal)
            case _:
                raise WireError("these bytes are no message: expected a number, a body and a seal")


def packed(frame: Frame) -> bytes:
    """Return the bytes of a frame."""
    data: bytes = msgpack.packb(tuple(frame), use_bin_type=True)
    return data


def body_of(content: Mapping[str, object]) -> bytes:
    """Return the body that says ``content``."""
    try:
        data: bytes = msgpack.packb(content, use_bin_type=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise WireError(f"this cannot be sent: {_first_line(error)}") from None
    return data


def content_of(body: bytes) -> dict[str, Value]:
    """Return what a body says; raises ``WireError``."""
    most = min(_MOST_PARTS, len(body))  # what a list claims is taken at once, and lists nest: each entry is a byte here
    left = _MOST_LISTS

    def counted(part: Value) -> Value:
        nonlocal left
        left -= 1
        if left < 0:
            raise WireError(f"more than {_MOST_LISTS} lists and maps")
        return part

    try:
        content = msgpack.unpackb(
            body, raw=False, strict_map_key=True, max_array_len=most, max_map_len=most, max_ext_len=0,
            list_hook=counted, object_hook=counted,
        )  # fmt: skip
    except Exception as error:
        raise WireError(f"the message says nothing that is known ({_first_line(error)})") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise WireError("the message says nothing that is known: expected names and values")
    return content


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200] or type(error).__name__
