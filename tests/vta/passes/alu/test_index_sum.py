"""Indices read from the longest stride to the shortest."""

import pytest

from vta.arith.simplify import Analyzer
from vta.passes.index_sum import index_sum
from vta.tir.dtype import INT32
from vta.tir.expr import Expr, IntImm, Range, Var
from vta.tir.printer import to_text

I0, J0, O0 = (Var(name, INT32) for name in "ijo")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (I0 * 16 + O0 * 256 + J0, "(((o*256) + (i*16)) + j)"),
        ((I0 + O0 * 16) * 16 + J0 - 240, "((((o*256) + (i*16)) + j) - 240)"),
        (5 + I0, "(i + 5)"),
        (I0 + J0, "(i + j)"),
        (J0 + I0, "(j + i)"),
        (I0 - J0 * 3, "(i - (j*3))"),
        (J0 * 16 + I0 * 16, "((j*16) + (i*16))"),
        (I0 * 4, "(i*4)"),
        (I0 - I0, "0"),
        (IntImm(3), "3"),
    ],
)
def test_terms_are_ordered_by_their_factors(expr: Expr, text: str) -> None:
    assert to_text(index_sum(expr, Analyzer())) == text


def test_what_is_known_about_variables_is_used() -> None:
    analyzer = Analyzer()
    analyzer.bind(J0, Range(IntImm(0), IntImm(16)))
    assert to_text(index_sum((I0 * 16 + J0) // 16, analyzer)) == "i"
