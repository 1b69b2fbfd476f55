"""A reference evaluator of TIR expressions on whole domains, and random expressions to try things on.

Deliberately separate from ``vta.tir.interpreter.run`` and from the constant folder: it is what they are compared with.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from vta.tir import expr as tir
from vta.tir.dtype import BOOL, DType
from vta.tir.expr import Expr, IntImm, Var

Values = NDArray[np.int64]
"""One integer (or truth value) for each point of a domain."""


def wrap(values: Values, dtype: DType) -> Values:
    """Two's complement of ``dtype``."""
    low, _ = dtype.bounds
    return (values - low) % (1 << dtype.bits) + low


def evaluate(expr: Expr, env: Mapping[Var, Values]) -> Values:
    """The values of an integer or bool expression at every point; divisors must not be zero."""
    match expr:
        case Var():
            return env[expr]
        case IntImm():
            return np.asarray(expr.value)
        case tir.Not():
            return 1 - evaluate(expr.a, env)
        case tir.Select():
            return _choose(expr.condition, expr.true_value, expr.false_value, env)
        case tir.Call(op=tir.Builtin.IF_THEN_ELSE, args=(condition, first, second)):
            return _choose(condition, first, second, env)
        case tir.Call(op=tir.Builtin.LIKELY, args=(condition,)):
            return evaluate(condition, env)
        case tir.Call(op=op, args=(a, b)) if op in _CALLS:
            return wrap(_CALLS[op](evaluate(a, env), evaluate(b, env)), expr.dtype)
        case tir.Call(op=tir.Builtin.BITWISE_NOT, args=(a,)):
            return wrap(~evaluate(a, env), expr.dtype)
        case tir.Cast():
            return wrap(evaluate(expr.value, env), expr.dtype)
        case tir.Let():
            return evaluate(expr.body, {**env, expr.var: evaluate(expr.value, env)})
        case tir.Binary() | tir.Compare():
            result = _OPERATIONS[type(expr)](evaluate(expr.a, env), evaluate(expr.b, env)).astype(np.int64)
            return result if expr.dtype == BOOL else wrap(result, expr.dtype)
        case _:
            raise NotImplementedError(type(expr).__name__)


def _choose(condition: Expr, first: Expr, second: Expr, env: Mapping[Var, Values]) -> Values:
    return np.where(evaluate(condition, env), evaluate(first, env), evaluate(second, env))


def _truncated(a: Values, b: Values) -> Values:
    return np.abs(a) // np.abs(b) * np.where((a < 0) == (b < 0), 1, -1)


_OPERATIONS: dict[type[Expr], Callable[[Values, Values], NDArray[Any]]] = {
    tir.Add: lambda a, b: a + b,
    tir.Sub: lambda a, b: a - b,
    tir.Mul: lambda a, b: a * b,
    tir.Div: _truncated,
    tir.Mod: lambda a, b: a - _truncated(a, b) * b,
    tir.FloorDiv: lambda a, b: a // b,
    tir.FloorMod: lambda a, b: a % b,
    tir.Min: np.minimum,
    tir.Max: np.maximum,
    tir.EQ: lambda a, b: a == b,
    tir.NE: lambda a, b: a != b,
    tir.LT: lambda a, b: a < b,
    tir.LE: lambda a, b: a <= b,
    tir.GT: lambda a, b: a > b,
    tir.GE: lambda a, b: a >= b,
    tir.And: lambda a, b: a & b,
    tir.Or: lambda a, b: a | b,
}


_CALLS: dict[tir.Builtin, Callable[[Values, Values], Values]] = {
    tir.Builtin.SHIFT_LEFT: lambda a, b: a << b,
    tir.Builtin.SHIFT_RIGHT: lambda a, b: a >> b,
    tir.Builtin.BITWISE_AND: lambda a, b: a & b,
    tir.Builtin.BITWISE_OR: lambda a, b: a | b,
    tir.Builtin.BITWISE_XOR: lambda a, b: a ^ b,
}
"""Counts of shifts are not negative and below the bits of the type."""


@dataclass(frozen=True)
class Domain:
    """Variables with the integers that each may take."""

    values: Mapping[Var, range]

    def points(self) -> dict[Var, Values]:
        """Every combination of values: arrays that broadcast to one array over the whole domain."""
        grid = np.meshgrid(*(np.array(r, dtype=np.int64) for r in self.values.values()), indexing="ij", sparse=True)
        return dict(zip(self.values, grid, strict=True))

    def first_difference(self, a: Expr, b: Expr) -> str | None:
        """Where two expressions have different values; None if nowhere."""
        points = self.points()
        x, y = np.broadcast_arrays(evaluate(a, points), evaluate(b, points), *points.values())[:2]
        wrong = np.argwhere(x != y)
        if not len(wrong):
            return None
        at = tuple(wrong[0])
        values = ", ".join(f"{v.name} = {r[i]}" for (v, r), i in zip(self.values.items(), at, strict=True))
        return f"{a} is {x[at]}, but {b} is {y[at]} with {values}"


