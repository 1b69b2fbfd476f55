"""Random loop nests of the host whose indices wrap: what LLVM's analysis of loops is easily wrong about.

Every index is a sum of terms with known ranges: multiples of the counters, a number that only the caller knows, and
periodic parts (a remainder, a mask, a cast to 8 bits, shifts there and back, the same by way of a temporary). Arrays
are as large as their indices reach. All randomness comes from the ``random.Random`` that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from random import Random

import numpy as np

from vta.tir import ops
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import HANDLE, INT32, DType
from vta.tir.expr import (
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Select,
    Var,
    const,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, BufferStore, For, Stmt, seq

__all__ = ["LoopProgram", "random_loops"]

_EXTENTS = (1, 2, 3, 5, 7, 8, 9, 12, 16, 17, 31, 32, 33, 48, 64, 65, 100, 128, 300, 1000)
_FACTORS = (1, 1, 1, 1, 1, 1, 2, 3, 3, 5, 7, -1, -3)
_PERIODS = (2, 3, 4, 4, 5, 7, 8, 8, 8, 12, 16, 16, 16, 20, 32, 32, 33, 64, 64, 128, 256)
_POWERS = (2, 4, 8, 8, 16, 16, 32, 64, 128, 256)
_MOST_ITERATIONS = 3000
_MOST_UNKNOWN = 40
_LARGEST_INDEX = 5000

_LONG, _SHORT, _BYTE, _WORD = DType("int64"), DType("int16"), DType("int8"), DType("uint32")
_COUNTERS = (INT32, INT32, INT32, INT32, INT32, INT32, _LONG, _SHORT, _BYTE)


@dataclass(frozen=True, slots=True)
class Ranged:
    """An int32 expression and the range of its values."""

    expr: Expr
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """A function, and what it is called with: ``inputs``, the ``output`` as it is before, an ``unknown`` number."""

    func: PrimFunc
    inputs: tuple[np.ndarray, ...]
    output: np.ndarray
    unknown: int


def random_loops(rng: Random) -> LoopProgram:
    """Return a random program."""
    return _Writer(rng).program()


@dataclass
class _Writer:
    """What has been chosen so far. ``temporaries`` have one element, and are ``prepared`` in the innermost loop."""

    rng: Random
    unknown: Var = field(default_factory=lambda: Var("s", INT32))
    counters: list[Ranged] = field(default_factory=list)
    temporaries: list[Buffer] = field(default_factory=list)
    prepared: list[Stmt] = field(default_factory=list)

    def program(self) -> LoopProgram:
        loops = self._loops()
        indices = [self._index() for _ in range(self.rng.randint(1, 3))]
        kinds = [self.rng.choice(("int32", "int32", "int8", "uint8")) for _ in indices]
        inputs = [_buffer_for(index, kind, f"a{n}") for n, (index, kind) in enumerate(zip(indices, kinds, strict=True))]
        target = self._output_index()
        output = _buffer_for(target, "int32", "b")
        loads = [_load(buffer, index) for buffer, index in zip(inputs, indices, strict=True)]
        if self.rng.random() < 0.2:
            loads.append(_load(output, target))
        value = self._value(loads)
        body = seq([*self.prepared, BufferStore(output, value, (target.expr - target.low,))])
        for temporary in self.temporaries:
            body = Allocate(temporary.data, INT32, (const(1),), body)
        for var, extent in reversed(loops):
            body = For(var, const(0, var.dtype), const(extent, var.dtype), body)
        buffers = {Var(buffer.name, HANDLE): buffer for buffer in (*inputs, output)}
        func = PrimFunc("program", (*buffers, self.unknown), body, buffers, {"tir.noalias": True})
        numbers = np.random.default_rng(self.rng.getrandbits(32))
        arrays = [_numbers(numbers, buffer) for buffer in buffers.values()]
        return LoopProgram(func, tuple(arrays[:-1]), arrays[-1], self.rng.randint(0, _MOST_UNKNOWN))

    def _loops(self) -> list[tuple[Var, int]]:
        """Choose the loops, outermost first."""
        loops, room = [], _MOST_ITERATIONS
        for name in "kji"[-self.rng.choice((1, 2, 2, 3)) :]:
            dtype = self.rng.choice(_COUNTERS)
            most = min(room, 100 if dtype == _BYTE or name != "i" else room)
            least = self.rng.choice((1, 16)) if name == "i" else 1  # an inner loop that is worth a vector
            extent = self.rng.choice([e for e in _EXTENTS if min(least, most) <= e <= most] or [most])
            room //= extent
            var = Var(name, dtype)
            loops.append((var, extent))
            self.counters.append(Ranged(_to_int32(var), 0, extent - 1))
        return loops

    def _affine(self) -> Ranged:
        """Return a sum of multiples of counters, a constant, and perhaps the number that only the caller knows."""
        start = self.rng.choice((0, 0, 1, 3, 6))
        total = Ranged(const(start), start, start)
        for counter in self.rng.sample(self.counters, self.rng.randint(1, len(self.counters))):
            total = _plus(total, _times(counter, self.rng.choice(_FACTORS)))
        if self.rng.random() < 0.35:
            total = _plus(total, Ranged(self.unknown, 0, _MOST_UNKNOWN))
        return total

    def _periodic(self, depth: int = 0) -> Ranged:
        """Return an index that starts anew again and again."""
        inner = self._affine()
        if depth < 2 and self.rng.random() < 0.25:
            inner = _plus(self._periodic(depth + 1), inner)
        result = self.rng.choice(_FORMS)(inner, self.rng)
        return self._kept(result) if self.rng.random() < 0.15 else result

    def _kept(self, value: Ranged) -> Ranged:
        """Return ``value`` by way of a temporary, perhaps made periodic there."""
        temporary = decl_buffer((1,), "int32", f"t{len(self.temporaries)}")
        self.temporaries.append(temporary)
        again = BufferLoad(temporary, (const(0),))
        self.prepared.append(BufferStore(temporary, value.expr, (const(0),)))
        if self.rng.random() < 0.5:
            self.prepared.append(BufferStore(temporary, _call(Builtin.BITWISE_AND, again, const(15)), (const(0),)))
            return Ranged(again, 0, 15)
        return Ranged(again, value.low, value.high)

    def _index(self) -> Ranged:
        if self.rng.random() < 0.4:
            return self._row()
        index = self._affine() if self.rng.random() < 0.4 else self._periodic()
        while self.rng.random() < 0.4 and index.high - index.low < _LARGEST_INDEX:
            index = _plus(index, self._affine() if self.rng.random() < 0.3 else self._periodic())
        return index

    def _row(self) -> Ranged:
        """Return a row of its own for each iteration of the outer loops, and something periodic in it."""
        rows = [_times(counter, self.rng.choice((8, 16, 20, 48))) for counter in self.counters[:-1]]
        if self.rng.random() < 0.3:
            rows = [Ranged(FloorMod(row.expr, const(96)), 0, 95) for row in rows]
        inner = self._affine()
        form = self.rng.choice((_remainder, _remainder, _mask, *_FORMS))
        return reduce(_plus, rows, form(inner, self.rng))

    def _output_index(self) -> Ranged:
        """Return where the result goes: mostly another place in each iteration."""
        if self.rng.random() < 0.2:
            return self._periodic()
        total, step = Ranged(const(0), 0, 0), self.rng.choice((1, 1, 1, 2, 3))
        for counter in reversed(self.counters):
            total = _plus(total, _times(counter, step))
            step *= counter.high + 1
        return total

    def _value(self, loads: Sequence[Expr]) -> Expr:
        """Return a number made of all ``loads``."""
        value = loads[0]
        for load in loads[1:]:
            value = self.rng.choice(_COMBINATIONS)(value, load)
        match self.rng.randrange(6):
            case 0:
                other = value * 3 - 1
                return Select(self._periodic().expr < 3, value, other)
            case 1:
                return ops.if_then_else(ops.likely(self._affine().expr > 9), value, const(-5))
            case 2:
                return value + self._periodic().expr
            case 3:
                return _to_int32(Cast(self.rng.choice((_BYTE, _SHORT)), value))
            case _:
                return value


def _to_int32(expr: Expr) -> Expr:
    return expr if expr.dtype == INT32 else Cast(INT32, expr)


def _call(op: Builtin, *args: Expr) -> Expr:
    return Call(args[0].dtype, op, args)


def _buffer_for(index: Ranged, dtype: str, name: str) -> Buffer:
    return decl_buffer((index.high - index.low + 1,), dtype, name)


def _load(buffer: Buffer, index: Ranged) -> Expr:
    return _to_int32(BufferLoad(buffer, (index.expr - index.low,)))


def _numbers(numbers: np.random.Generator, buffer: Buffer) -> np.ndarray:
    info, size = np.iinfo(str(buffer.dtype)), buffer.shape[0]
    assert isinstance(size, IntImm)
    return numbers.integers(max(info.min, -1000), min(info.max, 1000), size.value, endpoint=True, dtype=info.dtype)


def _plus(a: Ranged, b: Ranged) -> Ranged:
    return Ranged(a.expr + b.expr, a.low + b.low, a.high + b.high)


def _times(a: Ranged, factor: int) -> Ranged:
    ends = (a.low * factor, a.high * factor)
    return Ranged(a.expr * factor, min(ends), max(ends))


# Forms of what is periodic: of any int32, with the range of the result.


def _remainder(inner: Ranged, rng: Random) -> Ranged:
    period = rng.choice(_PERIODS)
    return Ranged(FloorMod(inner.expr, const(period)), 0, period - 1)


def _truncated_remainder(inner: Ranged, rng: Random) -> Ranged:
    period = rng.choice(_PERIODS)
    return Ranged(Mod(inner.expr, const(period)), 1 - period, period - 1)


def _remainder_by_hand(inner: Ranged, rng: Random) -> Ranged:
    period = rng.choice(_PERIODS)
    return Ranged(inner.expr - FloorDiv(inner.expr, const(period)) * period, 0, period - 1)


def _mask(inner: Ranged, rng: Random) -> Ranged:
    mask = rng.choice((1, 3, 7, 7, 15, 15, 31, 63, 127, 255, 6, 12, 0b1011))
    return Ranged(_call(Builtin.BITWISE_AND, inner.expr, const(mask)), 0, mask)


def _mask_by_negation(inner: Ranged, rng: Random) -> Ranged:
    mask = rng.choice(_POWERS) - 1
    inverted = _call(Builtin.BITWISE_OR, _call(Builtin.BITWISE_NOT, inner.expr), const(~mask))
    return Ranged(_call(Builtin.BITWISE_NOT, inverted), 0, mask)


def _narrow_cast(inner: Ranged, rng: Random) -> Ranged:
    dtype = DType(rng.choice(("int8", "uint8")))
    return Ranged(_to_int32(Cast(dtype, inner.expr)), *dtype.bounds)


def _narrow_arithmetic(inner: Ranged, rng: Random) -> Ranged:
    dtype = DType(rng.choice(("int8", "uint8")))
    factor = const(rng.choice((2, 3, 5)), dtype)
    return Ranged(_to_int32(Cast(dtype, inner.expr) * factor + const(7, dtype)), *dtype.bounds)


def _shifts(inner: Ranged, rng: Random) -> Ranged:
    bits = rng.choice((1, 2, 3, 4, 5, 8))
    count, half = const(32 - bits), 1 << bits >> 1
    there = _call(Builtin.SHIFT_LEFT, inner.expr, count)
    return Ranged(_call(Builtin.SHIFT_RIGHT, there, count), -half, half - 1)


def _unsigned_shifts(inner: Ranged, rng: Random) -> Ranged:
    bits = rng.choice((1, 2, 3, 4, 5, 8))
    count = const(32 - bits, _WORD)
    there = _call(Builtin.SHIFT_LEFT, Cast(_WORD, inner.expr), count)
    return Ranged(_to_int32(_call(Builtin.SHIFT_RIGHT, there, count)), 0, (1 << bits) - 1)


def _multiplied_remainder(inner: Ranged, rng: Random) -> Ranged:
    """A remainder of what wraps at 32 bits."""
    period = rng.choice(_PERIODS)
    return Ranged(FloorMod(inner.expr * rng.choice((65537 * 4093, 715827883, 1 << 28)), const(period)), 0, period - 1)


def _quotient(inner: Ranged, rng: Random) -> Ranged:
    divisor = rng.choice(_PERIODS)
    return Ranged(FloorDiv(inner.expr, const(divisor)), inner.low // divisor, inner.high // divisor)


def _clipped(inner: Ranged, rng: Random) -> Ranged:
    high = rng.choice(_PERIODS)
    return Ranged(Max(Min(inner.expr, const(high)), const(0)), 0, high)


def _parity(inner: Ranged, rng: Random) -> Ranged:
    odd = _to_int32(Cast(DType("bool"), FloorMod(inner.expr, const(rng.choice(_POWERS)))))
    return Ranged(odd * 5, 0, 5)


_FORMS: tuple[Callable[[Ranged, Random], Ranged], ...] = (
    _remainder, _remainder, _remainder, _truncated_remainder, _remainder_by_hand, _mask, _mask, _mask_by_negation,
    _narrow_cast, _narrow_arithmetic, _shifts, _unsigned_shifts, _multiplied_remainder, _quotient, _clipped, _parity,
)  # fmt: skip

_COMBINATIONS: tuple[Callable[[Expr, Expr], Expr], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a - b * 3,
    Min,
    Max,
    lambda a, b: _call(Builtin.BITWISE_AND, a, b),
    lambda a, b: _call(Builtin.BITWISE_XOR, a, b),
)
