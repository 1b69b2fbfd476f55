"""Buffers, temporaries, loops and conditions in compiled host code."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.origin import Origin
from tests.support.runtime.host_call import FakeRuntime, call_host
from vta.codegen.host import emit_host
from vta.codegen.llvm_types import CodegenError
from vta.codegen.statements import STACK_LIMIT
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import HANDLE, INT32, INT64, DType
from vta.tir.expr import (
    Builtin,
    Call,
    Cast,
    Expr,
    FloorMod,
    IntImm,
    IterKind,
    IterVar,
    PointerType,
    ProducerLoad,
    StringImm,
    Var,
    const,
)
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
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    seq,
)


def function_of(name: str, buffers: list[Buffer], body: Stmt, *scalars: Var) -> PrimFunc:
    """Return a function with one handle for each buffer, then scalars."""
    params = tuple(Var(b.name, HANDLE) for b in buffers)
    return PrimFunc(name, (*params, *scalars), body, dict(zip(params, buffers, strict=True)))


def temporary(name: str, dtype: str, scope: str = "global") -> Buffer:
    """Return a flat buffer whose data variable an ``Allocate`` will define."""
    return decl_buffer((1,), dtype, name, Var(name, HANDLE, PointerType(DType(dtype), scope)), scope=scope)


def reversed_through(extents: tuple[Expr, ...], count: Expr, x: Buffer, z: Buffer) -> Stmt:
    """Return: t[i] = x[i] for all i, then z[i] = t[count - 1 - i]."""
    i, j = Var("i"), Var("j")
    t = temporary("t", "int32")
    fill = For(i, IntImm(0), count, BufferStore(t, x.load(i), (i,)))
    read = For(j, IntImm(0), count, BufferStore(z, t.load(count - 1 - j), (j,)))
    return Allocate(t.data, INT32, extents, seq([fill, read]))


@pytest.mark.parametrize("elements", [1, 7, STACK_LIMIT // 4, STACK_LIMIT // 4 + 1, 50_000])
def test_a_temporary_of_any_size_holds_what_was_stored(elements: int) -> None:
    x, z = decl_buffer((elements,), "int32", "x"), decl_buffer((elements,), "int32", "z")
    body = reversed_through((IntImm(elements),), IntImm(elements), x, z)
    a, out = np.arange(elements, dtype=np.int32), np.zeros(elements, np.int32)
    assert call_host(function_of("f", [x, z], body), a, out) is None
    np.testing.assert_array_equal(out, a[::-1])


def test_a_small_temporary_needs_no_allocator_and_a_large_one_gives_its_memory_back() -> None:
    small, large = (
        emit_host(
            [
                function_of(
                    "f",
                    [x := decl_buffer((n,), "int32", "x"), z := decl_buffer((n,), "int32", "z")],
                    reversed_through((IntImm(n),), IntImm(n), x, z),
                )
            ],
            VTAConfig(),
        ).source
        for n in (8, 50_000)
    )
    assert "malloc" not in small
    assert large.count('call ptr @"malloc"') == 1
    assert large.count('call void @"free"') == 2  # at the end of its scope, and on the way out after a failure


def test_shapes_known_at_the_call_only_come_from_the_arguments() -> None:
    n, m = Var("n"), Var("m")
    x, z = decl_buffer((n, m), "int32", "x"), decl_buffer((m, n), "int32", "z")
    i, j = Var("i"), Var("j")
    body = For(i, IntImm(0), n, For(j, IntImm(0), m, BufferStore(z, x.load(i, j), (j, i))))
    a = np.arange(15, dtype=np.int32).reshape(3, 5)
    out = np.zeros((5, 3), np.int32)
    assert call_host(function_of("transpose", [x, z], body), a, out) is None
    np.testing.assert_array_equal(out, a.T)


def test_arguments_whose_shapes_do_not_fit_each_other_are_refused() -> None:
    n = Var("n")
    x, z = decl_buffer((n,), "int32", "x"), decl_buffer((n * 2,), "int32", "z")
    body = For(Var("i"), IntImm(0), n, Evaluate(IntImm(0)))
    function = function_of("f", [x, z], body)
    assert call_host(function, np.zeros(3, np.int32), np.zeros(6, np.int32)) is None
    message = call_host(function, np.zeros(3, np.int32), np.zeros(7, np.int32))
    assert message == "argument 'z': dimension 0 does not fit the other arguments"


def test_a_size_may_be_64_bits_wide() -> None:
    n = Var("n", INT64)
    x = decl_buffer((n,), "int32", "x")
    i = Var("i", INT64)
    body = For(i, const(0, "int64"), n, BufferStore(x, Cast(INT32, i), (i,)))
    out = np.zeros(9, np.int32)
    assert call_host(function_of("iota", [x], body), out) is None
    np.testing.assert_array_equal(out, np.arange(9))


@pytest.mark.parametrize("kind", list(ForKind))
def test_every_kind_of_loop_runs_all_iterations_in_order(kind: ForKind) -> None:
    z = decl_buffer((8,), "int32", "z")
    i = Var("i")
    running = BufferStore(z, z.load(i - 3) + i, (i - 2,))
    body = seq([BufferStore(z, IntImm(1), (IntImm(0),)), For(i, IntImm(3), IntImm(5), running, kind)])
    out = np.zeros(8, np.int32)
    assert call_host(function_of("f", [z], body), out) is None
    assert out[:6].tolist() == [1, 4, 8, 13, 19, 26]


def test_a_loop_without_iterations_does_nothing() -> None:
    n = Var("n")
    z = decl_buffer((4,), "int32", "z")
    i = Var("i")
    body = For(i, IntImm(0), n, BufferStore(z, IntImm(9), (IntImm(0),)))
    out = np.zeros(4, np.int32)
    for extent in (0, -1):
        assert call_host(function_of("f", [z], body, n), out, extent) is None
        assert out[0] == 0


def test_both_branches_of_a_condition() -> None:
    z = decl_buffer((10,), "int32", "z")
    i, t = Var("i"), Var("t")
    odd = (FloorMod(i, IntImm(2)) == 1).asexpr()
    choose = IfThenElse(odd, BufferStore(z, t, (i,)), BufferStore(z, IntImm(-1), (i,)))
    only = IfThenElse((i == 4).asexpr(), BufferStore(z, IntImm(44), (i,)))
    body = For(i, IntImm(0), IntImm(10), LetStmt(t, i * i, seq([choose, only])))
    out = np.zeros(10, np.int32)
    assert call_host(function_of("f", [z], body), out) is None
    assert out.tolist() == [-1, 1, -1, 9, 44, 25, -1, 49, -1, 81]


def test_a_failed_assertion_ends_the_function_with_its_message_and_place() -> None:
    n = Var("n")
    z = decl_buffer((4,), "int32", "z")
    store = BufferStore(z, IntImm(1), (IntImm(0),))
    body = AssertStmt((n < 4).asexpr(), "n must be below 4", store, Origin("Z", "user.py:3"))
    function = function_of("f", [z], body, n)
    out = np.zeros(4, np.int32)
    assert call_host(function, out, 4) == "function 'f', Z (user.py:3): n must be below 4"
    assert out[0] == 0
    assert call_host(function, out, 3) is None
    assert out[0] == 1


def test_heap_memory_is_released_when_an_assertion_fails_inside_its_scope() -> None:
    n, count = Var("n"), 50_000
    x, z = decl_buffer((count,), "int32", "x"), decl_buffer((count,), "int32", "z")
    inner = AssertStmt((n < 0).asexpr(), "no", Evaluate(IntImm(0)))
    t = temporary("t", "int32")
    body = Allocate(t.data, INT32, (IntImm(count),), seq([BufferStore(t, IntImm(1), (IntImm(0),)), inner]))
    a = np.zeros(count, np.int32)
    function = function_of("f", [x, z], body, n)
    for _ in range(20):  # a leak of 200 kB each would not be seen here, but a double free would
        assert call_host(function, a, a, 1) == "function 'f': no"


@pytest.mark.parametrize("dtype", ["int4", "int2", "int1", "uint4"])
def test_elements_of_a_few_bits_share_bytes(dtype: str) -> None:
    bits = DType(dtype).bits
    count = 24
    x, z = decl_buffer((count,), dtype, "x"), decl_buffer((count,), "int32", "z")
    w = decl_buffer((count,), dtype, "w")
    i, j = Var("i"), Var("j")
    widen = For(i, IntImm(0), IntImm(count), BufferStore(z, Cast(INT32, x.load(i)), (i,)))
    back = For(j, IntImm(0), IntImm(count), BufferStore(w, Cast(DType(dtype), z.load(j) + 1), (j,)))
    packed = np.random.default_rng(3).integers(0, 256, count * bits // 8).astype(np.uint8)
    wide, out = np.zeros(count, np.int32), np.full(count * bits // 8, 0x5A, np.uint8)
    assert call_host(function_of("f", [x, z, w], seq([widen, back])), packed, wide, out) is None
    raw = (int.from_bytes(packed.tobytes(), "little") >> np.arange(count, dtype=object) * bits) & ((1 << bits) - 1)
    signed = [v - (1 << bits) if dtype.startswith("int") and v >> (bits - 1) else v for v in raw.tolist()]
    assert wide.tolist() == signed
    again = sum(((v + 1) & ((1 << bits) - 1)) << (k * bits) for k, v in enumerate(signed))
    assert int.from_bytes(out.tobytes(), "little") == again


def dma(name: str, data: Var, place: int) -> Stmt:
    """Return a DMA call with ``data`` as its buffer and zeros otherwise."""
    counts = {"VTALoadBuffer2D": 10, "VTAStoreBuffer2D": 6}[name]
    numbers: list[Expr] = [IntImm(0)] * counts
    command = Call(HANDLE, Builtin.THREAD_CONTEXT, (Call(HANDLE, Builtin.COMMAND_HANDLE),))
    numbers.insert(place - 1, data)
    return Evaluate(Call(INT32, Builtin.CALL_EXTERN, (StringImm(name), command, *numbers)))


@pytest.mark.parametrize(("name", "place"), [("VTALoadBuffer2D", 1), ("VTAStoreBuffer2D", 3)])
def test_a_temporary_that_dma_touches_is_device_memory_until_the_function_ends(name: str, place: int) -> None:
    t = temporary("t", "int8")
    loop = For(
        Var("i"), IntImm(0), IntImm(3), Allocate(t.data, DType("int8"), (IntImm(100),), dma(name, t.data, place))
    )
    runtime = FakeRuntime()
    assert call_host(function_of("f", [], loop), runtime=runtime) is None
    names = [call[0] for call in runtime.calls if call[0] != "VTATLSCommandHandle"]
    assert names == ["VTABufferAlloc", name, name, name, "VTABufferFree"]
    assert ("VTABufferAlloc", 101) in runtime.calls


def test_a_device_temporary_of_a_size_known_at_run_time_waits_for_the_accelerator_before_it_goes() -> None:
    n = Var("n")
    t = temporary("t", "int8")
    body = Allocate(t.data, DType("int8"), (n,), dma("VTALoadBuffer2D", t.data, 1))
    runtime = FakeRuntime()
    assert call_host(function_of("f", [], body, n), 7, runtime=runtime) is None
    names = [call[0] for call in runtime.calls if call[0] != "VTATLSCommandHandle"]
    assert names == ["VTABufferAlloc", "VTALoadBuffer2D", "VTASynchronize", "VTABufferFree"]


def test_a_negative_extent_is_refused_at_run_time() -> None:
    n = Var("n")
    t = temporary("t", "int8")
    body = Allocate(t.data, DType("int8"), (n,), Evaluate(IntImm(0)))
    assert call_host(function_of("f", [], body, n), -1) == "function 'f': the extent of 't' is negative"


def refused(body: Stmt, *buffers: Buffer) -> str:
    """Return the text with which code generation refuses ``body``."""
    with pytest.raises(CodegenError) as error:
        emit_host([function_of("f", list(buffers), body)], VTAConfig())
    return str(error.value)


def test_what_should_have_been_lowered_is_refused_with_its_place() -> None:
    z = decl_buffer((4,), "int32", "z")
    nothing = Evaluate(IntImm(0))
    axis = IterVar(None, Var("v"), IterKind.THREAD_INDEX, "cthread")
    at = Origin("C", "gemm.py:7")
    scratch = Var("acc", HANDLE, PointerType(INT32, "local.acc_buffer"))

    class Producer:
        name, shape, dtype = "P", (), INT32

    assert refused(Allocate(scratch, INT32, (IntImm(16),), nothing, origin=at)) == (
        "function 'f', C (gemm.py:7): 'acc' is in the accelerator's memory 'local.acc_buffer', which host code cannot "
        "address; its accesses should have become DMA, GEMM or ALU operations"
    )
    assert refused(BufferRealize(z, (), nothing)) == "function 'f': buffer 'z' is not flattened yet"
    assert refused(AttrStmt(axis, AttrKey.VIRTUAL_THREAD, IntImm(2), nothing)) == (
        "function 'f': attribute virtual_thread should have been lowered before host code is made"
    )
    assert refused(Evaluate(z.access_ptr("r", "int32"))) == (
        "function 'f': tir.tvm_access_ptr should have been lowered before host code is made"
    )
    assert refused(Evaluate(ProducerLoad(Producer(), ()))) == (
        "function 'f': a ProducerLoad is left; lower the schedule first"
    )
    assert refused(Evaluate(Var("ghost"))) == "function 'f': variable 'ghost' is used, but nothing defines it"
    assert refused(BufferStore(z, const(1.0, "float32"), (IntImm(0),)), z) == (
        "function 'f': a value of float32 is stored into buffer 'z' of int32; cast it first"
    )
    odd = decl_buffer((4,), "int24", "odd")
    assert refused(BufferStore(odd, const(1, "int24"), (IntImm(0),)), odd) == (
        "an element of int24 is not a whole number of bytes (8, 16, 32 or 64 bits)"
    )


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["2d"], "'2d' cannot name a function; use letters, digits and underscores"),
        (["a", "a"], "two functions are called 'a'; give each its own name"),
        (["malloc"], "'malloc' is a function that host code calls itself; give the kernel another name"),
        (["VTAUopPush"], "'VTAUopPush' is a function that host code calls itself; give the kernel another name"),
    ],
)
def test_function_names_are_checked(names: list[str], text: str) -> None:
    functions = [function_of(name, [], Evaluate(IntImm(0))) for name in names]
    with pytest.raises(CodegenError) as error:
        emit_host(functions, VTAConfig())
    assert str(error.value) == text


def test_an_access_pointer_to_host_memory_is_an_address() -> None:
    x, z = decl_buffer((8,), "int32", "x"), decl_buffer((8,), "int32", "z")
    copy = Call(
        HANDLE,
        Builtin.CALL_EXTERN,
        (StringImm("memcpy"), z.access_ptr("w", offset=2), x.access_ptr("r", offset=4), const(8, "int64")),
    )
    first = Call(HANDLE, Builtin.ADDRESS_OF, (z.load(0),))
    again = Call(
        HANDLE,
        Builtin.CALL_EXTERN,
        (StringImm("memcpy"), first, Call(HANDLE, Builtin.ADDRESS_OF, (x.load(7),)), const(4, "int64")),
    )
    a, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    assert call_host(function_of("f", [x, z], seq([Evaluate(copy), Evaluate(again)])), a, out) is None
    assert out.tolist() == [7, 0, 4, 5, 0, 0, 0, 0]