X, Y, Z = (Var(name) for name in "xyz")
SMALL = tuple(Var(name, DType("int8")) for name in "abc")
"""The variables of random expressions: int32 indices, int8 values. (Strategies are built once, so they are fixed.)"""

_RANGES = st.tuples(st.integers(-9, 9), st.integers(1, 9)).map(lambda pair: range(pair[0], pair[0] + pair[1]))


def domains(variables: Sequence[Var]) -> st.SearchStrategy[Domain]:
    """Small ranges for each of ``variables``."""
    return st.tuples(*(_RANGES for _ in variables)).map(lambda r: Domain(dict(zip(variables, r, strict=True))))


def _constants(dtype: DType, values: Sequence[int]) -> st.SearchStrategy[Expr]:
    low, high = dtype.bounds
    return st.sampled_from([IntImm(value, dtype) for value in values if low <= value <= high])


_DIVISORS = (1, 2, 3, 4, 6, 8, 12, 16, -1, -2, -3, -8)
_NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 24, -1, -2, -3, -4, -7, -8, -16)


@functools.cache
def integers(variables: tuple[Var, ...], depth: int = 3) -> st.SearchStrategy[Expr]:
    """Integer expressions over ``variables`` of one type; divisors are constants, so that they always have a value."""
    dtype = variables[0].dtype
    leaf = st.one_of(st.sampled_from(variables), _constants(dtype, _NUMBERS))
    if depth == 0:
        return leaf
    below, literals = integers(variables, depth - 1), _constants(dtype, _DIVISORS)
    kinds = [tir.FloorDiv, tir.FloorMod, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod]
    sums = st.builds(lambda k, a, b: k(a, b), st.sampled_from([tir.Add, tir.Sub]), below, below)
    scaled = st.builds(tir.Mul, below, literals)
    products = st.builds(tir.Mul, below, below)
    divisions = st.builds(lambda k, a, b: k(a, b), st.sampled_from(kinds), below, literals)
    extremes = st.builds(lambda k, a, b: k(a, b), st.sampled_from([tir.Min, tir.Max]), below, below)
    choices = st.builds(tir.Select, conditions(variables, depth - 1), below, below)
    return st.one_of(leaf, sums, sums, scaled, scaled, divisions, divisions, extremes, products, choices)


@functools.cache
def conditions(variables: tuple[Var, ...], depth: int = 2) -> st.SearchStrategy[Expr]:
    """Conditions over ``variables`` of one type."""
    below = integers(variables, max(depth - 1, 0))
    kinds = [tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE]
    comparison = st.builds(lambda k, a, b: k(a, b), st.sampled_from(kinds), below, below)
    if depth <= 0:
        return comparison
    part = conditions(variables, depth - 1)
    connected = st.builds(lambda k, a, b: k(a, b), st.sampled_from([tir.And, tir.Or]), part, part)
    return st.one_of(comparison, connected, st.builds(tir.Not, part))


@functools.cache
def widened() -> st.SearchStrategy[Expr]:
    """Expressions of int32 over int8 values that were converted, mixed with indices, and converted back and forth."""
    wide = st.builds(tir.Cast, st.just(DType("int32")), integers(SMALL, 1))
    large = wide.map(lambda e: tir.Mul(e, IntImm(1 << 25)))  # sums of these wrap
    constants = _constants(DType("int32"), (*_NUMBERS, 127, -128))
    leaf = st.one_of(wide, wide, large, st.sampled_from((X, Y)), constants)
    kinds = [tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max]
    inner = st.builds(lambda k, a, b: k(a, b), st.sampled_from(kinds), leaf, leaf)
    divided = st.builds(
        lambda k, a, b: k(a, b),
        st.sampled_from([tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod]),
        inner,
        _constants(DType("int32"), _DIVISORS),
    )
    narrowed = st.builds(lambda e: tir.Cast(DType("int32"), tir.Cast(DType("int8"), e)), inner)
    part = st.one_of(inner, divided, narrowed)
    return st.builds(lambda k, a, b: k(a, b), st.sampled_from(kinds), part, part)
