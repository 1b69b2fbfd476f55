"""Walking, rebuilding and substituting: order, identity of what did not change, origins."""

import pytest

from isa.origin import Origin
from vta.tir import expr as tir
from vta.tir import ops
from vta.tir.buffer import decl_buffer
from vta.tir.dtype import BOOL, HANDLE, DType
from vta.tir.expr import Builtin, Call, Expr, ExprError, IntImm, IterKind, IterVar, PointerType, Range, Var, const
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrKey,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from vta.tir.structural import structural_equal
from vta.tir.traverse import (
    children,
    expr_children,
    free_vars,
    map_children,
    map_expr,
    map_stmt,
    substitute,
    uses_var,
    walk,
)

i, j, n, t = Var("i"), Var("j"), Var("n"), Var("t")
A, B = decl_buffer((8, 8), "int32", "A"), decl_buffer((8, 8), "int32", "B")
AXIS = IterVar(Range(const(0), n), Var("k"), IterKind.COMM_REDUCE)
COMBINER = tir.CommReducer((i,), (j,), (i + j,), (const(0),))


class Tensor:
    name, shape, dtype = "T", (const(8),), DType("int32")


EVERY_EXPR: list[tuple[Expr, int]] = [
    (i, 0),
    (const(1), 0),
    (tir.FloatImm(1.0), 0),
    (tir.StringImm("s"), 0),
    (i + j, 2),
    ((i < j), 2),
    (A.load(i, j), 2),
    (tir.ProducerLoad(Tensor(), (i,)), 1),
    (i >> 2, 2),
    (i.astype("int8"), 1),
    (tir.Broadcast(i, 4), 1),
    (tir.Not(i < j), 1),
    (tir.Select(i < j, i, j), 3),
    (tir.Ramp(i, const(1), 4), 2),
    (tir.Let(t, i, t + j), 2),
    (tir.Reduce(COMBINER, (A.load(i, AXIS.var),), (AXIS,), IntImm(1, BOOL)), 4),
]


@pytest.mark.parametrize(("expr", "count"), EVERY_EXPR, ids=[type(e).__name__ for e, _ in EVERY_EXPR])
def test_every_expression_can_be_taken_apart_and_put_together(expr: Expr, count: int) -> None:
    assert len(expr_children(expr)) == count
    assert map_children(lambda e: e, expr) is expr
    assert map_expr(lambda e: e, expr) is expr
    replaced = map_expr(lambda e: t if e is i else e, expr)
    assert (replaced is expr) is (i not in [e for e in walk(expr) if isinstance(e, Var)])
    assert type(replaced) is (Var if expr is i else type(expr))


def everything() -> Stmt:
    """One statement of each kind, each with an origin."""
    memory = Var("m", HANDLE, PointerType(DType("int32")))
    store: Stmt = BufferStore(A, B.load(j, i) + n, (i, j), Origin("store", "a.py:1"))
    body = seq([store, Evaluate(i * n)])
    body = IfThenElse(i < n, body, Evaluate(j.asexpr()), Origin("if", "a.py:2"))
    body = LetStmt(t, i * 2, IfThenElse(t < n, body), Origin("let", "a.py:3"))
    body = AssertStmt(i < n, "text", body, Origin("assert", "a.py:4"))
    body = AttrStmt(IterVar(None, i), "pragma_x", n, For(j, const(0), n, body), Origin("attr", "a.py:5"))
    body = BufferRealize(B, (Range(i, const(1)), Range(const(0), n)), body, n < 9, Origin("realize", "a.py:6"))
    return Allocate(memory, DType("int32"), (n,), For(i, const(0), n, body), n < 9, Origin("allocate", "a.py:7"))


def test_a_walk_visits_parents_first_in_the_order_of_the_text() -> None:
    kinds = [type(node).__name__ for node in walk(BufferStore(A, i + 1, (j, const(2))))]
    assert kinds == ["BufferStore", "Var", "IntImm", "Add", "Var", "IntImm"]
    names = [type(node).__name__ for node in walk(everything()) if isinstance(node, Stmt)]
    assert names == [
        "Allocate", "For", "BufferRealize", "AttrStmt", "For", "AssertStmt", "LetStmt", "IfThenElse", "IfThenElse",
        "SeqStmt", "BufferStore", "Evaluate", "Evaluate",
    ]  # fmt: skip


def test_a_statement_that_does_not_change_comes_back_as_the_same_object() -> None:
    program = everything()
    assert map_stmt(program) is program
    assert map_stmt(program, lambda s: s, lambda e: e) is program
    assert substitute(program, {Var("other"): const(3)}) is program


def test_whole_expressions_are_mapped_in_statements() -> None:
    seen: list[str] = []

    def note(expr: Expr) -> Expr:
        seen.append(str(expr))
        return expr

    map_stmt(everything(), on_expr=note)
    assert seen == [
        "n", "(n < 9)", "0", "n", "i", "1", "0", "n", "(n < 9)", "n", "0", "n", "(i < n)", "(i*2)", "(t < n)",
        "(i < n)", "i", "j", "(B[j, i] + n)", "(i*n)", "j",
    ]  # fmt: skip


def test_origins_survive_a_rebuild() -> None:
    program = everything()
    rebuilt = substitute(program, {n: const(5)})
    assert [getattr(s, "origin", None) for s in walk(rebuilt)] == [getattr(s, "origin", None) for s in walk(program)]
    fresh = map_stmt(program, lambda s: Evaluate(n.asexpr()) if isinstance(s, BufferStore) else s)
    assert next(s.origin for s in walk(fresh) if isinstance(s, Evaluate)) == Origin("store", "a.py:1")


