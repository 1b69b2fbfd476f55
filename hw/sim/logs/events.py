"""Notes in which cycles any of some 1-bit signals is high, in native code.

Tests: ``tests/hw/sim/logs/test_events.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hw.sim.errors import SimulatorError
from hw.sim.logs.note_buffer import NoteBuffer
from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function

if TYPE_CHECKING:
    from hw.sim.run.design import CompiledDesign

__all__ = ["Event", "EventLog"]

_MOST_SIGNALS = 16


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
        self._notes = NoteBuffer("the event log", words=1)

    # ---- hook

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that it reads in any case: none."""
        return ()

    @property
    def noted(self) -> tuple[str, ...]:
        """The signals that it reads while it is enabled."""
        return self._signals

    @property
    def drives(self) -> tuple[str, ...]:
        """The inputs that it sets: none."""
        return ()

    @property
    def size(self) -> int:
        """Bytes of state."""
        return self._notes.size

    @property
    def key(self) -> str:
        """What tells it from other hooks."""
        return f"event log {self._signals}"

    def write(self, fn: Function, place: int, slots: Mapping[str, Slot]) -> None:
        """Write the function that takes notes."""
        for name in self._signals:
            if slots[name].width != 1:
                raise SimulatorError(f"an event log has signals of 1 bit, and {name!r} has {slots[name].width}")
        with fn.seldom(self._notes.enabled_in(fn, place)):
            word = "0"
            for number, name in enumerate(self._signals):
                bit = fn.op(f"load i8, ptr {fn.at('%io', slots[name].offset)}")
                shifted = fn.op(f"shl i64 {fn.op(f'zext i8 {bit} to i64')}, {number}")
                word = fn.op(f"or i64 {word}, {shifted}")
            with fn.when(fn.op(f"icmp ne i64 {word}, 0")):
                self._notes.append_in(fn, place, [word])

    def start(self, design: "CompiledDesign", place: int) -> None:
        """Begin in ``design``, switched off."""
        self._notes.start(design, place)

    def check(self, design: "CompiledDesign", place: int) -> None:
        """Fetch the notes, so that there is room again."""
        self._notes.drain()

    # ---- use

    @property
    def enabled(self) -> bool:
        """Whether notes are taken; off at power-on."""
        return self._notes.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._notes.enabled = value

    def clear(self) -> None:
        """Forget the events so far."""
        self._notes.clear()

    def take(self) -> list[Event]:
        """Return the events since the last call (of this or of ``take_bits``), oldest first."""
        places = range(len(self._signals))
        return [
            Event(cycle, tuple(number for number in places if bits >> number & 1))
            for cycle, bits in self._notes.take().tolist()
        ]

    def take_bits(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Return the same as columns: the cycle of each event, and a word with bit k set where signal k was high."""
        notes = self._notes.take()
        return notes[:, 0], notes[:, 1]
