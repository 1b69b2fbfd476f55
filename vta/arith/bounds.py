"""Bounds of expressions: constant ones, and symbolic ones that keep the outer variables (for bound inference).

``eval_interval(i + o * 7, {i: [0, 6]})`` is ``[o * 7, o * 7 + 6]``. Tests: tests/vta/arith/test_bounds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from vta.arith.const_bounds import const_bounds, is_index
from vta.arith.const_interval import ConstInterval
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import (
    Add,
    Builtin,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Range,
    Select,
    Sub,
    Var,
    binary,
    cast_to,
    const,
)
from vta.tir.traverse import uses_var

__all__ = ["ConstInterval", "Interval", "const_bounds", "eval_interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from ``min`` to ``max``, expressions of outer variables, both included; None is unbounded."""

    min: Expr | None = None
    max: Expr | None = None

    @staticmethod
    def point(value: Expr) -> Interval:
        """Return the interval of one value."""
        return Interval(value, value)

    @staticmethod
    def of_range(domain: Range) -> Interval:
        """Return the interval of the members of a range."""
        return Interval(domain.min, domain.min + domain.extent - 1)

    @property
    def is_point(self) -> bool:
        """Whether both ends are the same object."""
        return self.min is not None and self.min is self.max


_UNBOUNDED = Interval()


def eval_interval(expr: Expr, env: Mapping[Var, Interval], analyzer: Analyzer | None = None) -> Interval:
    """Return bounds of an integer expression when each variable of ``env`` lies in its interval.

    The bounds are simplified expressions of the other variables and contain every value; they need not be tight.
    ``analyzer`` (a fresh one if None) may know more about any of the variables.
    """
    known = Analyzer() if analyzer is None else analyzer
    simplified = known.simplify(expr)
    result = _Evaluator(env, known).evaluate(simplified)
    if result.is_point and result.min is not None:
        return Interval.point(known.simplify(result.min))
    low = None if result.min is None else known.simplify(result.min)
    high = None if result.max is None else known.simplify(result.max)
    return Interval(low, high)


def _apply(fn: Callable[[Expr, Expr], Expr], a: Expr | None, b: Expr | None) -> Expr | None:
    return None if a is None or b is None else fn(a, b)


def _either(fn: Callable[[Expr, Expr], Expr], a: Expr | None, b: Expr | None) -> Expr | None:
    """Return what bounds the smaller (larger) of two values: one known bound is enough."""
    if a is None or b is None:
        return b if a is None else a
    return fn(a, b)


_Ends: TypeAlias = tuple[Expr | None, Expr | None]


def _interval_of(kind: type[Add | Sub | Mul], low: _Ends, high: _Ends) -> Interval:
    """Return the interval of sums or products; where a constant end leaves the type, the value may have wrapped."""
    if _overflows(kind, *low) or _overflows(kind, *high):
        return _UNBOUNDED
    return Interval(_apply(lambda x, y: binary(kind, x, y), *low), _apply(lambda x, y: binary(kind, x, y), *high))


def _overflows(kind: type[Add | Sub | Mul], a: Expr | None, b: Expr | None) -> bool:
    if not isinstance(a, IntImm) or not isinstance(b, IntImm):
        return False
    exact = a.value + b.value if kind is Add else a.value - b.value if kind is Sub else a.value * b.value
    low, high = a.dtype.bounds
    return not low <= exact <= high


