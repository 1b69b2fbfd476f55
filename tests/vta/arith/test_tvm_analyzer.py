"""The analyser under TVM's names."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.compiler.tir_eval import Domain, X, Y, Z, domains, evaluate, integers
from vta.arith.modular import ModularSet
from vta.arith.tvm_analyzer import (
    AnalyzerError,
    ConstIntBound,
    TvmAnalyzer,
    detect_clip_bound,
    detect_linear_equation,
)
from vta.tir import ops
from vta.tir.dtype import DType
from vta.tir.expr import Builtin, Call, Expr, Range, Var, const

x, y = Var("x"), Var("y")


@settings(max_examples=120, deadline=None)
@given(domains((X, Y, Z)), integers((X, Y, Z)))
def test_bounds_residues_and_simplified_forms_hold_for_every_value(domain: Domain, expr: Expr) -> None:
    analyzer = TvmAnalyzer()
    for var, values in domain.values.items():
        analyzer.update(var, ConstIntBound(int(values[0]), int(values[-1])))
    results = evaluate(expr, domain.points())
    bound = analyzer.const_int_bound(expr)
    assert bound.min_value <= np.min(results)
    assert bound.max_value >= np.max(results)
    assert all(int(value) in analyzer.modular_set(expr) for value in np.unique(results))
    for simplified in (analyzer.rewrite_simplify(expr), analyzer.canonical_simplify(expr)):
        assert np.array_equal(np.broadcast_to(evaluate(simplified, domain.points()), np.shape(results)), results)


def test_bounds_without_end_have_names() -> None:
    analyzer = TvmAnalyzer()
    assert analyzer.const_int_bound(x) == ConstIntBound(ConstIntBound.NEG_INF, ConstIntBound.POS_INF)
    analyzer.update(x, ConstIntBound(0, ConstIntBound.POS_INF))
    assert analyzer.const_int_bound(x + 3) == ConstIntBound(3, ConstIntBound.POS_INF)
    analyzer.update(x, ConstIntBound(-5, 9))
    assert analyzer.const_int_bound(x) == ConstIntBound(0, 9)
    analyzer.update(x, ConstIntBound(-5, 9), override=True)
    assert analyzer.const_int_bound(x) == ConstIntBound(-5, 9)


def test_values_and_ranges_are_bound() -> None:
    analyzer = TvmAnalyzer()
    analyzer.bind(x, y * 6 + 2)
    assert analyzer.modular_set(x + 1) == ModularSet(6, 3)
    assert str(analyzer.simplify(x - 2)) == "(y*6)"
    analyzer.bind(x, Range(const(0), const(4)))
    assert analyzer.modular_set(x) == ModularSet(1, 0)
    assert analyzer.const_int_bound(x * 2) == ConstIntBound(0, 6)


def test_a_constraint_holds_inside_its_scope_alone() -> None:
    analyzer = TvmAnalyzer()
    with analyzer.constraint_scope(ops.all((x % 4 == 1), x < 10, x >= 0)):
        assert analyzer.modular_set(x + 1) == ModularSet(4, 2)
        assert analyzer.const_int_bound(x) == ConstIntBound(0, 9)
        with analyzer.constraint_scope((x % 3 == 0).asexpr()):
            assert analyzer.modular_set(x) == ModularSet(12, 9)
        assert str(analyzer.simplify(x < 20)) == "True"
    assert analyzer.modular_set(x) == ModularSet(1, 0)
    assert str(analyzer.simplify(x < 20)) == "(x < 20)"
    assert analyzer.can_prove_equal(x + x, x * 2)


def test_residues_are_told() -> None:
    analyzer = TvmAnalyzer()
    analyzer.update(x, ModularSet(4, 1))
    analyzer.update(x, ModularSet(6, 3))
    assert analyzer.modular_set(x) == ModularSet(12, 9)
    with pytest.raises(AnalyzerError) as error:
        analyzer.update(x, 3)  # type: ignore[arg-type]
    assert str(error.value) == "update of 'x': expected a ConstIntBound or a ModularSet, got 3"


def test_linear_forms_and_clip_bounds_are_lists() -> None:
    assert [str(c) for c in detect_linear_equation(x * 3 + y - 2, [x])] == ["3", "(y - 2)"]
    assert detect_linear_equation(x * x, [x]) == []
    assert [str(end) for end in detect_clip_bound(ops.all(x < y, x >= 2), [x])] == ["2", "(y - 1)"]
    assert detect_clip_bound(x * x < y, [x]) == []


def test_coefficients_of_unsigned_numbers_are_signed() -> None:
    c = Var("c", "uint32")
    coefficient, base = detect_linear_equation(const(128, "uint32") - c, [c])
    assert (str(coefficient), str(base)) == ("-1", "128u32")


def test_both_sides_of_an_extreme_are_bounded() -> None:
    assert list(map(str, detect_clip_bound(ops.all(ops.min(x, y) > 3, x < 10), [x, y]))) == ["4", "9", "4", "None"]
    assert list(map(str, detect_clip_bound(ops.max(x, y) <= 7, [x, y]))) == ["None", "7", "None", "7"]


def test_remainders_of_both_kinds_are_residues() -> None:
    analyzer = TvmAnalyzer()
    with analyzer.constraint_scope(ops.truncmod(x, 12) == 1), analyzer.constraint_scope(x % 5 == 3):
        assert analyzer.modular_set(x) == ModularSet(60, 13)


def test_divisions_keep_how_they_round() -> None:
    analyzer = TvmAnalyzer({x: Range(const(0), const(1000)), y: Range(const(0), const(1000))})
    for expr, text in (
        (ops.truncdiv(ops.truncdiv(x, 2) + 1, 3), "((x + 2) / 6)"),
        (ops.truncmod(x * 10 + y, 2), "(y % 2)"),
        (ops.truncdiv(x * 4 + y, 2), "((x*2) + (y / 2))"),
        ((x * 4 + y) // 2, "((x*2) + floordiv(y, 2))"),
        (ops.truncdiv(x, 4) + y // 4, "(floordiv(x, 4) + floordiv(y, 4))"),
    ):
        assert str(analyzer.simplify(expr)) == text


def test_quotients_and_remainders_make_a_whole() -> None:
    analyzer = TvmAnalyzer()
    for expr in (
        ops.truncdiv(x, 8) * 8 + ops.truncmod(x, 8), ops.truncmod(x, y) + y * ops.truncdiv(x, y),
        (x // y) * y + x % y, x % y + y * (x // y),
    ):  # fmt: skip
        assert str(analyzer.simplify(expr)) == "x"
    assert str(analyzer.simplify(ops.truncdiv(x, 8) * 24 + ops.truncmod(x, 8) * 3 - y)) == "((x*3) - y)"
    assert str(analyzer.simplify(ops.truncdiv(x, 8) * 8 + ops.truncmod(y, 8))) == "(((x / 8)*8) + (y % 8))"


def test_bits_of_constants() -> None:
    for op, value in ((Builtin.SHIFT_LEFT, 40), (Builtin.BITWISE_OR, 10), (Builtin.BITWISE_XOR, 8)):
        assert str(TvmAnalyzer().simplify(Call(DType("int32"), op, (const(10), const(2))))) == str(value)
    odd = Call(DType("int32"), Builtin.SHIFT_LEFT, (const(10), const(40)))
    assert TvmAnalyzer().simplify(odd) is odd


def test_negatives_are_differences_and_choices_of_two_conditions_one() -> None:
    analyzer = TvmAnalyzer()
    assert str(analyzer.simplify(x - (x + y))) == "(0 - y)"
    inner = ops.if_then_else(x > y, 1, 0)
    assert str(analyzer.simplify(ops.if_then_else(x < 5, inner, 0))) == (
        "@tir.if_then_else(((x < 5) && (y < x)), 1, 0, dtype=int32)"
    )
    divides = ops.if_then_else(ops.floordiv(8, x) > y, 1, 0)
    kept = analyzer.simplify(ops.if_then_else(x > 5, divides, 0))
    assert "&&" not in str(kept)
