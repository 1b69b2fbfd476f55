"""The text of programs. What upstream's listings show is written the same way; the rest has golden files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isa.config import VTAConfig
from tests.support.golden.golden_text import check_golden_text
from vta.tir import expr as tir
from vta.tir import ops
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import BOOL, FLOAT32, HANDLE, INT32, DType
from vta.tir.expr import (
    Builtin,
    Call,
    Expr,
    FloatImm,
    IntImm,
    IterKind,
    IterVar,
    PointerType,
    Range,
    StringImm,
    Var,
    const,
)
from vta.tir.func import IRModule, PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrKey,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    seq,
)

GOLDEN = Path(__file__).parent / "golden"
i, j, n = Var("i"), Var("j"), Var("n")
A = decl_buffer((16, n), "int8", "A")


def loops(body: Stmt, **extents: int) -> Stmt:
    for name, extent in reversed(extents.items()):
        body = For(Var(name), const(0), const(extent), body)
    return body


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (i * 4 + j - 1, "(((i*4) + j) - 1)"),
        (i // 4, "floordiv(i, 4)"),
        (i % 4, "floormod(i, 4)"),
        (ops.truncdiv(i, 4), "(i / 4)"),
        (ops.truncmod(i, 4), "(i % 4)"),
        (ops.min(i, ops.max(j, 3)), "min(i, max(j, 3))"),
        (ops.all(i < 3, j >= 2, i.asexpr() != j), "(((i < 3) && (j >= 2)) && (i != j))"),
        (ops.any(i <= 3, j > 2, (i == j).asexpr()), "(((i <= 3) || (j > 2)) || (i == j))"),
        (~(i < 3), "!(i < 3)"),
        (ops.select(i < 3, i, j), "select((i < 3), i, j)"),
        (ops.if_then_else(i < 3, i, 0), "@tir.if_then_else((i < 3), i, 0, dtype=int32)"),
        (i.astype("int8"), "cast(int8, i)"),
        (A.load(i, 0), "A[i, 0]"),
        (const(-3), "-3"),
        (const(0, "int8"), "0i8"),
        (const(7, "uint8"), "7u8"),
        (const(1, "int64"), "1i64"),
        (IntImm(1, BOOL), "True"),
        (IntImm(0, BOOL), "False"),
        (FloatImm(0.5, FLOAT32), "0.5f32"),
        (StringImm('say "hi"\n\\'), '"say \\"hi\\"\\n\\\\"'),
        (tir.Ramp(i, const(1), 8), "ramp(i, 1, 8)"),
        (tir.Broadcast(i, 8), "broadcast(i, 8)"),
        (tir.Let(j, i + 1, j * j), "(let j = (i + 1) in (j*j))"),
        (i >> 3, "@tir.shift_right(i, 3, dtype=int32)"),
        (Call(INT32, Builtin.COPROC_SYNC), "@tir.vta.coproc_sync(, dtype=int32)"),
        (Call(HANDLE, Builtin.THREAD_CONTEXT, (Call(HANDLE, Builtin.COMMAND_HANDLE),)),
         "@tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), dtype=handle)"),
    ],
)  # fmt: skip
def test_expressions_read_as_in_upstreams_listings(expr: Expr, expected: str) -> None:
    assert to_text(expr) == expected
    assert str(expr) == expected


def test_a_reduction_shows_its_parts() -> None:
    axis = IterVar(Range(const(0), const(16)), Var("k"), IterKind.COMM_REDUCE)
    x, y = Var("x"), Var("y")
    combiner = tir.CommReducer((x,), (y,), (x + y,), (const(0),))
    reduction = tir.Reduce(combiner, (A.load(i, axis.var).astype("int32"),), (axis,), IntImm(1, BOOL))
    assert to_text(reduction) == (
        "reduce(comm_reducer(result=[(x + y)], lhs=[x], rhs=[y], identity_element=[0]), "
        'source=[cast(int32, A[i, k])], init=[], axis=[IterVar(k, [0:16], "CommReduce", "")], where=True, '
        "value_index=0)"
    )


def test_a_read_of_a_tensor_shows_the_tensors_name() -> None:
    class Tensor:
        name, shape, dtype = "data", (const(4),), DType("int8")

    assert to_text(tir.ProducerLoad(Tensor(), (i + 1,))) == "data[(i + 1)]"


def dma_part() -> PrimFunc:
    """The load of the inputs in upstream's listing of a GEMM with two virtual threads, before flattening."""
    x = decl_buffer((4, 1, 1, 16), "int8", "x")
    x_buf = decl_buffer((4, 1, 1, 16), "int8", "x_buf", scope="local.inp_buffer")
    thread = IterVar(None, Var("cthread"), IterKind.THREAD_INDEX, "cthread")
    axis = IterVar(None, Var("i0"))
    i0, i3 = axis.var, Var("i3")
    index = (i0 + thread * 2, const(0), const(0), i3.asexpr())
    copy = For(i0, const(0), const(2), For(i3, const(0), const(16), BufferStore(x_buf, x.load(*index), index)))
    body: Stmt = AttrStmt(axis, "pragma_dma_copy", const(1), copy)
    bounds = (Range(thread * 2, const(2)), *(Range(const(0), const(e)) for e in (1, 1, 16)))
    body = AttrStmt(thread, AttrKey.VIRTUAL_THREAD, const(2), BufferRealize(x_buf, bounds, body))
    handle = Var("x", HANDLE)
    attrs: dict[str, str | int | bool] = {"tir.noalias": True, "global_symbol": "main", "from_legacy_te_schedule": True}
    return PrimFunc("default_function", (handle,), body, {handle: x}, attrs)


