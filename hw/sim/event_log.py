"""Notes in which cycles any of some 1-bit signals is high, in native code.

Tests: ``tests/hw/sim/test_event_log.py``.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hw.sim.driver import CYCLES
from hw.sim.effects import STOP
from hw.sim.errors import SimulatorError
from hw.sim.layout import Slot
from hw.sim.text import Function

if TYPE_CHECKING:
    from hw.sim.design import CompiledDesign

__all__ = ["Event", "EventLog"]

_MOST_SIGNALS = 16
_ENABLED, _COUNT, _ENTRIES = 0, 8, 16
_CAPACITY = 1 << 13
"""Entries in native memory; a run is interrupted to empty it."""


@dataclass(frozen=True, slots=True)
class Event:
    """In ``cycle``, counted from power-on, exactly the ``signals`` (their places in the list) were high."""

    cycle: int
    signals: tuple[int, ...]


class EventLog:
    """Cycles in which ``signals`` were high, as long as ``enabled`` is set: a hook for ``compile_design``.

    The signals are 1-bit ports or dotted names; at most 16 of them.
    """

    def __init__(self, signals: Sequence[str]) -> None:
        if not 1 <= len(signals) <= _MOST_SIGNALS:
            raise SimulatorError(f"an event log has 1 to {_MOST_SIGNALS} signals, not {len(signals)}")
        self._signals = tuple(signals)
        self._events: list[Event] = []
        self._design: CompiledDesign | None = None
        self._place = 0

    # ---- hook

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that it reads."""
        return self._signals

    @property
    def size(self) -> int:
        """Bytes of state."""
        return _ENTRIES + 8 * _CAPACITY

    @property
    def key(self) -> str:
        """What tells it from other hooks."""
        return f"event log {self._signals}"

    def write(self, fn: Function, place: int, slots: Mapping[str, Slot]) -> None:
        """Write the function that takes notes."""
        word = "0"
        for number, name in enumerate(self._signals):
            if slots[name].width != 1:
                raise SimulatorError(f"an event log has signals of 1 bit, and {name!r} has {slots[name].width}")
            bit = fn.op(f"load i8, ptr {fn.at('%io', slots[name].offset)}")
            shifted = fn.op(f"shl i64 {fn.op(f'zext i8 {bit} to i64')}, {number}")
            word = fn.op(f"or i64 {word}, {shifted}")
        enabled = fn.op(f"load i64, ptr {fn.at('%aux', place + _ENABLED)}")
        noted = fn.op(f"and i64 {word}, {enabled}")
        with fn.when(fn.op(f"icmp ne i64 {noted}, 0"), unlikely=True):
            count = fn.op(f"load i64, ptr {fn.at('%aux', place + _COUNT)}")
            entry = fn.op(f"getelementptr i64, ptr {fn.at('%aux', place + _ENTRIES)}, i64 {count}")
            cycle = fn.op(f"load i64, ptr {fn.at('%aux', CYCLES)}")
            packed = fn.op(f"or i64 {fn.op(f'shl i64 {cycle}, {_MOST_SIGNALS}')}, {noted}")
            fn.do(f"store i64 {packed}, ptr {entry}")
            following = fn.op(f"add i64 {count}, 1")
            fn.do(f"store i64 {following}, ptr {fn.at('%aux', place + _COUNT)}")
            with fn.when(fn.op(f"icmp eq i64 {following}, {_CAPACITY}"), unlikely=True):
                fn.do(f"store i64 1, ptr {fn.at('%aux', STOP)}")

    def start(self, design: "CompiledDesign", place: int) -> None:
        """Begin in ``design``, switched off."""
        self._design, self._place = design, place
        self._events = []

    def check(self, design: "CompiledDesign", place: int) -> None:
        """Fetch the notes, so that there is room again."""
        count = self._number(_COUNT)
        raw = ctypes.string_at(design.address + place + _ENTRIES, 8 * count.value)
        for packed in np.frombuffer(raw, np.uint64).tolist():
            bits = packed & (1 << _MOST_SIGNALS) - 1
            picked = tuple(number for number in range(len(self._signals)) if bits >> number & 1)
            self._events.append(Event(packed >> _MOST_SIGNALS, picked))
        count.value = 0

    # ---- use

    @property
    def enabled(self) -> bool:
        """Whether notes are taken; off at power-on."""
        return self._number(_ENABLED).value != 0

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._number(_ENABLED).value = (1 << _MOST_SIGNALS) - 1 if value else 0

    def take(self) -> list[Event]:
        """Return the events since the last call, oldest first."""
        self._number(_COUNT)
        assert self._design is not None
        self.check(self._design, self._place)
        events, self._events = self._events, []
        return events

    def _number(self, offset: int) -> ctypes.c_uint64:
        if self._design is None:
            raise SimulatorError("the event log is not part of a simulation yet")
        return ctypes.c_uint64.from_address(self._design.address + self._place + offset)
