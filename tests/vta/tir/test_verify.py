"""What the verifier accepts, and the text of each complaint."""

import pytest

from isa.origin import Origin
from vta.tir import expr as tir
from vta.tir import ops
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import BOOL, FLOAT32, HANDLE, DType
from vta.tir.expr import Builtin, Call, IntImm, IterKind, IterVar, PointerType, Range, Var, const
from vta.tir.func import PrimFunc
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
from vta.tir.verify import VerifyError, verify

i, j, n, t = Var("i"), Var("j"), Var("n"), Var("t")
A = decl_buffer((n, 8), "int32", "A")
HANDLE_A = Var("A", HANDLE)
SMALL = Var("s", DType("int8"))


def func(body: Stmt) -> PrimFunc:
    return PrimFunc("main", (HANDLE_A,), body, {HANDLE_A: A})


def loop(var: Var, body: Stmt) -> Stmt:
    return For(var, const(0), const(8), body)


def well_formed() -> PrimFunc:
    """Every way to define a variable, each used where it may be."""
    memory = Var("m", HANDLE, PointerType(DType("int32")))
    flat = Buffer("flat", memory, DType("int32"), (n * 8,))
    local = decl_buffer((8,), "int32", "local")
    view = decl_buffer((1, 8), "int32", "view", offset_factor=8, strides=[Var("row"), 1])
    thread = IterVar(None, Var("cthread"), IterKind.THREAD_INDEX, "cthread")
    vector = BufferStore(local, tir.Broadcast(const(1), 8), (tir.Ramp(const(0), const(1), 8),))
    region = Call(HANDLE, Builtin.TUPLE, (const(0), const(1), const(0), const(8)))
    bound = AttrStmt((view, A), AttrKey.BUFFER_BIND_SCOPE, region, BufferStore(view, view.elem_offset, (const(0), j)))
    copy = BufferStore(
        A, flat.load(i * 8 + j) + local.load(j) + t + thread + tir.Let(SMALL, const(1, "int8"), i), (i, j)
    )
    choice = IfThenElse(ops.likely(i < n), loop(j, seq([copy, bound])), Evaluate(ops.if_then_else(i < n, i, 0)))
    body: Stmt = LetStmt(t, i + n, AssertStmt(t > 0, "positive", choice))
    body = BufferRealize(local, (Range(const(0), const(8)),), seq([vector, body]))
    body = AttrStmt(IterVar(None, i), "pragma_x", const(1), For(i, const(0), n, body))
    body = Allocate(memory, DType("int32"), (n, const(8)), body)
    realised = BufferRealize(A, (Range(const(0), n), Range(const(0), const(8))), body)
    return func(AttrStmt(thread, AttrKey.VIRTUAL_THREAD, const(2), realised))


def test_a_well_formed_function_comes_back() -> None:
    program = well_formed()
    assert verify(program) is program


def test_siblings_may_define_the_same_variable() -> None:
    one = loop(i, Evaluate(i.asexpr()))
    verify(func(seq([one, one])))


