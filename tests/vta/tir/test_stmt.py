"""Statements compare by structure without their origins; sequences are flat."""

from isa.origin import Origin
from vta.tir.buffer import decl_buffer
from vta.tir.dtype import HANDLE, DType
from vta.tir.expr import FloatImm, IntImm, PointerType, Var, const
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrKey,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    is_noop,
    seq,
    stmt_list,
)

i = Var("i")
A = decl_buffer((8,), "int32", "A")
ONE, TWO, THREE = (BufferStore(A, const(v), (i,)) for v in (1, 2, 3))
NOTHING = Evaluate(IntImm(0))


def test_statements_are_equal_by_structure_whatever_their_origin() -> None:
    assert BufferStore(A, const(1), (i,), Origin("fill", "a.py:1")) == ONE
    assert ONE != TWO
    assert For(i, const(0), const(8), ONE) == For(i, const(0), const(8), ONE)
    assert For(i, const(0), const(8), ONE) != For(i, const(0), const(8), ONE, ForKind.UNROLLED)


def test_a_sequence_is_flat_and_has_no_no_ops() -> None:
    assert seq([seq([ONE, TWO]), NOTHING, THREE]) == SeqStmt((ONE, TWO, THREE))
    assert seq([NOTHING, ONE]) is ONE
    assert seq([]) == NOTHING
    assert seq([NOTHING]) == NOTHING


def test_a_no_op_evaluates_a_constant() -> None:
    assert is_noop(NOTHING)
    assert not is_noop(Evaluate(i.asexpr()))
    assert not is_noop(ONE)


def test_an_allocation_lies_in_the_memory_of_its_pointer() -> None:
    acc = Var("m", HANDLE, PointerType(DType("int32"), "local.acc_buffer"))
    assert Allocate(acc, DType("int32"), (const(8),), ONE).scope == "local.acc_buffer"
    assert Allocate(Var("m", HANDLE), DType("int32"), (const(8),), ONE).scope == "global"


def test_attribute_keys_are_tvms_strings() -> None:
    assert AttrKey.COPROC_SCOPE == "coproc_scope"
    assert AttrKey.VIRTUAL_THREAD == "virtual_thread"


def test_statements_take_numbers_elements_and_equalities() -> None:
    a, f, i, n = decl_buffer((4,), "int8", "a"), decl_buffer((4,), "float32", "f"), Var("i"), Var("n", DType("int64"))
    nothing = Evaluate(IntImm(0))
    assert BufferStore(a, 1, [i]) == BufferStore(a, IntImm(1, DType("int8")), (i,))
    assert BufferStore(f, 1, (0,)) == BufferStore(f, FloatImm(1.0), (IntImm(0),))
    assert For(n, 0, 4, nothing) == For(n, IntImm(0, n.dtype), IntImm(4, n.dtype), nothing)
    assert IfThenElse(i == 3, nothing) == IfThenElse((i == 3).asexpr(), nothing)
    assert AssertStmt(i != 3, "no", nothing).condition.dtype == "bool"
    assert LetStmt(n, 4, nothing) == LetStmt(n, IntImm(4, n.dtype), nothing)
    assert Evaluate(0) == nothing
    assert Allocate(Var("m", HANDLE), DType("int8"), [4], nothing).extents == (IntImm(4),)
    assert AttrStmt(None, "pragma_x", 1, nothing).value == IntImm(1)


def test_statements_of_a_sequence_are_a_list() -> None:
    first, second = (BufferStore(decl_buffer((2,), "int32"), IntImm(0), (IntImm(i),)) for i in range(2))
    assert stmt_list(seq([first, second])) == [first, second]
    assert stmt_list(first) == [first]