@dataclass(frozen=True, slots=True)
class _Evaluator:
    env: Mapping[Var, Interval]
    analyzer: Analyzer

    @deep
    def evaluate(self, expr: Expr) -> Interval:
        """Return bounds of a simplified expression."""
        match expr:
            case Var():
                return self.env.get(expr) or Interval.point(expr)
            case IntImm():
                return Interval.point(expr)
            case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max() | Div() | Mod():
                a, b = self.evaluate(expr.a), self.evaluate(expr.b)
                if a.is_point and b.is_point and a.min is not None and b.min is not None:
                    return Interval.point(binary(type(expr), a.min, b.min))
                return self._combine(expr, a, b)
            case Select():
                return self._union(self.evaluate(expr.true_value), self.evaluate(expr.false_value), expr)
            case Call(op=Builtin.IF_THEN_ELSE):
                return self._union(self.evaluate(expr.args[1]), self.evaluate(expr.args[2]), expr)
            case Cast() if is_index(expr.dtype) and is_index(expr.value.dtype) and expr.dtype.bits >= 64:
                inner = self.evaluate(expr.value)
                low = None if inner.min is None else cast_to(inner.min, expr.dtype)
                if inner.is_point:
                    return Interval(low, low)
                return Interval(low, None if inner.max is None else cast_to(inner.max, expr.dtype))
            case _:
                return self._opaque(expr)

    def _opaque(self, expr: Expr) -> Interval:
        if not uses_var(expr, self.env.keys()):
            return Interval.point(expr)
        bounds = const_bounds(expr, {})
        low = None if bounds.lo is None else const(bounds.lo, expr.dtype)
        return Interval(low, None if bounds.hi is None else const(bounds.hi, expr.dtype))

    def _union(self, a: Interval, b: Interval, expr: Expr) -> Interval:
        if a.is_point and b.is_point and not uses_var(expr, self.env.keys()):
            return Interval.point(expr)
        low = _apply(lambda x, y: binary(Min, x, y), a.min, b.min)
        return Interval(low, _apply(lambda x, y: binary(Max, x, y), a.max, b.max))

    def _combine(self, expr: Expr, a: Interval, b: Interval) -> Interval:
        match expr:
            case Min():
                low = _apply(lambda x, y: binary(Min, x, y), a.min, b.min)
                return Interval(low, _either(lambda x, y: binary(Min, x, y), a.max, b.max))
            case Max():
                low = _either(lambda x, y: binary(Max, x, y), a.min, b.min)
                return Interval(low, _apply(lambda x, y: binary(Max, x, y), a.max, b.max))
            case Add():
                return _interval_of(Add, (a.min, b.min), (a.max, b.max))
            case Sub():
                return _interval_of(Sub, (a.min, b.max), (a.max, b.min))
            case Mul():
                return self._multiply(a, b)
            case FloorDiv() | Div():
                return self._divide(type(expr), a, b)
            case FloorMod() | Mod():
                return self._remainder(type(expr), a, b)
            case _:
                return _UNBOUNDED

    def _multiply(self, a: Interval, b: Interval) -> Interval:
        if a.is_point:
            a, b = b, a
        if not b.is_point or b.min is None:
            return _UNBOUNDED
        factor = b.min
        if self.analyzer.can_prove(factor >= 0):
            return _interval_of(Mul, (a.min, factor), (a.max, factor))
        if self.analyzer.can_prove(factor <= 0):
            return _interval_of(Mul, (a.max, factor), (a.min, factor))
        return _UNBOUNDED

    def _divide(self, kind: type[FloorDiv | Div], a: Interval, b: Interval) -> Interval:
        """Divide by one positive divisor: monotone."""
        if not b.is_point or b.min is None or not self.analyzer.can_prove(b.min > 0):
            return _UNBOUNDED
        divisor = b.min
        low = None if a.min is None else binary(kind, a.min, divisor)
        return Interval(low, None if a.max is None else binary(kind, a.max, divisor))

    def _remainder(self, kind: type[FloorMod | Mod], a: Interval, b: Interval) -> Interval:
        """Take the remainder by one positive divisor: shifted if the quotient is the same at both ends."""
        if not b.is_point or b.min is None or not self.analyzer.can_prove(b.min > 0):
            return _UNBOUNDED
        divisor, zero = b.min, const(0, b.min.dtype)
        if a.min is not None and a.max is not None:
            quotients = (binary(FloorDiv, a.min, divisor), binary(FloorDiv, a.max, divisor))
            same_quotient = self.analyzer.can_prove_equal(*quotients)
            if same_quotient and (kind is FloorMod or self.analyzer.can_prove(a.min >= 0)):
                return Interval(a.min - quotients[0] * divisor, a.max - quotients[0] * divisor)
        if kind is FloorMod or (a.min is not None and self.analyzer.can_prove(a.min >= 0)):
            return Interval(zero, divisor - 1)
        return Interval(1 - divisor, divisor - 1)