SHOWN = "A: Buffer(A_1: Pointer(int32), int32, [n: int32, 8], [])"
OTHER = decl_buffer((4,), "int32", "other")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (Evaluate(i + 1), "variable 'i' is used where it is not defined, in: (i: int32 + 1)"),
        (
            seq([loop(i, Evaluate(i.asexpr())), Evaluate(i.asexpr())]),
            "variable 'i' is used where it is not defined, in: i: int32",
        ),
        (
            AttrStmt(IterVar(None, i), "pragma_x", const(1), Evaluate(i.asexpr())),
            "variable 'i' is used where it is not defined, in: i: int32",
        ),
        (
            loop(i, loop(i, Evaluate(const(0)))),
            "variable 'i' is defined inside its own scope, in: for (i: int32, 0, 8) {",
        ),
        (
            loop(i, Evaluate(tir.Let(i, const(1), i + 1))),
            "variable 'i' is defined inside its own scope, in: (let i: int32 = 1 in (i + 1))",
        ),
        (
            BufferStore(OTHER, const(0), (const(0),), Origin("fill", "a.py:3")),
            "buffer 'other' is used where its memory 'other' does not exist, in: other: Buffer(other_1: "
            f"Pointer(int32), int32, [4], [])[0] = 0 [{Origin('fill', 'a.py:3')}]",
        ),
        (
            AttrStmt((OTHER, decl_buffer((4,), "int32", "target")), AttrKey.BUFFER_BIND_SCOPE, const(0), Evaluate(n)),
            "buffer 'target' is used where its memory 'target' does not exist, in: attr [[other: Buffer(other_1: "
            "Pointer(int32), int32, [4], []), target: Buffer(target_1: Pointer(int32), int32, [4], [])]] "
            '"buffer_bind_scope" = 0;',
        ),
        (
            BufferStore(A, const(0), (const(0),)),
            f"buffer 'A' has 2 dimensions, not 1, in: {SHOWN}[0] = 0",
        ),
        (
            Evaluate(tir.BufferLoad(A, (const(0),))),
            f"buffer 'A' has 2 dimensions, not 1, in: {SHOWN}[0]",
        ),
        (
            BufferStore(A, const(0, "int8"), (const(0), const(0))),
            f"buffer 'A' is int32, but value is int8, in: {SHOWN}[0, 0] = 0i8",
        ),
        (
            BufferStore(A, const(0), (const(0), tir.FloatImm(0.0))),
            f"index 0.0f32 of buffer 'A' is float32; expected an integer, in: {SHOWN}[0, 0.0f32] = 0",
        ),
        (
            SeqStmt((Evaluate(n.asexpr()),)),
            "a sequence has 1 statements; expected at least two (build it with tir.seq), in: n: int32",
        ),
        (
            For(i, const(0, "int64"), const(4), Evaluate(n)),
            "loop variable is int32, but min is int64, in: for (i: int32, 0i64, 4) {",
        ),
        (
            For(i, const(0), const(4, "int64"), Evaluate(n)),
            "loop variable is int32, but extent is int64, in: for (i: int32, 0, 4i64) {",
        ),
        (LetStmt(t, const(1, "int8"), Evaluate(t)), "variable is int32, but value is int8, in: let t: int32 = 1i8"),
        (
            Evaluate(tir.Let(t, const(1, "int8"), t + 1)),
            "variable 't' is int32, but value is int8, in: (let t: int32 = 1i8 in (t + 1))",
        ),
        (IfThenElse(n.asexpr(), Evaluate(n)), "condition n is int32; expected bool, in: if n: int32 {"),
        (AssertStmt(n.asexpr(), "x", Evaluate(n)), 'condition n is int32; expected bool, in: assert(n: int32, "x")'),
        (
            Allocate(Var("m", HANDLE), DType("int8"), (n,), Evaluate(n), n.asexpr()),
            "condition n is int32; expected bool, in: allocate(m: handle, int8, [n: int32]), storage_scope = "
            "global if n;",
        ),
        (
            BufferRealize(OTHER, (), Evaluate(n)),
            "buffer 'other' has 1 dimensions, 0 are realised, in: realize(other: Buffer(other_1: Pointer(int32), "
            "int32, [4], []), [], True {",
        ),
        (
            Evaluate(tir.Add(n, const(1, "int64"))),
            "left of (n + 1i64) is int32, but right is int64, in: (n: int32 + 1i64)",
        ),
        (
            Evaluate(tir.LT(n, const(1, "int64"))),
            "left of (n < 1i64) is int32, but right is int64, in: (n: int32 < 1i64)",
        ),
        (Evaluate(tir.And(n < 1, n)), "condition n is int32; expected bool, in: ((n: int32 < 1) && n)"),
        (Evaluate(tir.Not(n)), "condition n is int32; expected bool, in: !n: int32"),
        (Evaluate(tir.Select(n, n, n)), "condition n is int32; expected bool, in: select(n: int32, n, n)"),
        (
            Evaluate(tir.Select(n < 1, n, const(1, "int8"))),
            "true value of select((n < 1), n, 1i8) is int32, but false value is int8, "
            "in: select((n: int32 < 1), n, 1i8)",
        ),
        (
            Evaluate(Call(DType("int32"), Builtin.IF_THEN_ELSE, (n, n, n))),
            "condition n is int32; expected bool, in: @tir.if_then_else(n: int32, n, n, dtype=int32)",
        ),
        (
            Evaluate(Call(DType("int32"), Builtin.IF_THEN_ELSE, (n < 1, n, const(1, "int8")))),
            "true value of @tir.if_then_else((n < 1), n, 1i8, dtype=int32) is int32, but false value is int8, "
            "in: @tir.if_then_else((n: int32 < 1), n, 1i8, dtype=int32)",
        ),
        (
            Evaluate(Call(BOOL, Builtin.LIKELY, (n,))),
            "condition n is int32; expected bool, in: @tir.likely(n: int32, dtype=bool)",
        ),
        (
            Evaluate(Call(BOOL, Builtin.LIKELY, (tir.Broadcast(n < 1, 4),))),
            "@tir.likely(broadcast((n < 1), 4), dtype=bool) is bool, but its condition is boolx4, "
            "in: @tir.likely(broadcast((n: int32 < 1), 4), dtype=bool)",
        ),
        (
            Evaluate(Call(DType("int32"), Builtin.SHIFT_RIGHT, (n, const(1, "int8")))),
            "left of @tir.shift_right(n, 1i8, dtype=int32) is int32, but right is int8, "
            "in: @tir.shift_right(n: int32, 1i8, dtype=int32)",
        ),
        (
            Evaluate(tir.Ramp(n, const(1, "int64"), 4)),
            "base of ramp(n, 1i64, 4) is int32, but stride is int64, in: ramp(n: int32, 1i64, 4)",
        ),
    ],
)
def test_each_rule_has_its_complaint(body: Stmt, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(func(body))
    assert str(caught.value) == f"main: {message}"


def test_nothing_of_te_may_be_left() -> None:
    class Tensor:
        name, shape, dtype = "T", (const(8),), DType("int32")

    with pytest.raises(VerifyError) as caught:
        verify(func(Evaluate(tir.ProducerLoad(Tensor(), (n,)))))
    assert str(caught.value) == "main: ProducerLoad T[n] belongs to te; lowering replaces it, in: T[n: int32]"
    axis = IterVar(Range(const(0), const(8)), Var("k"), IterKind.COMM_REDUCE)
    combiner = tir.CommReducer((i,), (j,), (i + j,), (const(0),))
    with pytest.raises(VerifyError, match=r"^main: Reduce reduce\(.* belongs to te; lowering replaces it, in: "):
        verify(func(Evaluate(tir.Reduce(combiner, (n.asexpr(),), (axis,), IntImm(1, BOOL)))))


def test_parameters_are_distinct_and_own_their_buffers() -> None:
    with pytest.raises(VerifyError) as caught:
        verify(PrimFunc("main", (n, n), Evaluate(n), {}))
    assert str(caught.value) == "main: a parameter occurs twice"
    with pytest.raises(VerifyError) as caught:
        verify(PrimFunc("main", (n,), Evaluate(n), {HANDLE_A: A}))
    assert str(caught.value) == "main: buffer_map has 'A', which is no parameter"


def test_floats_are_values_like_others() -> None:
    f = Var("f", FLOAT32)
    verify(PrimFunc("main", (f,), Evaluate(ops.exp(f) + 1.0), {}))
