"""Where zeros are stored first."""

import pytest

from vta.te.hybrid.scopes import filled, needs_zeros, place
from vta.tir.dtype import DType
from vta.tir.expr import ProducerLoad, Var, const
from vta.tir.stmt import Evaluate, For, IfThenElse, ProducerStore, Stmt, seq

T = place("t", (const(4), const(1)), DType("int32"))
I, J = Var("i"), Var("j")  # noqa: E741
STORE = ProducerStore(T, const(1), (I, const(0)))


def loop(body: Stmt, var: Var = I, begin: int = 0, extent: int = 4) -> For:
    return For(var, const(begin), const(extent), body)


@pytest.mark.parametrize(
    ("stmts", "needed"),
    [
        ([loop(STORE)], False), ([loop(loop(STORE, J, 3, 2))], False), ([filled(T)], False),
        ([loop(loop(STORE, J, 0, 0))], True), ([loop(STORE, extent=3)], True), ([loop(STORE, begin=1)], True),
        ([loop(IfThenElse(I < 4, STORE))], True), ([Evaluate(ProducerLoad(T, (I, const(0)))), loop(STORE)], True),
        ([loop(ProducerStore(T, const(1), (I + 1, const(0))))], True), ([STORE], True),
        ([loop(seq([Evaluate(I), STORE]))], False),
    ],
)  # fmt: skip
def test_zeros_are_needed_unless_everything_is_stored_first(stmts: list[Stmt], needed: bool) -> None:
    assert needs_zeros(T, stmts, is_output=False) is needed


def test_an_output_that_nobody_stores_is_zero() -> None:
    assert needs_zeros(T, [], is_output=True)
    assert not needs_zeros(T, [], is_output=False)
