"""Linear forms and clip bounds: the facts that upstream's own tests pin down, and what goes further."""

import pytest

from vta.arith.const_interval import ConstInterval
from vta.arith.linear import detect_clip_bound, detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.buffer import decl_buffer
from vta.tir.expr import Expr, ExprLike, Not, Var, convert

a, b, c = (Var(name) for name in "abc")
v = [Var(f"v{number}") for number in range(4)]
A = decl_buffer((8,), "int32", "A")


def linear(expr: ExprLike, variables: list[Var]) -> list[str] | None:
    form = detect_linear_equation(convert(expr), variables)
    return None if form is None else [str(e) for e in form]


def clip(condition: Expr, variables: list[Var]) -> list[tuple[str, str]] | None:
    bounds = detect_clip_bound(condition, variables)
    return None if bounds is None else [(str(low), str(high)) for low, high in bounds]


@pytest.mark.parametrize(
    ("expr", "variables", "expected"),
    [
        (a * 4 + b * 6 + 7, [a], ["4", "((b*6) + 7)"]),
        (a * 4 * (a + 1) + b * 6 + 7, [a], None),
        (a * 4 + (a + 1) + b * 6 + 7, [a], ["5", "((b*6) + 8)"]),
        (a * b + 7, [a], ["b", "7"]),
        (b * 7, [a], ["0", "(b*7)"]),
        (b * 7, [], ["(b*7)"]),
        (((v[0] * b + v[1]) * 8 + v[2] + 1) * 2, v, ["(b*16)", "16", "2", "0", "2"]),
        (v[0] - v[1], v, ["1", "-1", "0", "0", "0"]),
        (v[0] * v[1], v, None),
        (A.load(a), [a], None),
        (ops.max(a, 3), [a], None),
        (ops.max(b, 3) + a, [a], ["1", "max(b, 3)"]),
        (b - a * 2, [a], ["-2", "b"]),
        ((a * 8 + 3) // 4, [a], ["2", "0"]),
        (a // 4, [a], None),
        ((a + b) - b, [a], ["1", "0"]),
        (a.astype("int64") * 3 + 1, [a], ["3i64", "1i64"]),
        (a.astype("int8"), [a], None),
        ((a * b) * 2 + A.load(b), [a], ["(b*2)", "A[b]"]),
        (a * A.load(b), [a], ["A[b]", "0"]),
    ],
)
def test_linear_equations_are_detected(expr: Expr, variables: list[Var], expected: list[str] | None) -> None:
    assert linear(expr, variables) == expected


@pytest.mark.parametrize(
    ("condition", "variables", "expected"),
    [
        (ops.all(a < 6 * b, a - 1 > 0), [a], [("2", "((b*6) - 1)")]),
        (ops.all(a < 6 * b, a - 1 > 0), [a, b], None),
        (ops.all(a + 10 * c <= 20, b - 1 > 0), [a, b], [("None", "(20 - (c*10))"), ("2", "None")]),
        (ops.all((a == b).asexpr(), b > 2), [a], None),
        (ops.all((a + 1 == c).asexpr()), [a], [("(c - 1)", "(c - 1)")]),
        (ops.all((3 - a == c).asexpr()), [a], [("(3 - c)", "(3 - c)")]),
        (ops.all((a * 2 == c).asexpr()), [a], None),
        (ops.all(a >= 1, a < 15, a < 9), [a], [("1", "8")]),
        (ops.all(a >= 1, a >= c), [a], [("max(c, 1)", "None")]),
        (ops.all(a * 3 >= 4, a * 3 <= 10), [a], [("2", "3")]),
        (ops.all(-2 * a >= c), [a], [("None", "floordiv((c*-1), 2)")]),
        (ops.all(a < 7, a >= 2), [a], [("2", "6")]),
        (ops.likely(ops.all(a >= 1, b < 3)), [a, b], [("1", "None"), ("None", "2")]),
        (convert(True), [a], [("None", "None")]),
        (convert(False), [a], None),
        (c > 2, [a], None),
        (ops.any(a > 2, a < 1), [a], None),
        ((a != 2).asexpr(), [a], None),
        (a * a < 4, [a], None),
        (a * c < 4, [a], None),
        (a - a < c, [a], None),
        (a.astype("float32") < 4.0, [a], None),
        (a.astype("int8") + 1 < 4, [a], None),
    ],
)
def test_clip_bounds_are_detected(condition: Expr, variables: list[Var], expected: object) -> None:
    assert clip(condition, variables) == expected


def test_the_analyser_decides_between_bounds() -> None:
    analyzer = Analyzer({c: ConstInterval(0, 1)})
    bounds = detect_clip_bound(ops.all(a >= 1 - c * 7, a >= -7), [a], analyzer)
    assert bounds is not None
    assert str(bounds[0][0]) == "(1 - (c*7))"


def test_the_opposite_of_a_comparison_is_one() -> None:
    assert clip(ops.all(Not(a > b * 6), a - 1 > 0), [a]) == clip(ops.all(a <= b * 6, a - 1 > 0), [a])
