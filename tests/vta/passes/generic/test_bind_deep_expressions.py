"""Deep expressions in parts."""

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.te_run import compiled_outputs
from tests.support.compiler.tir_build import buffer, function, loop, pragma, store
from vta import te
from vta.passes.generic import bind_deep_expressions as module
from vta.passes.generic.bind_deep_expressions import DEPTH, ExpressionSizeError, bind_deep_expressions
from vta.tir.expr import (
    Add,
    BufferLoad,
    Builtin,
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Mod,
    StringImm,
    Var,
    const,
    same,
)
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import BufferStore, LetStmt, Stmt
from vta.tir.traverse import expr_children, substitute, walk
from vta.tir.verify import verify

A, B = buffer("A", [4096]), buffer("B", [64])


def bound(stmt: Stmt) -> PrimFunc:
    return verify(bind_deep_expressions(function(stmt, A, B), VTAConfig()))


def depth(expr: Expr) -> int:
    return 1 + max(map(depth, expr_children(expr)), default=0)


def total(terms: int) -> Expr:
    value: Expr = A.load(0)
    for number in range(1, terms):
        value = Add(value, A.load(number))
    return value


def unfolded(stmt: Stmt) -> Expr:
    """The value that is stored, with the parts in it."""
    if isinstance(stmt, LetStmt):
        return substitute(unfolded(stmt.body), {stmt.var: stmt.value})
    assert isinstance(stmt, BufferStore)
    return stmt.value


def test_an_expression_of_the_limit_stays_and_one_beyond_is_cut() -> None:
    body = store(B, total(DEPTH), 0)
    assert bound(body).body is body
    body = bound(store(B, total(DEPTH + 1), 0)).body
    assert isinstance(body, LetStmt)
    assert isinstance(body.body, BufferStore)


def test_parts_are_shallow_and_make_the_expression_again() -> None:
    func = bound(store(B, total(1000), 0))
    assert same(unfolded(func.body), total(1000))
    assert max(depth(node) for node in walk(func.body) if isinstance(node, Add)) <= DEPTH + 2


def test_what_stands_in_many_places_is_computed_once() -> None:
    value: Expr = A.load(1)
    for _ in range(31):
        value = value + value
    func = bound(store(B, value, 0))
    assert sum(isinstance(node, LetStmt) for node in walk(func.body)) == 31
    data, result = np.full(4096, 3, np.int32), np.zeros(64, np.int32)
    run_func(func, [data, result])
    assert result[0] == -(2**31)  # 3 * 2**31 in 32 bits


def test_a_part_of_a_branch_stays_in_it() -> None:
    i = Var("i")
    deep = total(200) + A.load(i * 4096)  # beyond the end for i of 1
    value = Call(A.dtype, Builtin.IF_THEN_ELSE, (i < 1, deep, const(7)))
    func = bound(loop(i, 2, store(B, value, i)))
    [kept] = [n for n in walk(func.body) if isinstance(n, Call) and n.op is Builtin.IF_THEN_ELSE]
    assert isinstance(kept.args[1], Let)
    assert not any(isinstance(node, LetStmt) for node in walk(func.body))
    data, result = np.arange(4096, dtype=np.int32), np.zeros(64, np.int32)
    run_func(func, [data, result])
    assert result[:2].tolist() == [sum(range(200)), 7]


def test_what_both_branches_begin_with_is_computed_before_them() -> None:
    value: Expr = A.load(0)
    for number in range(100):
        condition = A.load(number) > 2
        value = Call(A.dtype, Builtin.IF_THEN_ELSE, (condition, value + 1, value * 2))
    func = bound(store(B, value, 0))
    data, result = np.arange(4096, dtype=np.int32) % 5, np.zeros(64, np.int32)
    expected = np.int32(data[0])
    with np.errstate(over="ignore"):
        for number in range(100):
            expected = np.int32(expected + 1 if data[number] > 2 else expected * np.int32(2))
    run_func(func, [data, result])
    assert result[0] == expected


