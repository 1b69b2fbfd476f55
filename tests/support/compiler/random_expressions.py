"""Random Amaranth expressions over all operators, for comparing simulators."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ExpressionBench", "random_expression", "random_shape"]


def random_shape(rng: random.Random, most: int) -> Any:
    """Return a signed or unsigned shape of 1 to ``most`` bits, narrow ones and those close to 8, 32, 64 more often."""
    width = rng.choice(
        (rng.randint(1, most), rng.randint(1, min(most, 9)), min(most, rng.choice((8, 16, 32, 63, 64, 65))))
    )
    return signed(width) if rng.random() < 0.5 else unsigned(width)


def random_expression(rng: random.Random, pool: list[Value], most: int) -> Value:
    """Return one operator or the like over values of the pool, cut to at most ``most`` bits."""
    value = _KINDS[rng.randrange(len(_KINDS))](rng, pool)
    if len(value) > most:
        start = rng.randrange(len(value) - most + 1)
        value = value[start : start + most]
        if rng.random() < 0.5:
            value = value.as_signed()
    return value


def _pick(rng: random.Random, pool: list[Value]) -> Value:
    if rng.random() < 0.15:
        width = rng.randint(1, 70)
        return Const(rng.getrandbits(width), width)
    value = rng.choice(pool)
    return value.as_signed() if len(value) and rng.random() < 0.2 else value


def _short(rng: random.Random, pool: list[Value]) -> Value:
    """Return an unsigned value of at most 8 bits: an amount or an index."""
    return _pick(rng, pool)[: rng.randint(1, 8)].as_unsigned()


def _binary(operation: Callable[[Value, Value], Value]) -> Callable[[random.Random, list[Value]], Value]:
    return lambda rng, pool: operation(_pick(rng, pool), _pick(rng, pool))


def _unary(operation: Callable[[Value], Value]) -> Callable[[random.Random, list[Value]], Value]:
    return lambda rng, pool: operation(_pick(rng, pool))


def _slice(rng: random.Random, pool: list[Value]) -> Value:
    value = _pick(rng, pool)
    start = rng.randint(0, len(value))
    return value[start : rng.randint(start, len(value))]


def _bit_select(rng: random.Random, pool: list[Value]) -> Value:
    return rng.choice(pool).bit_select(_short(rng, pool), rng.choice((1, 3, 8, 17, 64, 100)))


def _word_select(rng: random.Random, pool: list[Value]) -> Value:
    value = rng.choice(pool)
    return value.word_select(_short(rng, pool)[:4], min(len(value), rng.choice((1, 5, 8, 13, 64, 72))))


def _matches(rng: random.Random, pool: list[Value]) -> Value:
    value = _pick(rng, pool)
    patterns = ["".join(rng.choice("01--") for _ in range(len(value))) for _ in range(rng.randint(0, 3))]
    return value.matches(*patterns) if len(value) else Const(1, 1)


def _array(rng: random.Random, pool: list[Value]) -> Value:
    return Value.cast(Array(_pick(rng, pool) for _ in range(rng.randint(1, 6)))[_short(rng, pool)[:3]])


_KINDS: tuple[Callable[[random.Random, list[Value]], Value], ...] = (
    *(_binary(f) for f in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b)),
    *(_binary(f) for f in (lambda a, b: a // b, lambda a, b: a % b)),
    *(_binary(f) for f in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b)),
    *(_binary(f) for f in (lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b)),
    *(_binary(f) for f in (lambda a, b: a > b, lambda a, b: a >= b, lambda a, b: Cat(a, b, a[:3]))),
    *(_unary(f) for f in (lambda a: ~a, lambda a: -a, lambda a: a.any(), lambda a: a.all(), lambda a: a.xor())),
    *(_unary(f) for f in (lambda a: a.bool(), abs, lambda a: a.replicate(3), lambda a: a.as_unsigned())),
    lambda rng, pool: _pick(rng, pool) << _short(rng, pool)[: rng.choice((3, 6, 8))],
    lambda rng, pool: _pick(rng, pool) >> _short(rng, pool),
    lambda rng, pool: _pick(rng, pool) >> _short(rng, pool),
    lambda rng, pool: Mux(_pick(rng, pool), _pick(rng, pool), _pick(rng, pool)),
    lambda rng, pool: Mux(_short(rng, pool)[0], _pick(rng, pool), _pick(rng, pool)),
    _slice,
    _bit_select,
    _word_select,
    _matches,
    _array,
)


class ExpressionBench(wiring.Component):
    """``count`` random expressions, each over the inputs and the ones before it, each an output.

    Operands are signals: of a part of a larger expression Amaranth's simulator and its netlist differ in the bits
    beyond the end (the simulator does not cut or extend the expression first).
    """

    def __init__(self, *, seed: int, count: int, most: int = 200) -> None:
        rng = random.Random(seed)
        self.seed, self.count, self.most = seed, count, most
        members = {f"i{k}": In(random_shape(rng, most)) for k in range(5)}
        pool: list[Value] = [Signal(member.shape, name=name) for name, member in members.items()]
        for k, value in enumerate(self._expressions(pool)):
            members[f"o{k}"] = Out(value.shape())
            pool.append(Signal(value.shape(), name=f"o{k}"))
        super().__init__(members)

    def _expressions(self, pool: list[Value]) -> Iterator[Value]:
        """Yield the expressions over ``pool``, to which the caller adds a signal for each."""
        rng = random.Random(self.seed + 1)
        for _ in range(self.count):
            yield random_expression(rng, pool, self.most)

    def elaborate(self, platform: Any) -> Module:
        del platform
        m = Module()
        pool: list[Value] = [getattr(self, f"i{k}") for k in range(5)]
        for k, value in enumerate(self._expressions(pool)):
            m.d.comb += getattr(self, f"o{k}").eq(value)
            pool.append(getattr(self, f"o{k}"))
        return m
