"""Parallel loops in compiled host code: what they capture, which of them the pool gets, how they fail."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.native.thread_pool import PARALLEL_FOR_SYMBOL, num_threads, set_threads
from tests.support.runtime.host_call import FakeRuntime, call_host, run_on
from vta import te
from vta.build_module import build_generic
from vta.codegen.host import LEAST_PARALLEL_WORK, emit_host
from vta.codegen.module import HostCodeError, load_module
from vta.tir import ops
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.calls import call_packed
from vta.tir.dtype import HANDLE, INT32, INT64, DType
from vta.tir.expr import Builtin, Call, Expr, IntImm, PointerType, StringImm, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, AssertStmt, BufferStore, Evaluate, For, ForKind, LetStmt, Stmt, seq

SIZE = LEAST_PARALLEL_WORK
"""Iterations that are worth the pool's while, however little each does."""


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    before = num_threads()
    set_threads(3)
    yield
    set_threads(before)


def parallel(var: Var, extent: int | Expr, body: Stmt, begin: int | Expr = 0) -> Stmt:
    first, count = (IntImm(x, var.dtype) if isinstance(x, int) else x for x in (begin, extent))
    return For(var, first, count, body, ForKind.PARALLEL)


def function_of(body: Stmt, *params: Buffer | Var) -> PrimFunc:
    handles = tuple(Var(p.name, HANDLE) if isinstance(p, Buffer) else p for p in params)
    buffers = {h: p for h, p in zip(handles, params, strict=True) if isinstance(p, Buffer)}
    return PrimFunc("f", handles, body, buffers)


def in_the_pool(func: PrimFunc) -> int:
    """Return how many loops of a function the pool gets."""
    return emit_host([func], VTAConfig()).source.count(f'call i32 @"{PARALLEL_FOR_SYMBOL}"')


def squares(size: int) -> tuple[Stmt, Buffer]:
    out, i = decl_buffer((size,), "int32", "out"), Var("i")
    return parallel(i, size, BufferStore(out, i * i, (i,))), out


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_what_the_body_captures_arrives(level: int) -> None:
    x, out = decl_buffer((SIZE,), "int32", "x"), decl_buffer((SIZE,), "int32", "out")
    n, r, i, k = Var("n"), Var("r", "float32"), Var("i"), Var("k")
    flag, wide = Var("flag", "bool"), Var("wide", INT64)
    t = decl_buffer((1,), "int32", "t", Var("t", HANDLE, PointerType(DType("int32"))))
    own = decl_buffer((1,), "int32", "own", Var("own", HANDLE, PointerType(DType("int32"))))
    value = ops.select(flag, x.load(i), const(-1)) + wide.astype("int32") + r.astype("int32")
    copy = parallel(k, SIZE, BufferStore(t, x.load(k) * 2, (k,)))
    body = seq([BufferStore(own, value, (IntImm(3),)), BufferStore(out, own.load(3) + t.load(i), (i,))])
    body = parallel(i, SIZE - 100, Allocate(own.data, INT32, (IntImm(4),), body), n)
    body = LetStmt(flag, n > 5, LetStmt(wide, n.astype("int64") * 1000, body))
    func = function_of(Allocate(t.data, INT32, (IntImm(SIZE),), seq([copy, body])), x, out, n, r)
    assert in_the_pool(func) == 2
    program = emit_host([func], VTAConfig())
    given = np.random.default_rng(1).integers(-1000, 1000, SIZE).astype(np.int32)
    for number in (5, 6):
        found, expected = np.zeros(SIZE, np.int32), np.zeros(SIZE, np.int32)
        assert run_on(program, "f", [given, found, number, 2.5], level=level) is None
        walked = slice(number, number + SIZE - 100)
        expected[walked] = (given[walked] if number > 5 else -1) + number * 1000 + 2 + given[walked] * 2
        np.testing.assert_array_equal(found, expected)


def test_strides_that_come_with_the_call_are_captured() -> None:
    rows, columns = Var("rows"), Var("columns")
    x = decl_buffer((rows, columns), "int32", "x")
    out, i, j = decl_buffer((rows, columns), "int32", "out"), Var("i"), Var("j")
    inner = For(j, IntImm(0), columns, BufferStore(out, x.load(i, j) + 1, (i, j)))
    func = function_of(parallel(i, rows, inner), x, out)
    assert in_the_pool(func) == 1
    for shape in ((7, 5), (1, 9), (100, 300)):
        given, found = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape), np.zeros(shape, np.int32)
        assert call_host(func, given, found) is None
        np.testing.assert_array_equal(found, given + 1)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_loop_without_iterations_does_nothing(dtype: str) -> None:
    out, i, n = decl_buffer((SIZE,), "int32", "out"), Var("i", dtype), Var("n")
    body = parallel(i, n.astype(dtype), BufferStore(out, const(1), (i,)))
    func = function_of(body, out, n)
    assert in_the_pool(func) == 1
    for count in (0, -3, 1, 5):
        found = np.zeros(SIZE, np.int32)
        assert call_host(func, found, count) is None
        assert found.sum() == max(count, 0)


