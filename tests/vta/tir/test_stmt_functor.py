"""Visitors and rewriting under TVM's names."""

import pytest

from vta.tir import stmt_functor
from vta.tir.buffer import decl_buffer
from vta.tir.calls import call_extern
from vta.tir.expr import Add, Call, Expr, IntImm, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import BufferStore, Evaluate, For, SeqStmt, Stmt
from vta.tir.stmt_functor import VisitError, ir_transform
from vta.tir.traverse import TirNode

i, n = Var("i"), Var("n")
A = decl_buffer((8,), "int32", "A")
STORE = BufferStore(A, A.load(i) + n, (i,))
LOOP = For(i, const(0), n, STORE)


def names(nodes: list[TirNode]) -> list[str]:
    return [node.name if isinstance(node, Var) else type(node).__name__ for node in nodes]


def test_post_order_comes_to_children_first_and_to_shared_nodes_once() -> None:
    seen: list[TirNode] = []
    stmt_functor.post_order_visit(LOOP, seen.append)
    assert names(seen) == ["IntImm", "n", "i", "BufferLoad", "Add", "BufferStore", "For"]


def test_pre_order_goes_no_further_where_it_is_told_so() -> None:
    seen: list[TirNode] = []

    def visit(node: TirNode) -> bool:
        seen.append(node)
        return not isinstance(node, BufferStore)

    stmt_functor.pre_order_visit(PrimFunc("main", (n,), LOOP), visit)
    assert names(seen) == ["For", "IntImm", "n", "BufferStore"]


def test_a_deep_program_is_visited() -> None:
    deep: Expr = i
    for _ in range(20000):
        deep = Add(deep, n)
    count: list[TirNode] = []
    stmt_functor.post_order_visit(Evaluate(deep), count.append)
    assert len(count) == 20003


def test_transform_replaces_before_or_after_the_children() -> None:
    def before(node: TirNode) -> TirNode | None:
        return const(7) if node is n else None

    def after(node: TirNode) -> TirNode | None:
        return Evaluate(const(3)) if isinstance(node, BufferStore) and isinstance(node.value, Add) else None

    result = stmt_functor.ir_transform(LOOP, before, after)
    assert isinstance(result, For)
    assert str(result.extent) == "7"
    assert result.body == Evaluate(const(3))


def test_what_preorder_returns_is_not_looked_at_again() -> None:
    inner = Evaluate(n)
    result = stmt_functor.ir_transform(
        LOOP,
        lambda node: inner if isinstance(node, BufferStore) else None,
        lambda node: IntImm(1) if node is n else None,
    )
    assert isinstance(result, For)
    assert result.body is inner
    assert str(result.extent) == "1"


def test_only_the_kinds_that_are_enabled_are_offered() -> None:
    offered: list[TirNode] = []
    result = stmt_functor.ir_transform(LOOP, lambda node: offered.append(node), None, ["tir.Add", "tir.For"])
    assert result is LOOP
    assert names(offered) == ["For", "Add"]


def test_substitute_takes_numbers_for_variables() -> None:
    store = stmt_functor.substitute(STORE, {n: 5})
    assert isinstance(store, BufferStore)
    assert str(store.value) == "(A[i] + 5)"
    wide = Var("w", "int64")
    assert stmt_functor.substitute(wide + 1, {wide: 3}).a.dtype == "int64"  # type: ignore[union-attr]


def test_what_cannot_stand_there_is_refused() -> None:
    with pytest.raises(VisitError) as error:
        stmt_functor.ir_transform(LOOP, lambda node: Evaluate(const(0)) if node is n else None, None)
    assert str(error.value) == "ir_transform: Evaluate cannot stand for Var"
    with pytest.raises(VisitError) as error:
        stmt_functor.ir_transform(n, None, None)  # type: ignore[arg-type]
    assert str(error.value) == "ir_transform takes a statement, not Var"
    for visit in (stmt_functor.post_order_visit, stmt_functor.pre_order_visit):
        with pytest.raises(VisitError) as error:
            visit([1], lambda _: True)  # type: ignore[arg-type]
        assert str(error.value) == f"{visit.__name__} takes a statement or an expression, not list"


def stmt_of(body: Stmt) -> PrimFunc:
    return PrimFunc("main", (), body)


def test_a_functions_body_is_what_is_visited() -> None:
    seen: list[TirNode] = []
    stmt_functor.post_order_visit(stmt_of(Evaluate(const(1))), seen.append)
    assert names(seen) == ["IntImm", "Evaluate"]


def test_a_statement_that_does_nothing_now_keeps_its_place() -> None:
    body = SeqStmt((Evaluate(call_extern("int32", "f")), Evaluate(call_extern("int32", "g"))))

    def constant(node: TirNode) -> TirNode | None:
        return const(0) if isinstance(node, Call) and node.args[0] == "g" else None

    changed = ir_transform(body, constant, None, ["tir.Call"])
    assert isinstance(changed, SeqStmt)
    assert [str(stmt.value) for stmt in changed.stmts if isinstance(stmt, Evaluate)][1] == "0"
    assert ir_transform(body, lambda _: None, None) is body
