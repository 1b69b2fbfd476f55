"""Equality up to renaming, and what the first difference reads like."""

import pytest

from isa.origin import Origin
from vta.tir import expr as tir
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import BOOL, HANDLE, DType
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterKind, IterVar, PointerType, Range, StringImm, Var, const
from vta.tir.func import IRModule, PrimFunc
from vta.tir.stmt import (
    Allocate,
    AttrKey,
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from vta.tir.structural import (
    StructuralDifferenceError,
    assert_structural_equal,
    first_difference,
    require_equal,
    structural_equal,
    structural_hash,
)

i, j, n = Var("i"), Var("j"), Var("n")
A = decl_buffer((8, 8), "int32", "A")


def program(suffix: str = "", *, factor: int = 2, extent: int = 8, origin: Origin | None = None) -> PrimFunc:
    """A function with everything that is defined somewhere; each call makes new variables and buffers."""
    size = Var(f"n{suffix}")
    x = decl_buffer((size, 8), "int32", f"x{suffix}")
    row, column, t = (Var(f"{name}{suffix}") for name in ("row", "column", "t"))
    memory = Var(f"m{suffix}", HANDLE, PointerType(DType("int32"), "local.acc_buffer"))
    flat = Buffer(f"flat{suffix}", memory, DType("int32"), (const(8),), scope="local.acc_buffer")
    realised = decl_buffer((8,), "int32", f"r{suffix}")
    thread = IterVar(None, Var(f"cthread{suffix}"), IterKind.THREAD_INDEX, "cthread")
    view = decl_buffer((1, 8), "int32", f"view{suffix}", offset_factor=8)
    body: Stmt = seq(
        [
            BufferStore(flat, x.load(row, column) * factor + t, (column,), origin),
            BufferStore(realised, flat.load(column), (column,)),
            Evaluate(view.access_ptr("r", "int32")),
        ]
    )
    region = Call(HANDLE, Builtin.TUPLE, (row, const(1), const(0), const(8)))
    body = AttrStmt((view, x), AttrKey.BUFFER_BIND_SCOPE, region, LetStmt(t, row + thread, body))
    body = BufferRealize(realised, (Range(const(0), const(8)),), For(column, const(0), const(extent), body))
    body = Allocate(memory, DType("int32"), (const(8),), For(row, const(0), size, body))
    body = AttrStmt(thread, AttrKey.VIRTUAL_THREAD, const(2), body)
    handle = Var(f"x{suffix}", HANDLE)
    return PrimFunc("main", (handle,), body, {handle: x}, {"tir.noalias": True}, {handle: x})


def test_functions_are_equal_up_to_the_names_of_what_they_define() -> None:
    assert structural_equal(program(), program("_other"))
    require_equal(program(), program("_other"))


def test_origins_take_no_part() -> None:
    assert structural_equal(program(origin=Origin("copy", "a.py:1")), program())


def test_a_program_equals_itself() -> None:
    one = program()
    assert first_difference(one, one) is None
    assert first_difference(one.body, one.body) is None


FACTOR = f"PrimFunc{'.body' * 8}.stmts[0].value.a.b.value: 2 is not 3"


def loop(var: Var, body: Stmt, kind: ForKind = ForKind.SERIAL) -> Stmt:
    return For(var, const(0), const(4), body, kind)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (i + 1, i + 2, "Add.b.value: 1 is not 2"),
        (i + 1, i - 1, "Add: (i + 1) is not (i - 1)"),
        (i + 1, j + 1, "Add.a: 'i' does not correspond to 'j'"),
        (const(1), const(1, "int64"), "IntImm.dtype: 'int32' is not 'int64'"),
        (Var("i"), Var("i", DType("int64")), "Var: 'i' is int32, 'i' is int64"),
        (StringImm("a"), StringImm("b"), "StringImm.value: 'a' is not 'b'"),
        (
            loop(i, loop(j, Evaluate(i - j))),
            loop(i, loop(j, Evaluate(j - i))),
            "For.body.body.value.a: 'i' does not correspond to 'j'",
        ),
        (loop(i, Evaluate(i)), loop(i, Evaluate(i), ForKind.UNROLLED), "For.kind: serial is not unrolled"),
        (
            SeqStmt((Evaluate(i), Evaluate(i))),
            SeqStmt((Evaluate(i), Evaluate(i), Evaluate(n))),
            "SeqStmt.stmts: 2 items are not 3; the first one more is n: int32",
        ),
        (Evaluate(i), loop(i, Evaluate(i)), "Evaluate: i: int32 is not for (i: int32, 0, 4) {"),
        (
            A.load(i, j),
            decl_buffer((8, 9), "int32", "B", data=A.data).load(i, j),
            "BufferLoad.buffer (buffers 'A', 'B').shape[1].value: 8 is not 9",
        ),
        (
            A.load(i, j),
            decl_buffer((8, 8), "int32", "B").load(i, j),
            "BufferLoad.buffer (buffers 'A', 'B').data: 'A' does not correspond to 'B'",
        ),
        (
            A.load(i, j) + A.load(i, j),
            A.load(i, j) + decl_buffer((8, 8), "int32", "B", data=A.data).load(i, j),
            "Add.b.buffer: buffer 'A' does not correspond to 'B'",
        ),
        (
            AttrStmt(A, "buffer_dim_align", const(1), Evaluate(i)),
            AttrStmt(None, "buffer_dim_align", const(1), Evaluate(i)),
            "AttrStmt.node: buffer 'A' is not None",
        ),
        (
            AttrStmt(IterVar(None, i), "pragma_a", const(1), Evaluate(i)),
            AttrStmt(IterVar(None, i, IterKind.OPAQUE), "pragma_a", const(1), Evaluate(i)),
            "AttrStmt.node.kind: DataPar is not Opaque",
        ),
        (program(factor=2), program(factor=3), FACTOR),
        (
            program(),
            PrimFunc("main", (), Evaluate(i), {}),
            "PrimFunc: 1 parameters are not 0",
        ),
        (
            PrimFunc("main", (), Evaluate(const(0)), {}, {"a": 1}),
            PrimFunc("main", (), Evaluate(const(0)), {}, {"a": 2}),
            "PrimFunc.attrs[0][1]: 1 is not 2",
        ),
        (program(), Evaluate(i), "PrimFunc: function 'main' is not i: int32"),
    ],
)
def test_the_first_difference_says_where_and_what(a: Stmt | Expr, b: Stmt | Expr, message: str) -> None:
    found = first_difference(a, b)
    assert found == message
    with pytest.raises(StructuralDifferenceError) as caught:
        require_equal(a, b)
    assert str(caught.value) == message