def test_what_stays_too_large_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 2000)
    monkeypatch.setattr(module, "_NEAR", 1)
    value: Expr = A.load(0)
    for number in range(40):
        value = Call(A.dtype, Builtin.IF_THEN_ELSE, (A.load(number) > 2, value + 1, value * 2))
    with pytest.raises(ExpressionSizeError) as raised:
        bound(store(B, value, 0))
    assert str(raised.value) == (
        "the function: an expression: expected at most 2000 operations, got more, because it has the same parts in the "
        "branches of conditions inside of each other; make a stage of each part, whose values are then stored"
    )


@pytest.mark.parametrize("name", ["alu", "dma_copy", "skip_alu", "conv2d_transpose_gemm"])
def test_the_accelerators_expressions_stay(name: str) -> None:
    body = pragma(name, store(B, total(100), 0))
    assert bound(body).body is body


def test_calls_that_do_something_stay() -> None:
    value = total(100) + Call(A.dtype, Builtin.CALL_EXTERN, (StringImm("f"),))
    body = store(B, value, 0)
    assert bound(body).body is body


def test_floating_point_sums_are_computed_in_their_order() -> None:
    data = te.placeholder((300,), "float32", "data")

    def mixed(i: Var) -> Expr:
        value: Expr = data[i].asexpr()
        for number in range(1, 290):
            value = (value - data[i + number]) * te.const(0.75, "float32")
        return value

    result = te.compute((8,), mixed, "result")
    values = np.random.default_rng(3).normal(size=300).astype(np.float32)
    expected = values[:8].copy()
    for number in range(1, 290):
        expected = (expected - values[number : number + 8]) * np.float32(0.75)
    [found] = compiled_outputs(te.create_schedule(result.op), [data, result], values)
    np.testing.assert_array_equal(found, expected)


def test_addresses_are_not_taken_apart() -> None:
    pointer = Call("handle", Builtin.ADDRESS_OF, (BufferLoad(A, (IntImm(1),)),))
    assert module._is_harmless(pointer) is False


def test_an_expression_of_as_many_operations_as_there_may_be_stays() -> None:
    value: Expr = A.load(1)
    for _ in range(11):
        value = value + value
    body = store(B, value, 0)  # 4,095 operations
    assert bound(body).body is body
    assert bound(store(B, value + value, 0)).body is not body


def harmless(terms: int) -> Expr:
    """A sum that may be computed where nobody wants it."""
    value: Expr = Var("n")
    for number in range(1, terms):
        value = Add(value, const(number))
    return value


@pytest.mark.parametrize("place", [1, 2])
def test_a_branch_that_harms_nobody_is_computed_before_the_condition(place: int) -> None:
    for terms, kept in ((200, 0), (DEPTH // 2, None)):
        branches = [const(7), const(8)]
        branches[place - 1] = harmless(terms) if kept == 0 else A.load(0)
        value = Call(A.dtype, Builtin.IF_THEN_ELSE, (A.load(0) > 2, *branches))
        new = bind_deep_expressions(function(store(B, value, 0), A, B), VTAConfig()).body
        assert isinstance(new, LetStmt) is (kept == 0)
        assert not any(isinstance(node, Let) for node in walk(new))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (FloorDiv(Var("n"), const(1)), True),
        (FloorDiv(Var("n"), const(0)), False),
        (FloorMod(Var("n"), const(3)), True),
        (Div(Var("n"), Var("m")), False),
        (Mod(Var("n"), const(0)), False),
        (Div(const(1.0, "float32"), const(0.0, "float32")), True),
        (Add(Var("n"), const(1)), True),
        (A.load(0), False),
        (Call(A.dtype, Builtin.CALL_EXTERN, (StringImm("f"),)), False),
    ],
)
def test_what_could_fail_or_do_something_is_not_harmless(node: Expr, expected: bool) -> None:
    assert module._is_harmless(node) is expected
