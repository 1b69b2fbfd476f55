"""Constant bounds of each kind of expression. (That they contain every value: test_simplify_properties.py.)"""

import pytest
from hypothesis import given, settings

from tests.support.compiler.tir_eval import SMALL, Domain, X, Y, Z, domains, evaluate, integers
from vta.arith.const_bounds import const_bounds
from vta.arith.const_interval import EVERYTHING, ConstInterval
from vta.tir import expr as tir
from vta.tir import ops
from vta.tir.buffer import decl_buffer
from vta.tir.dtype import BOOL, FLOAT32, INT8, DType
from vta.tir.expr import Expr, FloatImm, StringImm, Var, const

i, n, s, flag = Var("i"), Var("n"), Var("s", INT8), Var("flag", BOOL)
A, B = decl_buffer((8,), "int8", "A"), decl_buffer((8,), "int32", "B")
ENV = {i: ConstInterval(2, 9)}
INT32_RANGE = ConstInterval(-(2**31), 2**31 - 1)


def between(lo: int | None, hi: int | None) -> ConstInterval:
    return ConstInterval(lo, hi)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (i, between(2, 9)),
        (n, EVERYTHING),
        (s, between(-128, 127)),
        (i * 3 + 1, between(7, 28)),
        (4 - i, between(-5, 2)),
        (i * n, EVERYTHING),
        (i // 4, between(0, 2)),
        (n % 8, between(0, 7)),
        (ops.truncdiv(4 - i, 2), between(-2, 1)),
        (ops.truncmod(4 - i, 3), between(-2, 2)),
        (ops.min(i, n), between(None, 9)),
        (ops.max(i, n), between(2, None)),
        (i < 10, between(1, 1)),
        (i < 2, between(0, 0)),
        (i < 5, between(0, 1)),
        (i <= 9, between(1, 1)),
        (i > 9, between(0, 0)),
        (i >= 2, between(1, 1)),
        ((i == 20).asexpr(), between(0, 0)),
        ((i != 20).asexpr(), between(1, 1)),
        ((i - i == 0).asexpr(), between(0, 1)),
        (ops.all(i < 10, i > 1), between(1, 1)),
        (ops.all(i < 10, flag), between(0, 1)),
        (ops.any(i < 10, flag), between(1, 1)),
        (~(i < 10), between(0, 0)),
        (FloatImm(1.0) < FloatImm(2.0), between(0, 1)),
        (ops.select(i < 5, i, 20), between(2, 20)),
        (ops.select(i < 10, i, 20), between(2, 9)),
        (ops.if_then_else(i < 2, 5, 7), between(7, 7)),
        (ops.likely(i < 10), between(1, 1)),
        (i.astype("int64") * 2, between(4, 18)),
        (i.astype("int8"), between(2, 9)),
        ((i * 100).astype("int8"), between(-128, 127)),
        (Var("f", FLOAT32).astype("int8"), between(-128, 127)),
        (flag.astype("int32"), between(0, 1)),
        (A.load(i), between(-128, 127)),
        (B.load(i), INT32_RANGE),
        (A.load(i).astype("int32") * 2, between(-256, 254)),
        (B.load(i) + 1, INT32_RANGE),
        (B.load(i) - B.load(i), INT32_RANGE),
        (s + 1, between(-128, 127)),
        (B.load(i) >> 8, between(-(2**23), 2**23 - 1)),
        (A.load(i).astype("int32") << 2, between(-512, 508)),
        (B.load(i) << 2, INT32_RANGE),
        (B.load(i) & 15, between(0, 15)),
        (B.load(i) | 15, INT32_RANGE),
        (tir.Let(n, i * 2, n + 1), between(5, 19)),
        (tir.Ramp(i, const(2), 4), between(2, 15)),
        (tir.Broadcast(i, 4), between(2, 9)),
        (StringImm("text"), EVERYTHING),
        (Var("f", FLOAT32) + 1.0, EVERYTHING),
        (Var("u", DType("uint8")) - 1, between(0, 255)),
    ],
)
def test_bounds_follow_from_the_variables(expr: Expr, expected: ConstInterval) -> None:
    assert const_bounds(tir.convert(expr), ENV) == expected


def test_a_value_is_never_outside_its_type() -> None:
    assert const_bounds(s, {s: ConstInterval(-1000, 5)}) == between(-128, 5)


@settings(max_examples=150, deadline=None)
@given(domains((X, Y, Z)), integers((X, Y, Z)))
def test_unsimplified_expressions_stay_within_their_bounds(domain: Domain, expr: Expr) -> None:
    bounds = const_bounds(expr, {v: ConstInterval(r[0], r[-1]) for v, r in domain.values.items()})
    values = evaluate(expr, domain.points())
    assert values.min() in bounds
    assert values.max() in bounds


@settings(max_examples=150, deadline=None)
@given(domains(SMALL), integers(SMALL))
def test_wrapping_values_stay_within_their_bounds(domain: Domain, expr: Expr) -> None:
    bounds = const_bounds(expr, {v: ConstInterval(r[0], r[-1]) for v, r in domain.values.items()})
    values = evaluate(expr, domain.points())
    assert values.min() in bounds
    assert values.max() in bounds


def test_a_bitwise_and_and_a_shift_by_a_variable_are_bounded() -> None:
    x, y, z = Var("x"), Var("y"), Var("z")
    env = {x: ConstInterval(-9, 11), y: ConstInterval(2, 10), z: ConstInterval(3, 40)}
    assert const_bounds(x & y, env) == ConstInterval(0, 10)
    assert const_bounds(y & z, env) == ConstInterval(0, 10)
    assert const_bounds(x >> y, env) == ConstInterval(-3, 2)
    assert const_bounds(x >> z, env) == ConstInterval(-(1 << 31), (1 << 31) - 1), "by 40, which has no meaning"
    for a in range(-9, 12):
        for b in range(2, 11):
            assert 0 <= a & b <= 10
            assert -3 <= a >> b <= 2
