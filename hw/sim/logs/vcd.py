"""Waveforms: the values of chosen signals in every cycle, as a VCD file for GTKWave, Surfer and the like.

Changes are found in native code and written by ``pyvcd``. Tests: ``tests/hw/sim/logs/test_vcd.py``.
"""

import ctypes
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from vcd import VCDWriter

from hw.sim.errors import SimulatorError
from hw.sim.run.driver import CYCLES, NOTING
from hw.sim.translate.effects import STOP
from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function, mask

if TYPE_CHECKING:
    from hw.sim.run.design import CompiledDesign

__all__ = ["VcdLog", "matching_signals"]

_WORD = 64
_SIZE = 1 << 20
_INDEX_BITS = 20
_USED, _TABLE = 0, 8
_ENTRY = 24
_PLACE, _ONES, _LAST = 0, 8, 16
"""Of an entry of the table, one for each 64-bit word: where it is in ``io``, which bits count, its last value."""

_CHANGE = 16
"""Bytes of a noted change: cycle and number of the word, its value."""


def matching_signals(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match any of the patterns (``*`` matches dots, too), in their order.

    Raises SimulatorError for a pattern that matches none.
    """
    known = list(names)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            near = difflib.get_close_matches(pattern, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SimulatorError(f"no signal of the design matches {pattern!r}{hint}")
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]


@dataclass(slots=True)
class _Wave:
    """A signal: its variable in the file, its words as they were written last, the first one's number."""

    variable: Any
    words: list[int]
    first: int


class VcdLog:
    """Writes ``signals`` to a VCD ``file`` from power-on: a hook for ``compile_design``.

    A cycle is ``period`` nanoseconds long; its values appear at its beginning, where ``clk`` rises (but for the first),
    so that just before an edge one sees what the edge takes in. A reset of the design forgets what was not written yet
    (see ``flush``); time goes on after it. ``close`` writes the end.
    """

    def __init__(self, signals: Sequence[str], file: TextIO, *, period: int = 10) -> None:
        if not signals:
            raise SimulatorError("a waveform has signals; none was given")
        if period < 2:
            raise SimulatorError(f"a waveform has a period of 2 nanoseconds or more, not {period}")
        self._signals = tuple(signals)
        self._period = period
        self._writer = VCDWriter(file, timescale="1 ns", check_values=False)
        self._clock = self._writer.register_var("top", "clk", "wire", size=1, init=0)
        self._waves: list[_Wave] = []
        self._wave_of: list[_Wave] = []
        self._begin = self._clocked = 0
        self._design: CompiledDesign | None = None
        self._place = 0

    # ---- hook

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that it reads in any case: none."""
        return ()

    @property
    def noted(self) -> tuple[str, ...]:
        """The signals that it writes."""
        return self._signals

    @property
    def drives(self) -> tuple[str, ...]:
        """The inputs that it sets: none."""
        return ()

    @property
    def size(self) -> int:
        """Bytes of state."""
        return _SIZE

    @property
    def key(self) -> str:
        """What tells it from other hooks."""
        return f"vcd {self._signals}"

    def write(self, fn: Function, place: int, slots: Mapping[str, Slot]) -> None:
        """Write the loop over the words; ``start`` fills in their table."""
        count = sum(-(-slots[name].width // _WORD) for name in self._signals)
        changes = _TABLE + count * _ENTRY
        most = _SIZE - count * _CHANGE
        if changes + 2 * count * _CHANGE > _SIZE:
            raise SimulatorError(f"a waveform of {count} words of 64 bits is too large; choose fewer signals")
        base, used_at = fn.at("%aux", place), fn.at("%aux", place + _USED)
        stamp = fn.op(f"shl i64 {_load(fn, '%aux', CYCLES)}, {_INDEX_BITS}")
        begin, head, body, done = (fn.fresh(name) for name in ("begin", "head", "body", "done"))
        index, following = f"%{fn.fresh('index')}", f"%{fn.fresh('following')}"
        fn.do(f"br label %{begin}")
        fn.lines += [f"{begin}:", f"  br label %{head}", f"{head}:"]
        fn.do(f"{index} = phi i64 [ 0, %{begin} ], [ {following}, %{head}next ]")
        more = fn.op(f"icmp ult i64 {index}, {count}")
        fn.do(f"br i1 {more}, label %{body}, label %{done}")
        fn.lines.append(f"{body}:")
        entry = _at(fn, base, fn.op(f"add i64 {fn.op(f'mul i64 {index}, {_ENTRY}')}, {_TABLE}"))
        source = _at(fn, "%io", _load(fn, entry, _PLACE))
        value = fn.op(f"and i64 {fn.op(f'load i64, ptr {source}, align 1')}, {_load(fn, entry, _ONES)}")
        with fn.seldom(fn.op(f"icmp ne i64 {value}, {_load(fn, entry, _LAST)}")):
            fn.do(f"store i64 {value}, ptr {_at(fn, entry, str(_LAST))}")
            used = fn.op(f"load i64, ptr {used_at}")
            change = _at(fn, base, used)
            fn.do(f"store i64 {fn.op(f'or i64 {stamp}, {index}')}, ptr {change}")
            fn.do(f"store i64 {value}, ptr {_at(fn, change, '8')}")
            fn.do(f"store i64 {fn.op(f'add i64 {used}, {_CHANGE}')}, ptr {used_at}")
        fn.lines += [f"  br label %{head}next", f"{head}next:"]
        fn.do(f"{following} = add i64 {index}, 1")
        fn.lines += [f"  br label %{head}", f"{done}:"]
        full = fn.op(f"icmp ugt i64 {fn.op(f'load i64, ptr {used_at}')}, {most}")
        with fn.seldom(full):
            fn.do(f"store i64 1, ptr {fn.op(f'getelementptr i8, ptr %aux, i64 {STOP}')}")

    def start(self, design: "CompiledDesign", place: int) -> None:
        """Begin at power-on; after a reset, at the time that was reached."""
        if self._design not in (None, design):
            raise SimulatorError("the waveform is already part of another simulation")
        self._begin, self._clocked = self._begin + self._clocked, 0
        again, self._design, self._place = self._design is not None, design, place
        table = []
        for name in self._signals:
            signal = design.image.signals[name]
            assert signal.places is not None
            first = signal.places[0].bit // 8 - design.image.regions.io if signal.width else 0
            table += [
                [first + 8 * word, mask(min(_WORD, signal.width - word * _WORD)), 0]
                for word in range(-(-signal.width // _WORD))
            ]
        raw = np.array(table, np.uint64).tobytes()
        ctypes.memmove(design.address + place + _TABLE, raw, len(raw))
        self._used.value = _TABLE + len(raw)
        design.header(NOTING).value += 1
        if again:
            self._zero()
        else:
            self._declare(design)

    def check(self, design: "CompiledDesign", place: int) -> None:
        """Write what was noted, so that there is room again."""
        begin = _TABLE + len(self._wave_of) * _ENTRY
        raw = ctypes.string_at(design.address + place + begin, self._used.value - begin)
        self._used.value = begin
        changed: dict[int, _Wave] = {}
        now = 0
        for stamp, value in np.frombuffer(raw, np.uint64).reshape(-1, 2).tolist():
            cycle, word = divmod(stamp, 1 << _INDEX_BITS)
            if cycle != now:
                self._show(now, changed.values())
                changed, now = {}, cycle
            wave = self._wave_of[word]
            wave.words[word - wave.first] = value
            changed[wave.first] = wave
        self._show(now, changed.values())

    # ---- file

    def flush(self) -> None:
        """Write all up to now."""
        if self._design is not None:
            self.check(self._design, self._place)
            self._clock_until(self._design.cycles)

    def close(self) -> None:
        """Write all up to now, and the time of the end; the file itself stays open."""
        self.flush()
        self._writer.close(self._period * (self._begin + self._clocked))

    @property
    def _used(self) -> ctypes.c_uint64:
        assert self._design is not None
        return ctypes.c_uint64.from_address(self._design.address + self._place + _USED)

    def _declare(self, design: "CompiledDesign") -> None:
        for name in self._signals:
            width = design.image.signals[name].width
            if not width or name == "clk":
                self._wave_of += [_Wave(None, [0], len(self._wave_of))] * bool(width)
                continue
            scope, _, leaf = f"top.{name}".rpartition(".")
            leaf = leaf.replace("$", "_", 1) if leaf.startswith("$") else leaf  # readers take it for a keyword
            variable = self._writer.register_var(scope, leaf, "wire", size=width, init=0)
            count = -(-width // _WORD)
            wave = _Wave(variable, [0] * count, len(self._wave_of))
            self._waves.append(wave)
            self._wave_of += [wave] * count

    def _zero(self) -> None:
        """Show zeros, which is what changes are counted from after a reset."""
        for wave in self._waves:
            wave.words = [0] * len(wave.words)
        self._show(0, self._waves)

    def _show(self, cycle: int, waves: Iterable[_Wave]) -> None:
        """Write the values of a cycle."""
        self._clock_until(cycle)
        time = self._period * (self._begin + cycle)
        for wave in waves:
            if wave.variable is not None:
                value = sum(word << _WORD * place for place, word in enumerate(wave.words))
                self._writer.change(wave.variable, time, value)

    def _clock_until(self, cycle: int) -> None:
        """Write the clock up to the edge with which a cycle begins."""
        while self._clocked < cycle:
            time = self._period * (self._begin + self._clocked)
            self._writer.change(self._clock, time + self._period // 2, 0)
            self._writer.change(self._clock, time + self._period, 1)
            self._clocked += 1


def _at(fn: Function, base: str, offset: str) -> str:
    return fn.op(f"getelementptr i8, ptr {base}, i64 {offset}")


def _load(fn: Function, base: str, offset: int) -> str:
    return fn.op(f"load i64, ptr {_at(fn, base, str(offset))}")
