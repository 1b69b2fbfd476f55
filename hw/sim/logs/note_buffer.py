"""A list in native memory that hooks append to, and that Python empties: entries of a few 64-bit words.

The run is interrupted when it is full, so nothing is lost. Tests: ``tests/hw/sim/logs/test_events.py``,
``tests/hw/sim/logs/test_samples.py``.
"""

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hw.sim.errors import SimulatorError
from hw.sim.run.driver import CYCLES, NOTING
from hw.sim.translate.effects import STOP
from hw.sim.translate.text import Function

if TYPE_CHECKING:
    from hw.sim.run.design import CompiledDesign

__all__ = ["NoteBuffer"]

_CAPACITY = 1 << 13
_ENABLED, _COUNT, _ENTRIES = 0, 8, 16

NoteWords = npt.NDArray[np.uint64]


class NoteBuffer:
    """Room for ``words`` 64-bit words per entry, after ``extra`` bytes that belong to the hook; ``what`` names it.

    The first word of an entry is the cycle, counted from power-on.
    """

    def __init__(self, what: str, *, words: int, extra: int = 0) -> None:
        self._what = what
        self._words = 1 + words
        self._start = extra
        self._design: CompiledDesign | None = None
        self._place = 0
        self._taken: list[NoteWords] = []

    @property
    def size(self) -> int:
        """Bytes of state."""
        return self._start + _ENTRIES + 8 * self._words * _CAPACITY

    # ---- native code

    def enabled_in(self, fn: Function, place: int) -> str:
        """Write the test whether notes are taken; return the i1."""
        enabled = fn.op(f"load i64, ptr {fn.at('%aux', place + self._start + _ENABLED)}")
        return fn.op(f"icmp ne i64 {enabled}, 0")

    def append_in(self, fn: Function, place: int, values: Sequence[str]) -> None:
        """Write the code that appends an entry: the cycle, and i64 ``values``."""
        begin = place + self._start
        count = fn.op(f"load i64, ptr {fn.at('%aux', begin + _COUNT)}")
        first = fn.op(f"mul i64 {count}, {self._words}")
        cycle = fn.op(f"load i64, ptr {fn.at('%aux', CYCLES)}")
        for number, value in enumerate((cycle, *values)):
            index = fn.op(f"add i64 {first}, {number}")
            entry = fn.op(f"getelementptr i64, ptr {fn.at('%aux', begin + _ENTRIES)}, i64 {index}")
            fn.do(f"store i64 {value}, ptr {entry}")
        following = fn.op(f"add i64 {count}, 1")
        fn.do(f"store i64 {following}, ptr {fn.at('%aux', begin + _COUNT)}")
        with fn.seldom(fn.op(f"icmp eq i64 {following}, {_CAPACITY}")):
            fn.do(f"store i64 1, ptr {fn.at('%aux', STOP)}")

    # ---- Python

    def start(self, design: "CompiledDesign", place: int) -> None:
        """Begin in ``design``, empty and switched off."""
        self._design, self._place, self._taken = design, place, []

    def drain(self) -> None:
        """Fetch the entries, so that there is room again."""
        count = self.number(_COUNT)
        raw = ctypes.string_at(self._address + _ENTRIES, 8 * self._words * count.value)
        if raw:
            self._taken.append(np.frombuffer(raw, np.uint64).reshape(-1, self._words))
        count.value = 0

    def take(self) -> NoteWords:
        """Return the entries since the last call, oldest first, shape (n, 1 + words)."""
        self.drain()
        taken, self._taken = self._taken, []
        if len(taken) == 1:
            return taken[0]
        return np.concatenate(taken) if taken else np.zeros((0, self._words), np.uint64)

    def clear(self) -> None:
        """Forget all entries."""
        self._taken = []
        self.number(_COUNT).value = 0

    @property
    def enabled(self) -> bool:
        """Whether notes are taken; off at power-on."""
        return self.number(_ENABLED).value != 0

    @enabled.setter
    def enabled(self, value: bool) -> None:
        enabled = self.number(_ENABLED)
        assert self._design is not None
        self._design.header(NOTING).value += int(value) - enabled.value
        enabled.value = int(value)

    def number(self, offset: int) -> ctypes.c_uint64:
        """Return a word of the state, live; negative offsets are the hook's own bytes."""
        return ctypes.c_uint64.from_address(self._address + offset)

    @property
    def _address(self) -> int:
        if self._design is None:
            raise SimulatorError(f"{self._what} is not part of a simulation yet")
        return self._design.address + self._place + self._start