def test_a_changed_sequence_is_flattened_and_loses_no_ops() -> None:
    one, two = Evaluate(i.asexpr()), Evaluate(j.asexpr())
    pair = SeqStmt((one, two), Origin("seq", "a.py:1"))
    doubled = map_stmt(pair, lambda s: seq([s, s]) if s is one else s)
    assert doubled == SeqStmt((one, one, two))
    assert doubled.origin == Origin("seq", "a.py:1")
    assert map_stmt(pair, lambda s: Evaluate(const(0)) if s is one else s) == two


def test_substitution_is_simultaneous_and_folds_nothing() -> None:
    assert str(substitute(i + j * 2, {i: j, j: i})) == "(j + (i*2))"
    assert str(substitute(i + j, {i: const(0)})) == "(0 + j)"


def test_substitution_renames_definitions() -> None:
    program = everything()
    renamed = substitute(program, {v: Var(f"{v.name}_new") for v in (i, j, t)})
    assert structural_equal(renamed, program)
    assert not uses_var(renamed, [i, j, t])
    thread = AttrStmt(IterVar(None, i), AttrKey.VIRTUAL_THREAD, const(2), Evaluate(i.asexpr()))
    new = Var("new")
    assert substitute(thread, {i: new}) == AttrStmt(
        IterVar(None, new), AttrKey.VIRTUAL_THREAD, const(2), Evaluate(new.asexpr())
    ) or structural_equal(substitute(thread, {i: new}), thread)
    kept = substitute(thread, {i: const(1)})
    assert isinstance(kept, AttrStmt)
    assert kept.node is thread.node
    memory, other = (Var(name, HANDLE, PointerType(DType("int32"))) for name in ("m", "other"))
    allocate = AttrStmt(memory, "double_buffer_scope", const(1), Allocate(memory, DType("int32"), (n,), Evaluate(n)))
    assert not uses_var(substitute(allocate, {memory: other}), memory)
    assert str(substitute(tir.Let(t, i, t + 1), {t: j})) == "(let j = i in (j + 1))"


def test_substitution_replaces_buffers_as_wholes() -> None:
    body = AttrStmt((B, A), AttrKey.BUFFER_BIND_SCOPE, const(0), BufferStore(A, B.load(i, j), (i, j)))
    body = AttrStmt(A, "buffer_dim_align", const(1), AttrStmt(None, "pragma_x", const(1), body))
    new = decl_buffer((8, 8), "int32", "new")
    moved = substitute(body, {}, buffers={A: new})
    accessed = [s.buffer for s in walk(moved) if isinstance(s, BufferStore | tir.BufferLoad)]
    assert accessed == [new, B]
    about = [s.node for s in walk(moved) if isinstance(s, AttrStmt)]
    assert about == [new, None, (B, new)]
    realised = BufferRealize(A, (Range(i, const(1)),), Evaluate(const(0)))
    assert substitute(realised, {}, buffers={A: new}).buffer is new


def test_a_replacement_must_have_the_type_of_its_variable() -> None:
    with pytest.raises(ExprError) as caught:
        substitute(i + 1, {i: const(3, "int64")})
    assert str(caught.value) == "variable 'i' is int32; its replacement is int64; cast it first"


@pytest.mark.parametrize(
    "program",
    [
        For(i, const(0), n, Evaluate(i.asexpr())),
        LetStmt(i, n, Evaluate(i.asexpr())),
        tir.Let(i, n, i + 1),
    ],
)
def test_a_definition_cannot_become_a_value(program: Stmt | Expr) -> None:
    with pytest.raises(ExprError) as caught:
        substitute(program, {i: const(3)})
    assert str(caught.value) == "variable 'i' is defined inside; it can be renamed, but not replaced by a value"


def test_free_variables_come_in_the_order_of_first_use_without_definitions() -> None:
    assert [v.name for v in free_vars(j * 2 + i + j)] == ["j", "i"]
    assert [v.name for v in free_vars(everything())] == ["n", "A"]
    assert free_vars(tir.Let(t, i, t + j)) == [i, j]
    assert [v.name for v in free_vars(EVERY_EXPR[-1][0])] == ["A", "i", "n"]


def test_threads_and_views_define_variables() -> None:
    thread = AttrStmt(IterVar(None, i), AttrKey.VIRTUAL_THREAD, const(2), Evaluate(i + j))
    assert free_vars(thread) == [j]
    assert free_vars(AttrStmt(IterVar(None, i), "pragma_x", const(2), Evaluate(i + j))) == [i, j]
    view = decl_buffer((1, 8), "int32", "view", offset_factor=8, strides=[Var("s"), 1])
    region = Call(HANDLE, Builtin.TUPLE, (i, const(1), const(0), const(8)))
    bound = AttrStmt((view, A), AttrKey.BUFFER_BIND_SCOPE, region, Evaluate(view.access_ptr("r", "int32")))
    assert free_vars(bound) == [i]


def test_an_accessed_buffer_uses_its_data_variable() -> None:
    assert uses_var(A.load(i, j), A.data)
    assert uses_var(BufferStore(A, const(1), (i, j)), [A.data])
    assert not uses_var(BufferStore(A, const(1), (i, j)), [B.data, n])
    assert uses_var(ops.max(i, j), [n, j])


def test_children_of_a_branch_without_else_are_two() -> None:
    assert len(children(IfThenElse(i < j, Evaluate(n)))) == 2
