"""Notes the values of some signals, in chosen cycles, in native code: whenever one changes, or while others are high.

Tests: ``tests/hw/sim/logs/test_samples.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hw.sim.errors import SimulatorError
from hw.sim.logs.note_buffer import NoteBuffer
from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function, slot_bytes

if TYPE_CHECKING:
    from hw.sim.run.design import CompiledDesign

__all__ = ["SampleLog", "Samples"]

_WORD = 64
Column = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Samples:
    """Values as columns of one length: in ``cycles[i]``, counted from power-on, signal ``s`` was ``values[s][i]``."""

    cycles: Column
    values: Mapping[str, Column]


class SampleLog:
    """Values of ``signals``, at most 64 bits each, as long as ``enabled`` is set: a hook for ``compile_design``.

    Without ``when``, a sample is taken in the first cycle and in each in which a value differs from the cycle before.
    With it, in every cycle in which all of these 1-bit signals are high. Signals are ports or dotted names.
    """

    def __init__(self, signals: Sequence[str], *, when: Sequence[str] = ()) -> None:
        if not signals:
            raise SimulatorError("a sample log has signals to note; none was given")
        self._signals = tuple(signals)
        self._when = tuple(when)
        words = len(self._signals)
        self._own = 0 if self._when else 8 + 8 * words  # whether there is a sample, and the last one
        self._notes = NoteBuffer("the sample log", words=words, extra=self._own)

    # ---- hook

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that it reads in any case: none."""
        return ()

    @property
    def noted(self) -> tuple[str, ...]:
        """The signals that it reads while it is enabled."""
        return self._signals + self._when

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
        return f"sample log {self._signals} {self._when}"

    def write(self, fn: Function, place: int, slots: Mapping[str, Slot]) -> None:
        """Write the function that takes notes."""
        for name in self._signals:
            if slots[name].width > _WORD:
                raise SimulatorError(
                    f"a sample log has signals of at most 64 bits, and {name!r} has {slots[name].width}"
                )
        for name in self._when:
            if slots[name].width != 1:
                raise SimulatorError(
                    f"a sample is taken when 1-bit signals are high, and {name!r} has {slots[name].width}"
                )
        with fn.seldom(self._notes.enabled_in(fn, place)):
            condition = self._all_high(fn, slots) if self._when else None
            if condition is not None:
                with fn.when(condition):
                    self._notes.append_in(fn, place, [_load(fn, slots[name]) for name in self._signals])
                return
            values = [_load(fn, slots[name]) for name in self._signals]
            with fn.when(self._changed(fn, place, values)):
                for number, value in enumerate(("1", *values)):
                    fn.do(f"store i64 {value}, ptr {fn.at('%aux', place + 8 * number)}")
                self._notes.append_in(fn, place, values)

    def _all_high(self, fn: Function, slots: Mapping[str, Slot]) -> str:
        total = "1"
        for name in self._when:
            total = fn.op(f"and i64 {total}, {_load(fn, slots[name])}")
        return fn.op(f"icmp ne i64 {total}, 0")

    def _changed(self, fn: Function, place: int, values: Sequence[str]) -> str:
        """Write the comparison with the last sample, if there is one; return the i1."""
        there = fn.op(f"load i64, ptr {fn.at('%aux', place)}")
        different = fn.op(f"xor i64 {there}, 1")
        for number, value in enumerate(values):
            last = fn.op(f"load i64, ptr {fn.at('%aux', place + 8 + 8 * number)}")
            different = fn.op(f"or i64 {different}, {fn.op(f'xor i64 {last}, {value}')}")
        return fn.op(f"icmp ne i64 {different}, 0")

    def start(self, design: "CompiledDesign", place: int) -> None:
        """Begin in ``design``, switched off."""
        self._notes.start(design, place)

    def check(self, design: "CompiledDesign", place: int) -> None:
        """Fetch the notes, so that there is room again."""
        self._notes.drain()

    # ---- use

    @property
    def enabled(self) -> bool:
        """Whether notes are taken; off at power-on. Where changes are noted, switching on notes the next cycle."""
        return self._notes.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._notes.enabled = value
        if self._own:
            self._notes.number(-self._own).value = 0

    def clear(self) -> None:
        """Forget the samples so far."""
        self._notes.clear()

    def take(self) -> Samples:
        """Return the samples since the last call, oldest first."""
        notes = self._notes.take()
        return Samples(notes[:, 0], {name: notes[:, 1 + at] for at, name in enumerate(self._signals)})


def _load(fn: Function, slot: Slot) -> str:
    """Write the read of a signal; return it as i64."""
    bits = 8 * slot_bytes(slot.width)
    value = fn.op(f"load i{bits}, ptr {fn.at('%io', slot.offset)}")
    return value if bits == _WORD else fn.op(f"zext i{bits} {value} to i64")