def test_the_correspondence_is_one_to_one() -> None:
    one = loop(i, loop(j, Evaluate(i + j)))
    other = loop(i, loop(j, Evaluate(i + i)))
    assert not structural_equal(one, other)
    assert not structural_equal(other, one)


def test_reductions_compare_up_to_their_axes_and_operands() -> None:
    def reduction(name: str, domain: int) -> Expr:
        k, x, y = IterVar(Range(const(0), const(domain)), Var(name), IterKind.COMM_REDUCE), Var("x"), Var("y")
        combiner = tir.CommReducer((x,), (y,), (x + y,), (const(0),))
        return tir.Reduce(combiner, (A.load(i, k.var),), (k,), IntImm(1, BOOL))

    assert structural_equal(reduction("k", 8), reduction("r", 8))
    assert not structural_equal(reduction("k", 8), reduction("k", 9))


def test_equal_programs_have_equal_hashes_and_others_have_others() -> None:
    assert structural_hash(program()) == structural_hash(program("_other"))
    hashes = {structural_hash(p) for p in (program(), program(factor=3), program(extent=4))}
    assert len(hashes) == 3
    assert structural_hash(IRModule({"f": program()})) == structural_hash(IRModule({"f": program("_b")}))
    assert structural_hash(IRModule({"f": program()})) != structural_hash(IRModule({"g": program()}))


def test_free_variables_may_stand_for_one_another() -> None:
    assert not structural_equal(i + n, j + n)
    assert structural_equal(i + n, j + n, map_free_vars=True)
    assert first_difference(i + i, i + j, map_free_vars=True) == "Add.b: 'i' does not correspond to 'j'"
    assert structural_hash(i + n) != structural_hash(j + n)
    assert structural_hash(i + n, map_free_vars=True) == structural_hash(j + i, map_free_vars=True)
    assert structural_hash(i + i, map_free_vars=True) != structural_hash(i + j, map_free_vars=True)


def test_modules_and_lists_are_compared_too() -> None:
    with pytest.raises(ValueError, match="function 'g' is in one of the modules alone"):
        assert_structural_equal(IRModule({"f": program()}), IRModule({"f": program(), "g": program()}))
    assert_structural_equal([i + 1, n], [i + 1, n])
    assert first_difference([i + 1, n], [i + 1, j]) == "tuple[1]: 'n' does not correspond to 'j'"


def test_zeros_of_two_signs_are_two_numbers_and_nan_is_itself() -> None:
    nan = tir.FloatImm(float("nan"))
    assert structural_equal(nan, tir.FloatImm(float("nan")))
    assert not structural_equal(tir.FloatImm(0.0), tir.FloatImm(-0.0))


def test_names_of_blocks_take_no_part() -> None:
    first, second, other = (Block(name, (), (), Evaluate(const(n))) for name, n in (("A", 1), ("B", 1), ("A", 2)))
    assert structural_equal(first, second)
    assert structural_hash(first) == structural_hash(second)
    assert not structural_equal(first, other)
    assert first.name_hint == "A"
