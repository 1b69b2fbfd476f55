"""The state of the AXI4 memory model, and the code that reads and writes it and the port.

Rings of bursts and beats are indexed by numbers that only ever count up. Tests: ``tests/hw/sim/axi``.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function, slot_bytes

__all__ = [
    "ADDRESS",
    "ANSWERS",
    "BEATS",
    "BEAT_BYTES",
    "BEAT_RING",
    "BURSTS",
    "BURST_BYTES",
    "COUNT",
    "DATA",
    "DUE",
    "HELD",
    "ID",
    "LAST",
    "PAYLOADS",
    "PAYLOAD_BYTES",
    "READS",
    "STATE_BYTES",
    "STROBE",
    "THRESHOLDS",
    "WRITES",
    "AxiFault",
    "AxiModel",
    "Channel",
    "StateField",
]

BURSTS = 64
"""Entries of each ring of bursts: the largest outstanding limit."""

BEATS = 512
"""Write beats that wait for their address."""

ADDRESS, COUNT, ID, DUE = range(0, 32, 8)
"""Where a burst's words are in its entry of a ring."""

DATA, STROBE, LAST = 0, 64, 72
"""Where a beat's words are in its entry of a ring."""

BURST_BYTES, BEAT_BYTES = DUE + 8, LAST + 8
"""Bytes of an entry of a ring."""


class Channel(enum.IntEnum):
    """The channels; the index picks the channel's stall threshold and its 12 random bits."""

    AR = 0
    R = 1
    AW = 2
    W = 3
    B = 4


class AxiFault(enum.IntEnum):
    """What a master did wrong."""

    UNSTABLE = 1
    CROSSES_PAGE = 2
    OUT_OF_MEMORY = 3
    NOT_INCR = 4
    NARROW = 5
    WRONG_LAST = 6


PAYLOAD_BYTES = 128


class StateField(enum.IntEnum):
    """Byte offsets of what the model's state begins with; every field is 64 bits."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:  # noqa: ARG004  # enum's
        """Return the place after the field before."""
        return 8 * count

    POINTER = enum.auto()
    SIZE = enum.auto()
    ORIGIN = enum.auto()
    LATENCY = enum.auto()
    LIMIT = enum.auto()
    RANDOM = enum.auto()
    STALLS = enum.auto()
    NOW = enum.auto()
    READ_BURSTS = enum.auto()
    READ_BEATS = enum.auto()
    WRITE_BURSTS = enum.auto()
    WRITE_BEATS = enum.auto()
    READ_HEAD = enum.auto()
    READ_TAIL = enum.auto()
    READ_BEAT = enum.auto()
    WRITE_HEAD = enum.auto()
    WRITE_TAIL = enum.auto()
    WRITE_BEAT = enum.auto()
    BEAT_HEAD = enum.auto()
    BEAT_TAIL = enum.auto()
    ANSWER_HEAD = enum.auto()
    ANSWER_TAIL = enum.auto()
    FAULT = enum.auto()
    FAULT_CHANNEL = enum.auto()
    FAULT_ADDRESS = enum.auto()


THRESHOLDS = 8 * len(StateField)
"""The chance of a stall of each channel, of 4096."""

HELD = THRESHOLDS + 8 * len(Channel)
"""Of each channel, whether valid was high without ready."""

PAYLOADS = HELD + 8 * len(Channel)
"""Of each channel, ``PAYLOAD_BYTES`` that must stay."""

READS = PAYLOADS + len(Channel) * PAYLOAD_BYTES
WRITES = READS + BURSTS * BURST_BYTES
ANSWERS = WRITES + BURSTS * BURST_BYTES
BEAT_RING = ANSWERS + BURSTS * BURST_BYTES
STATE_BYTES = BEAT_RING + BEATS * BEAT_BYTES


@dataclass(frozen=True, slots=True)
class AxiModel:
    """The function being written, its state and the port's slots."""

    fn: Function
    place: int
    slots: Mapping[str, Slot]
    prefix: str

    # ---- state

    def pointer(self, offset: int) -> str:
        """Return a pointer to the state at an offset."""
        return self.fn.op(f"getelementptr i8, ptr %aux, i64 {self.place + offset}")

    def field(self, offset: int) -> str:
        """Return a field as an i64."""
        return self.fn.op(f"load i64, ptr {self.pointer(offset)}")

    def set_field(self, offset: int, value: str) -> None:
        """Set a field from an i64."""
        self.fn.do(f"store i64 {value}, ptr {self.pointer(offset)}")

    def bump(self, offset: int) -> None:
        """Add one to a field."""
        self.set_field(offset, self.fn.op(f"add i64 {self.field(offset)}, 1"))

    def entry(self, ring: int, size: int, count: int, index: str) -> str:
        """Return a pointer to an entry of a ring; indices only ever count up."""
        slot = self.fn.op(f"and i64 {index}, {count - 1}")
        return self.fn.op(f"getelementptr i8, ptr {self.pointer(ring)}, i64 {self.fn.op(f'mul i64 {slot}, {size}')}")

    def part(self, entry: str, offset: int) -> str:
        """Return a pointer into an entry of a ring."""
        return self.fn.op(f"getelementptr i8, ptr {entry}, i64 {offset}")

    # ---- port

    def slot(self, name: str) -> Slot:
        """Return where a port lies."""
        return self.slots[f"{self.prefix}__{name}"]

    def io(self, name: str) -> str:
        """Return a pointer to a port's slot."""
        return self.fn.op(f"getelementptr i8, ptr %io, i64 {self.slot(name).offset}")

    def number(self, name: str) -> str:
        """Return a port of up to 64 bits as an i64."""
        bits = 8 * slot_bytes(self.slot(name).width)
        value = self.fn.op(f"load i{bits}, ptr {self.io(name)}")
        return value if bits == 64 else self.fn.op(f"zext i{bits} {value} to i64")

    def flag(self, name: str) -> str:
        """Return a 1-bit port as an i1."""
        return self.fn.op(f"icmp ne i64 {self.number(name)}, 0")

    def show(self, name: str, value: str) -> None:
        """Set an input port of up to 64 bits for the next cycle from an i64."""
        bits = 8 * slot_bytes(self.slot(name).width)
        short = value if bits == 64 else self.fn.op(f"trunc i64 {value} to i{bits}")
        self.fn.do(f"store i{bits} {short}, ptr {self.io(name)}")

    def show_flag(self, name: str, condition: str) -> None:
        """Set a 1-bit input port for the next cycle."""
        self.show(name, self.fn.op(f"zext i1 {condition} to i64"))

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.slot("wdata").width // 8
