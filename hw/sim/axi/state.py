"""The state of the AXI4 memory model, and the code that reads and writes it and the port.

Rings of bursts and beats are indexed by numbers that only ever count up. Tests: ``tests/hw/sim/axi/test_memory.py``.
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
    "ID",
    "LAST",
    "PAYLOAD_BYTES",
    "READS",
    "STATE_BYTES",
    "STROBE",
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

BURST_BYTES, BEAT_BYTES = 32, 80
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


class StateField(enum.IntEnum):
    """Byte offsets of the model's state; every field is 64 bits."""

    POINTER = 0
    SIZE = 8
    ORIGIN = 16
    LATENCY = 24
    LIMIT = 32
    RANDOM = 40
    STALLS = 48
    THRESHOLDS = 56  # one for each channel, of 4096
    NOW = 96
    READ_BURSTS = 104
    READ_BEATS = 112
    WRITE_BURSTS = 120
    WRITE_BEATS = 128
    READ_HEAD = 136
    READ_TAIL = 144
    READ_BEAT = 152
    WRITE_HEAD = 160
    WRITE_TAIL = 168
    WRITE_BEAT = 176
    BEAT_HEAD = 184
    BEAT_TAIL = 192
    ANSWER_HEAD = 200
    ANSWER_TAIL = 208
    FAULT = 216
    FAULT_CHANNEL = 224
    FAULT_ADDRESS = 232
    HELD = 240  # one for each channel: valid was high without ready
    PAYLOADS = 320  # one of PAYLOAD_BYTES for each channel


PAYLOAD_BYTES = 128
READS = StateField.PAYLOADS + 5 * PAYLOAD_BYTES
WRITES = READS + BURSTS * BURST_BYTES
ANSWERS = WRITES + BURSTS * BURST_BYTES
BEAT_RING = ANSWERS + BURSTS * BURST_BYTES
STATE_BYTES = BEAT_RING + BEATS * BEAT_BYTES
ADDRESS, COUNT, ID, DUE = 0, 8, 16, 24
DATA, STROBE, LAST = 0, 64, 72


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
