"""Indices that wrap: LLVM's vectoriser takes them for ones that run on, unless its analysis cannot see them."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

import vta
from bench.host_fuzz import difference
from isa.config import VTAConfig
from tests.support.runtime.host_call import run_on
from vta import te
from vta.codegen.host import emit_host
from vta.codegen.wrapping_indices import ONES_SYMBOL
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import HANDLE, INT32, DType
from vta.tir.expr import BufferLoad, Builtin, Call, Cast, Expr, FloorDiv, FloorMod, Mod, Ramp, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import Allocate, BufferStore, For, Stmt, seq

N = 300
UINT8, UINT32 = DType("uint8"), DType("uint32")
STEP, START = Var("i", INT32), Var("s", INT32)
A, C, T = decl_buffer((512,), "int32", "a"), decl_buffer((512,), "int32", "c"), decl_buffer((1,), "int32", "t")
B = decl_buffer((N,), "int32", "b")


def call(op: Builtin, *args: Expr) -> Expr:
    return Call(args[0].dtype, op, args)


def shifted(value: Expr) -> Expr:
    count = const(29, value.dtype)
    return call(Builtin.SHIFT_RIGHT, call(Builtin.SHIFT_LEFT, value, count), count)


# All but the signed ones were wrong in LLVM 20 to 22 without what is tested here.
WRAPPING: dict[str, Callable[[Expr], Expr]] = {
    "floormod": lambda i: FloorMod(i, const(8)),
    "truncmod": lambda i: Mod(Cast(UINT32, i), const(8, UINT32)),
    "mask": lambda i: call(Builtin.BITWISE_AND, i, const(7)),
    "mask of a negation": lambda i: ~call(Builtin.BITWISE_OR, ~i, const(-8)),
    "quotient taken away": lambda i: i - FloorDiv(i, const(8)) * 8,
    "high bits taken away": lambda i: i - call(Builtin.BITWISE_AND, i, const(-8)),
    "high bits flipped": lambda i: call(Builtin.BITWISE_XOR, i, call(Builtin.BITWISE_AND, i, const(-8))),
    "shifts": lambda i: shifted(Cast(UINT32, i)),
    "signed shifts": lambda i: shifted(i) + 4,
    "int8": lambda i: Cast(INT32, Cast(DType("int8"), i)) + 128,
    "uint8": lambda i: Cast(UINT8, i) * const(3, UINT8),
}


def function(body: Stmt, *buffers: Buffer) -> PrimFunc:
    handles = {Var(buffer.name, HANDLE): buffer for buffer in buffers}
    return PrimFunc("f", (*handles, START), body, handles, {"tir.noalias": True})


def beside_a_wide_read(index: Expr, *, by_memory: bool = False) -> PrimFunc:
    """Return ``b[i] = a[i + s] - c[index]`` for every i, with the index by way of a temporary if ``by_memory``."""
    before: list[Stmt] = []
    if by_memory:
        before.append(BufferStore(T, index if index.dtype == INT32 else Cast(INT32, index), (const(0),)))
        index = BufferLoad(T, (const(0),))
    difference = BufferLoad(A, (Cast(UINT32, STEP + START),)) - BufferLoad(C, (index,))
    body = seq([*before, BufferStore(B, difference, (STEP,))])
    if by_memory:
        body = Allocate(T.data, INT32, (const(1),), body)
    return function(For(STEP, const(0), const(N), body), A, C, B)


def check(func: PrimFunc, level: int) -> None:
    rng = np.random.default_rng(5)
    a, c = rng.integers(-1000, 1000, (2, 512)).astype(np.int32)
    expected, found = np.zeros(N, np.int32), np.zeros(N, np.int32)
    run_func(func, [a, c, expected, 5])
    assert run_on(emit_host([func], VTAConfig()), "f", [a, c, found, 5], level=level) is None
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("by_memory", [False, True], ids=["direct", "by a temporary"])
@pytest.mark.parametrize("form", WRAPPING)
def test_an_index_that_wraps_is_right_beside_one_that_may_not(form: str, by_memory: bool) -> None:
    check(beside_a_wide_read(WRAPPING[form](STEP), by_memory=by_memory), level=2)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_two_periodic_reads_in_one_loop_are_right_at_every_level(level: int) -> None:
    a = te.placeholder((32, 8), "int32", "a")
    c = te.placeholder((16, 20), "int32", "c")
    b = te.compute((16, 64), lambda j, i: a[j, (i + j + 6) % 8] - c[i % 16, i % 20], "b")
    schedule = te.create_schedule(b.op)
    schedule[b].split(b.op.axis[1], factor=16)
    with vta.transform.PassContext(opt_level=level):
        module = vta.build(schedule, [a, c, b], target="llvm")
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 100, (32, 8)).astype(np.int32), rng.integers(0, 100, (16, 20)).astype(np.int32)
    found = vta.nd.empty((16, 64), "int32")
    module(vta.nd.array(x), vta.nd.array(y), found)
    j, i = np.meshgrid(np.arange(16), np.arange(64), indexing="ij")
    assert np.array_equal(found.numpy(), x[j, (i + j + 6) % 8] - y[i % 16, i % 20])


def test_a_periodic_read_at_a_stride_is_right() -> None:
    a = te.placeholder((9, 16), "int32", "a")
    b = te.compute((9, 16), lambda j, i: a[j, (i * 3 + 1) % 16] - a[(j * 3 + 1) % 9, (i * 3 + 1) % 16] * 3, "b")
    module = vta.build(te.create_schedule(b.op), [a, b], target="llvm")
    x = np.arange(144, dtype=np.int32).reshape(9, 16)
    found = vta.nd.empty((9, 16), "int32")
    module(vta.nd.array(x), found)
    j, i = np.meshgrid(np.arange(9), np.arange(16), indexing="ij")
    place = (i * 3 + 1) % 16
    assert np.array_equal(found.numpy(), x[j, place] - x[(j * 3 + 1) % 9, place] * 3)


def source_of(func: PrimFunc) -> str:
    return emit_host([func], VTAConfig()).source


@pytest.mark.parametrize("form", WRAPPING)
def test_whatever_narrows_an_index_is_hidden(form: str) -> None:
    assert ONES_SYMBOL in source_of(beside_a_wide_read(WRAPPING[form](STEP)))


STRAIGHT: dict[str, Expr] = {
    "counter": STEP,
    "multiple": STEP * 3 + START,
    "remainder by no power of two": FloorMod(STEP * 3, const(20)),
    "index of 64 bits": Cast(DType("int64"), STEP),
    "index cut to 32 bits": Cast(INT32, Cast(DType("int64"), STEP) + const(1, "int64")),
}


@pytest.mark.parametrize("form", STRAIGHT)
def test_what_does_not_narrow_is_left_alone(form: str) -> None:
    assert ONES_SYMBOL not in source_of(beside_a_wide_read(STRAIGHT[form]))


def test_arithmetic_on_data_is_left_alone() -> None:
    value = call(Builtin.BITWISE_AND, BufferLoad(A, (STEP,)) >> 3, const(127))
    narrow = Cast(INT32, Cast(DType("int8"), value))
    assert ONES_SYMBOL not in source_of(function(For(STEP, const(0), const(N), BufferStore(B, narrow, (STEP,))), A, B))


def test_lanes_of_a_vector_are_hidden_too() -> None:
    lanes = Ramp(STEP * 4, const(3), 4)
    index = FloorMod(lanes, vta.tir.Broadcast(const(8), 4))
    body = BufferStore(B, BufferLoad(A, (index,)), (Ramp(STEP * 4, const(1), 4),))
    func = function(For(STEP, const(0), const(N // 4), body), A, C, B)
    assert ONES_SYMBOL in source_of(func)
    for level in (0, 2):
        check(func, level)


def test_where_a_vector_begins_is_left_alone_unless_it_is_written_and_read() -> None:
    place = Ramp(FloorMod(STEP * 4, const(64)), const(1), 4)
    copy = BufferStore(B, BufferLoad(A, (place,)), (Ramp(STEP * 4, const(1), 4),))
    again = BufferStore(B, BufferLoad(B, (place,)) + BufferLoad(A, (place,)), (place,))
    for body, hidden in ((copy, False), (again, True)):
        func = function(For(STEP, const(0), const(N // 4), body), A, C, B)
        assert (ONES_SYMBOL in source_of(func)) is hidden
        for level in (0, 2, 3):
            check(func, level)


def test_random_loops_and_schedules_equal_the_interpreter_at_every_level() -> None:
    numbers = Random(20).sample(range(10_000), 24)
    assert [found for number in numbers if (found := difference(4, number)) is not None] == []
