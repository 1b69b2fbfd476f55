"""A reference evaluator of TIR expressions on Python integers, and random expressions to try things on.

Deliberately separate from ``vta.tir.interpreter`` and from the constant folder: it is what they are compared with.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st

from vta.tir import expr as tir
from vta.tir.dtype import BOOL, DType
from vta.tir.expr import Expr, IntImm, Var


def wrap(value: int, dtype: DType) -> int:
    """Two's complement of ``dtype``."""
    low, _ = dtype.bounds
    return (value - low) % (1 << dtype.bits) + low


def evaluate(expr: Expr, env: Mapping[Var, int]) -> int:
    """The value of an integer or bool expression; raises ZeroDivisionError as Python does."""
    match expr:
        case Var():
            return env[expr]
        case IntImm():
            return expr.value
        case tir.And():
            return int(evaluate(expr.a, env) and evaluate(expr.b, env))
        case tir.Or():
            return int(evaluate(expr.a, env) or evaluate(expr.b, env))
        case tir.Not():
            return 1 - evaluate(expr.a, env)
        case tir.Select():
            return evaluate(expr.true_value if evaluate(expr.condition, env) else expr.false_value, env)
        case tir.Call(op=tir.Builtin.IF_THEN_ELSE, args=(condition, first, second)):
            return evaluate(first if evaluate(condition, env) else second, env)
        case tir.Call(op=tir.Builtin.LIKELY, args=(condition,)):
            return evaluate(condition, env)
        case tir.Call(op=tir.Builtin.SHIFT_RIGHT, args=(a, b)):
            return evaluate(a, env) >> evaluate(b, env)
        case tir.Cast():
            return wrap(evaluate(expr.value, env), expr.dtype)
        case tir.Let():
            return evaluate(expr.body, {**env, expr.var: evaluate(expr.value, env)})
        case tir.Binary() | tir.Compare():
            a, b = evaluate(expr.a, env), evaluate(expr.b, env)
            result = _binary(type(expr), a, b)
            return result if expr.dtype == BOOL else wrap(result, expr.dtype)
        case _:
            raise NotImplementedError(type(expr).__name__)


def _binary(kind: type[Expr], a: int, b: int) -> int:
    quotient = abs(a) // abs(b) if kind in (tir.Div, tir.Mod) else 0
    signed = quotient if (a < 0) == (b < 0) else -quotient
    table = {
        tir.Add: lambda: a + b,
        tir.Sub: lambda: a - b,
        tir.Mul: lambda: a * b,
        tir.Div: lambda: signed,
        tir.Mod: lambda: a - signed * b,
        tir.FloorDiv: lambda: a // b,
        tir.FloorMod: lambda: a % b,
        tir.Min: lambda: min(a, b),
        tir.Max: lambda: max(a, b),
        tir.EQ: lambda: int(a == b),
        tir.NE: lambda: int(a != b),
        tir.LT: lambda: int(a < b),
        tir.LE: lambda: int(a <= b),
        tir.GT: lambda: int(a > b),
        tir.GE: lambda: int(a >= b),
    }
    return table[kind]()


@dataclass(frozen=True)
class Domain:
    """Variables with the integers that each may take."""

    values: Mapping[Var, range]

    def assignments(self) -> Iterator[dict[Var, int]]:
        """Every combination of values."""
        for point in product(*self.values.values()):
            yield dict(zip(self.values, point, strict=True))


@st.composite
def domains(draw: st.DrawFn, names: Sequence[str] = ("x", "y", "z"), dtype: str = "int32") -> Domain:
    """Small ranges for a few variables."""
    values = {}
    for name in names:
        low = draw(st.integers(-9, 9))
        values[Var(name, DType(dtype))] = range(low, low + draw(st.integers(1, 9)))
    return Domain(values)


_NONZERO = st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, -1, -2, -3, -8])
_CONSTANTS = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 24, -1, -2, -3, -4, -7, -8, -16])


def integers(variables: Sequence[Var], dtype: str = "int32", depth: int = 3) -> st.SearchStrategy[Expr]:
    """Integer expressions over ``variables``; divisors are constants, so that they always have a value."""
    kind = DType(dtype)
    low, high = kind.bounds
    leaf = st.one_of(st.sampled_from(list(variables)), _CONSTANTS.map(lambda v: IntImm(min(max(v, low), high), kind)))
    if depth == 0:
        return leaf
    below = integers(variables, dtype, depth - 1)
    literals = _NONZERO.filter(lambda v: low <= v <= high).map(lambda v: IntImm(v, kind))
    sums = st.builds(lambda k, a, b: k(a, b), st.sampled_from([tir.Add, tir.Sub]), below, below)
    scaled = st.builds(tir.Mul, below, literals)
    products = st.builds(tir.Mul, below, below)
    divisions = st.builds(
        lambda k, a, b: k(a, b),
        st.sampled_from([tir.FloorDiv, tir.FloorMod, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod]),
        below,
        literals,
    )
    extremes = st.builds(lambda k, a, b: k(a, b), st.sampled_from([tir.Min, tir.Max]), below, below)
    choices = st.builds(tir.Select, conditions(variables, dtype, depth - 1), below, below)
    return st.one_of(leaf, sums, sums, scaled, scaled, divisions, divisions, extremes, products, choices)


def conditions(variables: Sequence[Var], dtype: str = "int32", depth: int = 2) -> st.SearchStrategy[Expr]:
    """Conditions over ``variables``."""
    below = integers(variables, dtype, max(depth - 1, 0))
    kinds = [tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE]
    comparison = st.builds(lambda k, a, b: k(a, b), st.sampled_from(kinds), below, below)
    if depth <= 0:
        return comparison
    part = conditions(variables, dtype, depth - 1)
    connected = st.builds(lambda k, a, b: k(a, b), st.sampled_from([tir.And, tir.Or]), part, part)
    return st.one_of(comparison, connected, st.builds(tir.Not, part))
