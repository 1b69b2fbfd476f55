"""Counts in which cycles a small signal has which value, in native code. Tests:
``tests/hw/sim/logs/test_histogram.py``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hw.sim.errors import SimulatorError
from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function, slot_bytes

if TYPE_CHECKING:
    from hw.sim.run.design import CompiledDesign

__all__ = ["Histogram"]

_MOST_BITS = 12


class Histogram:
    """Cycles by value of ``signal``, of those in which the 1-bit ``gate`` is high: a hook for ``compile_design``.

    Both are ports or dotted names; a cycle counts with the values before its edge.
    """

    def __init__(self, signal: str, *, bits: int, gate: str | None = None) -> None:
        if not 1 <= bits <= _MOST_BITS:
            raise SimulatorError(f"a histogram of {signal!r} has 1 to {_MOST_BITS} bits, not {bits}")
        self.signal = signal
        self.bits = bits
        self.gate = gate
        self._counts: npt.NDArray[np.uint64] | None = None

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that it reads."""
        return (self.signal,) if self.gate is None else (self.signal, self.gate)

    @property
    def noted(self) -> tuple[str, ...]:
        """The signals that it reads while notes are taken: none."""
        return ()

    @property
    def drives(self) -> tuple[str, ...]:
        """The inputs that it sets: none."""
        return ()

    @property
    def size(self) -> int:
        """Bytes of state."""
        return 8 << self.bits

    @property
    def key(self) -> str:
        """What tells it from other hooks."""
        return f"histogram {self.signal} {self.bits} {self.gate}"

    def write(self, fn: Function, place: int, slots: Mapping[str, Slot]) -> None:
        """Write the function that counts."""
        slot = slots[self.signal]
        if slot.width != self.bits:
            raise SimulatorError(
                f"a histogram of {self.signal!r} is to have {self.bits} bits, but that has {slot.width}"
            )
        size = 8 * slot_bytes(slot.width)
        step = "1"
        if self.gate is not None:
            gate = fn.op(f"load i8, ptr {fn.at('%io', slots[self.gate].offset)}")
            step = fn.op(f"zext i8 {gate} to i64")
        value = fn.op(f"load i{size}, ptr {fn.at('%io', slot.offset)}")
        index = fn.op(f"zext i{size} {value} to i64")
        counter = fn.op(f"getelementptr i64, ptr {fn.at('%aux', place)}, i64 {index}")
        count = fn.op(f"load i64, ptr {counter}")
        fn.do(f"store i64 {fn.op(f'add i64 {count}, {step}')}, ptr {counter}")

    def start(self, design: "CompiledDesign", place: int) -> None:
        """Count in ``design``, from zero."""
        self._counts = design.buffer[place : place + self.size].view(np.uint64)

    def check(self, design: "CompiledDesign", place: int) -> None:
        """Nothing can go wrong."""

    @property
    def counts(self) -> npt.NDArray[np.uint64]:
        """A live view: cycles for each value. Assigning zero to it clears it."""
        if self._counts is None:
            raise SimulatorError(f"the histogram of {self.signal!r} is not part of a simulation yet")
        return self._counts
