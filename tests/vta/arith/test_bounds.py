"""Symbolic intervals as bound inference uses them. (That they contain every value: test_interval_properties.py.)"""

import pytest

from vta.arith.bounds import Interval, eval_interval
from vta.arith.const_interval import ConstInterval
from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.buffer import decl_buffer
from vta.tir.expr import Expr, Range, Var, const

i, j, o, n, m = (Var(name) for name in "ijonm")
A, B = decl_buffer((8,), "int8", "A"), decl_buffer((8,), "int32", "B")
ENV = {i: Interval(const(0), const(6)), j: Interval(o * 4, o * 4 + 3)}


def shown(interval: Interval) -> str:
    return f"[{interval.min}, {interval.max}]"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (o, "[o, o]"),
        (const(3), "[3, 3]"),
        (i + o * 7, "[(o*7), ((o*7) + 6)]"),
        (o * 7 - i, "[((o*7) - 6), (o*7)]"),
        (j, "[(o*4), ((o*4) + 3)]"),
        (j - o * 4, "[0, 3]"),
        (j // 4, "[o, o]"),
        (j % 4, "[0, 3]"),
        (j // 2, "[(o*2), ((o*2) + 1)]"),
        (i % 4, "[0, 3]"),
        (i % 8, "[0, 6]"),
        (i * 3 // 2, "[0, 9]"),
        (i // -1, "[-6, 0]"),
        (ops.truncdiv(i - 8, 3), "[-2, 0]"),
        (ops.truncmod(i - 8, 3), "[-2, 2]"),
        (ops.truncmod(i, 4), "[0, 3]"),
        (i * n, "[None, None]"),
        (i * -2, "[-12, 0]"),
        (i * i, "[None, None]"),
        (ops.min(i, o), "[min(o, 0), min(o, 6)]"),
        (ops.max(j, 3), "[max((o*4), 3), max(((o*4) + 3), 3)]"),
        (ops.select(o < 3, i, j), "[min((o*4), 0), max(((o*4) + 3), 6)]"),
        (ops.if_then_else(o < 3, o, n), "[@tir.if_then_else((o < 3), o, n, dtype=int32), "
         "@tir.if_then_else((o < 3), o, n, dtype=int32)]"),
        (i.astype("int64") + 1, "[1i64, 7i64]"),
        (o.astype("int64") + 1, "[(cast(int64, o) + 1i64), (cast(int64, o) + 1i64)]"),
        (A.load(i).astype("int32"), "[-128, 127]"),
        (A.load(o).astype("int32"), "[cast(int32, A[o]), cast(int32, A[o])]"),
        (B.load(i), "[-2147483648, 2147483647]"),
        (B.load(i) * 2, "[None, None]"),
        (B.load(i) + 1, "[None, None]"),
        (B.load(i) - 1, "[None, None]"),
        (B.load(i) * -1, "[None, None]"),
        (ops.max(ops.min(B.load(i) * 2, 6), 0), "[0, 6]"),
        (i // n, "[None, None]"),
        (i % n, "[None, None]"),
    ],
)  # fmt: skip
def test_bounds_keep_the_outer_variables(expr: Expr, expected: str) -> None:
    assert shown(eval_interval(expr, ENV)) == expected


def test_what_the_analyser_knows_sharpens_the_bounds() -> None:
    analyzer = Analyzer({n: ConstInterval(1, None), o: ConstInterval(0, 1)})
    assert shown(eval_interval(i * n, ENV, analyzer)) == "[0, (n*6)]"
    assert shown(eval_interval(i % n, ENV, analyzer)) == "[0, (n - 1)]"
    assert (
        shown(eval_interval((i + n) // n, {i: Interval(const(0), n - 1)}, analyzer)) == "[1, floordiv(((n*2) - 1), n)]"
    )
    assert shown(eval_interval(ops.max(1 - o * 7 - i, 0), ENV, analyzer)) == "[0, max((1 - (o*7)), 0)]"


def test_a_missing_bound_stays_missing() -> None:
    env = {i: Interval(const(0), None), j: Interval(None, n)}
    assert shown(eval_interval(i + 1, env)) == "[1, None]"
    assert shown(eval_interval(i - j, env)) == "[(n*-1), None]"
    assert shown(eval_interval(i + j, env)) == "[None, None]"
    assert shown(eval_interval(i * 2, env)) == "[0, None]"
    assert shown(eval_interval(j // 2, env)) == "[None, floordiv(n, 2)]"
    assert shown(eval_interval(i % 4, env)) == "[0, 3]"
    assert shown(eval_interval(j.astype("int64"), env)) == "[None, cast(int64, n)]"


def test_the_interval_of_a_range_has_its_last_member() -> None:
    assert shown(Interval.of_range(Range(const(2), const(5)))) == "[2, 6]"
    assert Interval.point(n).is_point
    assert not Interval(const(0), const(0)).is_point