def test_what_belongs_to_a_thread_stays_there() -> None:
    body, out = squares(SIZE)
    assert in_the_pool(function_of(body, out)) == 1
    i, o = Var("i"), Var("o")
    for call in (
        call_packed("somewhere"),
        Call(INT32, Builtin.CALL_EXTERN, (StringImm("VTADepPush"), Call(HANDLE, Builtin.COMMAND_HANDLE), i, i)),
        Call(INT32, Builtin.COPROC_DEP_POP, (IntImm(1), IntImm(2))),
    ):
        assert in_the_pool(function_of(parallel(i, SIZE, Evaluate(call)))) == 0
    nested, out = squares(SIZE)
    assert in_the_pool(function_of(parallel(o, 2, nested), out)) == 1
    serial, out = squares(SIZE)
    assert in_the_pool(function_of(For(o, IntImm(0), IntImm(2), serial), out)) == 1
    for extent, expected in ((1, 0), (LEAST_PARALLEL_WORK // 16, 0), (LEAST_PARALLEL_WORK, 1)):
        small, out = squares(extent)
        assert in_the_pool(function_of(small, out)) == expected


def test_the_accelerators_part_of_a_program_asks_on_the_callers_thread() -> None:
    runtime, i = FakeRuntime(), Var("i")
    wait = Call(INT32, Builtin.COPROC_DEP_PUSH, (i, i + 1))
    assert call_host(function_of(parallel(i, 3, Evaluate(wait))), runtime=runtime) is None
    pushed = [call[2:] for call in runtime.calls if call[0] == "VTADepPush"]
    assert pushed == [(0, 1), (1, 2), (2, 3)]


def test_the_error_is_that_of_the_loop_in_order() -> None:
    out, x, i = decl_buffer((SIZE,), "int32", "out"), decl_buffer((SIZE,), "int32", "x"), Var("i")
    store = BufferStore(out, ops.truncdiv(IntImm(100), x.load(i)), (i,))
    func = function_of(parallel(i, SIZE, AssertStmt(x.load(i) > -1, StringImm("below"), store)), out, x)
    assert in_the_pool(func) == 1
    good = np.ones(SIZE, np.int32)
    assert call_host(func, np.zeros(SIZE, np.int32), good) is None
    for first, second, text in ((-1, 0, "below"), (0, -1, "integer division by zero")):
        bad = good.copy()
        bad[SIZE // 2], bad[SIZE // 2 + 1 :: 7] = first, second
        for _ in range(10):
            assert (call_host(func, np.zeros(SIZE, np.int32), bad) or "").endswith(f": {text}")


def test_a_module_raises_in_the_caller_and_works_after_it() -> None:
    a = te.placeholder((SIZE,), "int32", "a")
    b = te.compute(a.shape, lambda i: te.truncdiv(const(12), a[i]), "b")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    module = build_generic(s, [a, b], "llvm")
    given, found = np.full(SIZE, 5, np.int32), np.zeros(SIZE, np.int32)
    given[-1] = 0
    with pytest.raises(HostCodeError, match="integer division by zero"):
        module(given, found)
    given[-1] = 4
    module(given, found)
    np.testing.assert_array_equal(found, 12 // given)


def test_a_saved_module_has_its_parallel_loops_when_it_is_loaded(tmp_path: Path) -> None:
    a = te.placeholder((64, 512), "float32", "a")
    b = te.compute(a.shape, lambda i, j: a[i, j] * 2.0 + 1.0, "b")
    s = te.create_schedule(b.op)
    s[b].parallel(s[b].split(b.op.axis[0], 5)[0])
    s[b].vectorize(s[b].split(b.op.axis[1], 16)[1])
    build_generic(s, [a, b], "llvm").save(tmp_path / "m.o")
    given, found = np.random.default_rng(2).random((64, 512), np.float32), np.zeros((64, 512), np.float32)
    load_module(tmp_path / "m.o")(given, found)
    np.testing.assert_array_equal(found, given * np.float32(2) + np.float32(1))
    assert PARALLEL_FOR_SYMBOL.encode() in (tmp_path / "m.o").read_bytes()