def test_a_copy_of_two_virtual_threads_reads_as_in_upstreams_listing() -> None:
    assert (
        str(dma_part())
        == """\
@default_function = primfn(x_1: handle) -> ()
  attr = {"from_legacy_te_schedule": True, "global_symbol": "main", "tir.noalias": True}
  buffers = {x: Buffer(x_2: Pointer(int8), int8, [4, 1, 1, 16], [])}
  buffer_map = {x_1: x} {
  attr [IterVar(cthread: int32, (nullptr), "ThreadIndex", "cthread")] "virtual_thread" = 2;
  realize(x_buf: Buffer(x_buf_1: Pointer(local.inp_buffer int8), int8, [4, 1, 1, 16], [], scope="local.inp_buffer"), \
[(cthread*2):((cthread*2) + 2), 0:1, 0:1, 0:16], True {
    attr [IterVar(i0: int32, (nullptr), "DataPar", "")] "pragma_dma_copy" = 1;
    for (i0, 0, 2) {
      for (i3: int32, 0, 16) {
        x_buf[(i0 + (cthread*2)), 0, 0, i3] = x[(i0 + (cthread*2)), 0, 0, i3]
      }
    }
  })
}
"""
    )


def flat_part() -> PrimFunc:
    """Flattened buffers, a kernel of micro-ops, calls, both loops that differ in nothing but identity."""
    data = Var("x", HANDLE, PointerType(DType("int8")))
    x = Buffer("x", data, DType("int8"), (const(64),))
    declared = Buffer("x", data, DType("int8"), (const(4), const(1), const(1), const(16)))
    memory = Var("x_buf", HANDLE, PointerType(DType("int32"), "local.acc_buffer"))
    flat = Buffer("x_buf", memory, DType("int32"), (const(64),), scope="local.acc_buffer", data_alignment=16)
    axis = IterVar(None, Var("vta"), IterKind.THREAD_INDEX, "vta")
    begin = Call(INT32, Builtin.CALL_EXTERN, (StringImm("VTAUopLoopBegin"), *(const(e) for e in (4, 1, 1, 0))))
    end = Call(INT32, Builtin.CALL_EXTERN, (StringImm("VTAUopLoopEnd"),))
    kernel = AttrStmt(axis, AttrKey.COPROC_UOP_SCOPE, StringImm("VTAPushALUOp"), seq([Evaluate(begin), Evaluate(end)]))
    other_axis = IterVar(None, Var("vta"), IterKind.THREAD_INDEX, "vta")
    scope = AttrStmt(other_axis, AttrKey.COPROC_SCOPE, const(2), kernel)
    k, m = Var("k"), Var("k")
    fill = For(k, const(0), const(64), BufferStore(flat, x.load(k).astype("int32"), (k,)))
    again = For(m, const(0), const(64), BufferStore(flat, flat.load(m) * 2, (m,)))
    body = Allocate(memory, DType("int32"), (const(64),), seq([fill, again, scope]))
    handle = Var("x", HANDLE)
    return PrimFunc("main", (handle,), body, {handle: x}, {}, {handle: declared})


def odd_part() -> PrimFunc:
    """What listings rarely show: sizes, lets, branches, assertions, loop kinds, bound views, conditions."""
    size, t, row, column = Var("n"), Var("t"), Var("row"), Var("column")
    out = decl_buffer((size, 16), "int32", "out")
    view = decl_buffer((1, 16), "int32", "view", offset_factor=16, scope="local.acc_buffer", strides=[Var("s"), 1])
    memory = Var("buf", HANDLE, PointerType(FLOAT32))
    inner: Stmt = IfThenElse(row < 3, BufferStore(out, t + 1, (row, column)), Evaluate(const(0)))
    inner = LetStmt(t, row * 2, seq([inner, Evaluate(t.asexpr())]))
    inner = AssertStmt(row >= 0, 'row is "natural"', inner)
    inner = For(column, const(0), const(16), inner, ForKind.VECTORIZED)
    inner = IfThenElse(ops.likely(row < size), inner)
    inner = For(row, size - 1, size, inner, ForKind.PARALLEL)
    region = Call(HANDLE, Builtin.TUPLE, (const(0), const(1), const(0), const(16)))
    bound = AttrStmt((view, out), AttrKey.BUFFER_BIND_SCOPE, region, Evaluate(view.access_ptr("rw", "int32")))
    about = AttrStmt(out, "buffer_dim_align", const(16), AttrStmt(None, "pragma_x", const(1), bound))
    about = AttrStmt(memory, "double_buffer_scope", const(1), about)
    once = For(Var("u"), const(0), const(2), about, ForKind.UNROLLED)
    body = Allocate(memory, FLOAT32, (size, const(2)), seq([inner, once]), size > 1)
    handle = Var("out", HANDLE)
    return PrimFunc("odd", (handle, size), body, {handle: out})


@pytest.mark.parametrize("make", [flat_part, odd_part], ids=["flat", "odd"])
def test_programs_read_as_their_golden_files(make: Callable[[], PrimFunc], update_golden: bool) -> None:
    text = str(make())
    check_golden_text(text, GOLDEN / f"{make.__name__}.txt", update=update_golden)
    assert str(make()) == text


def test_a_module_prints_its_functions() -> None:
    module = IRModule({"default_function": dma_part(), "main": flat_part()}, VTAConfig())
    assert str(module) == f"{dma_part()}\n{flat_part()}"
    assert module["main"].name == "main"


def test_a_statement_shows_the_types_of_free_variables() -> None:
    assert to_text(BufferStore(A, const(0, "int8"), (i, j))) == (
        "A: Buffer(A_1: Pointer(int8), int8, [16, n: int32], [])[i: int32, j: int32] = 0i8\n"
    )
