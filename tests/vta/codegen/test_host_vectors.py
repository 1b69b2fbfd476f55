"""Vectors in compiled host code: the same numbers as the interpreter's, in vector instructions."""

import re
from collections.abc import Callable

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from runtime.native.compiling import assembly_of
from runtime.native.target import CodeTarget
from tests.support.runtime.host_call import call_host
from vta import te
from vta.codegen.host import emit_host
from vta.codegen.llvm_types import CodegenError
from vta.passes import pipelines as pipeline
from vta.tir import ops
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import HANDLE, DType
from vta.tir.expr import Broadcast, BufferLoad, Builtin, Call, Cast, Expr, FloorDiv, IntImm, Ramp, Select, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import InterpreterError, run_func
from vta.tir.stmt import BufferStore, For, IfThenElse
from vta.tir.traverse import walk

N = 32
RAMP = Ramp(const(0), const(1), N)
INTEGERS = ("int8", "uint8", "int16", "int32", "uint32", "int64")
FLOATS = ("float16", "float32", "float64")

Unary = Callable[[Expr], Expr]


def lanes(value: float, dtype: str) -> Expr:
    return Broadcast(const(value, dtype), N)


def program(value: Callable[[Expr, Expr], Expr], dtype: str, result: str, index: Expr = RAMP) -> PrimFunc:
    """Return ``out = value(a, b)``, all lanes at once."""
    a, b, out = (decl_buffer((N,), t, name) for t, name in ((dtype, "a"), (dtype, "b"), (result, "out")))
    body = BufferStore(out, value(BufferLoad(a, (index,)), BufferLoad(b, (index,))), (index,))
    return function(body, a, b, out)


def function(body: BufferStore | For, *buffers: Buffer) -> PrimFunc:
    params = tuple(Var(buffer.name, HANDLE) for buffer in buffers)
    return PrimFunc("f", params, body, dict(zip(params, buffers, strict=True)))


def numbers(dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, N).astype(bool)
    if dtype.startswith("float"):
        return rng.normal(size=N).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, N, endpoint=True, dtype=dtype)


def check(func: PrimFunc, dtype: str, result: str, *, tolerance: float = 0) -> None:
    a, b = numbers(dtype, 1), numbers(dtype, 2)
    native, truth = np.zeros(N, result), np.zeros(N, result)
    run_func(func, [a, b, truth])
    assert call_host(func, a, b, native) is None
    np.testing.assert_allclose(native, truth, rtol=tolerance, atol=0)


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
def test_arithmetic(dtype: str) -> None:
    check(program(lambda a, b: ops.max(a + b, a * lanes(3, dtype)) - ops.min(a, b), dtype, dtype), dtype, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("divisor", [1, 3, 8])
def test_division(dtype: str, divisor: int) -> None:
    by = lanes(divisor, dtype)

    def value(a: Expr, b: Expr) -> Expr:
        return a // by + b % by - ops.truncdiv(a, by) * ops.truncmod(b, by)

    check(program(value, dtype, dtype), dtype, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_constants_and_by_lanes(dtype: str) -> None:
    def value(a: Expr, b: Expr) -> Expr:
        count = Call(b.dtype, Builtin.BITWISE_AND, (b, lanes(7, dtype)))
        return (a << count) + (a >> count) + (a >> lanes(2, dtype))

    check(program(value, dtype, dtype), dtype, dtype)


@pytest.mark.parametrize("source", [*INTEGERS, "bool"])
@pytest.mark.parametrize("target", [*INTEGERS, "bool", "float32", "float64"])
def test_conversions_of_integers(source: str, target: str) -> None:
    check(program(lambda a, _: Cast(DType(target).with_lanes(N), a), source, target), source, target)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", [*FLOATS, "int8", "int32", "uint8"])
def test_conversions_of_floats(source: str, target: str) -> None:
    func = program(lambda a, _: Cast(DType(target).with_lanes(N), ops.abs(a)), source, target)
    check(func, source, target)


def test_comparisons_select_lanes() -> None:
    check(program(lambda a, b: Select(a < b, a, lanes(7, "int32")), "int32", "int32"), "int32", "int32")
    check(program(lambda a, b: (a < b) & ~(a > lanes(0, "int32")), "int32", "bool"), "int32", "bool")


def test_likely_lanes_are_chosen_one_by_one() -> None:
    x, y = (te.placeholder((16,), "int32", name) for name in "xy")
    z = te.compute((16,), lambda i: te.if_then_else(te.likely(x[i] > 4), x[i], y[i]), "z")
    schedule = te.create_schedule(z.op)
    schedule[z].vectorize(z.op.axis[0])
    a = np.arange(16, dtype=np.int32) * 3 - 20
    b = a * a % 17 - 8
    found = vta.nd.empty((16,), "int32")
    vta.build(schedule, [x, y, z], target="llvm")(vta.nd.array(a), vta.nd.array(b), found)
    assert np.array_equal(found.numpy(), np.where(a > 4, a, b))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [Builtin.SQRT, Builtin.FLOOR, Builtin.ROUND, Builtin.EXP, Builtin.TANH, Builtin.SIGMOID])
def test_functions(dtype: str, op: Builtin) -> None:
    func = program(lambda a, _: Call(a.dtype, op, (ops.abs(a),)), dtype, dtype)
    check(func, dtype, dtype, tolerance={"float16": 2e-3, "float32": 1e-6, "float64": 1e-12}[dtype])


@pytest.mark.parametrize("index", [Ramp(const(31), const(-1), N), RAMP * lanes(5, "int32") % lanes(32, "int32")])
def test_elements_that_are_no_neighbours(index: Expr) -> None:
    check(program(lambda a, b: a + b, "int16", "int16", index), "int16", "int16")


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("signed", [True, False])
def test_packed_elements(bits: int, signed: bool) -> None:
    dtype = f"{'int' if signed else 'uint'}{bits}"
    a, b = decl_buffer((N,), dtype, "a"), decl_buffer((N,), dtype, "b")
    more = 0 if bits == 1 else 1
    i = Var("i")
    vector = function(BufferStore(b, BufferLoad(a, (RAMP,)) + lanes(more, dtype), (RAMP,)), a, b)
    scalar = function(For(i, IntImm(0), IntImm(N), BufferStore(b, a.load(i) + const(more, dtype), (i,))), a, b)
    data = np.random.default_rng(5).integers(0, 256, N * bits // 8).astype(np.uint8)
    results = [np.zeros(N * bits // 8, np.uint8) for _ in range(2)]
    for func, result in zip((vector, scalar), results, strict=True):
        assert call_host(func, data, result) is None
    np.testing.assert_array_equal(*results)


def test_a_division_by_zero_in_one_lane_is_reported() -> None:
    func = program(FloorDiv, "int32", "int32")
    a, b, out = numbers("int32", 1), np.ones(N, np.int32), np.zeros(N, np.int32)
    assert call_host(func, a, b, out) is None
    np.testing.assert_array_equal(out, a)
    b[17] = 0
    assert call_host(func, a, b, out) == "function 'f': integer division by zero"
    with pytest.raises(InterpreterError, match="division by zero"):
        run_func(func, [a, b, out])


def test_lanes_that_go_different_ways_are_refused() -> None:
    func = program(lambda a, b: Call(a.dtype, Builtin.IF_THEN_ELSE, (a < b, a, b)), "int32", "int32")
    with pytest.raises(CodegenError) as caught:
        emit_host([func], VTAConfig())
    assert str(caught.value) == ("function 'f': lanes of a vector cannot take different ways; keep the loop serial")


def test_a_conversion_to_fewer_lanes_is_refused() -> None:
    wide = DType("int8").with_lanes(N)
    func = program(lambda a, _: Cast(wide, Cast(DType("int16"), const(1))) + Cast(wide, a), "int16", "int8")
    with pytest.raises(CodegenError) as caught:
        emit_host([func], VTAConfig())
    assert str(caught.value) == "int16 cannot be converted to int8x32"


VECTOR_REGISTER = re.compile(r"%[xyz]mm\d")


@pytest.mark.parametrize(
    ("dtype", "instruction"), [("int8", "vpaddb"), ("int16", "vpaddw"), ("int32", "vpaddd"), ("float32", "vaddps")]
)
def test_a_vector_is_vector_instructions(dtype: str, instruction: str) -> None:
    func = program(lambda a, b: a + b, dtype, dtype)
    machine = CodeTarget(triple="x86_64-unknown-linux-gnu", cpu="haswell")
    text = assembly_of(emit_host([func], VTAConfig()).source, machine)
    assert instruction in text
    assert VECTOR_REGISTER.search(text)


def host_loop(dtype: str, result: str, value: Callable[[Expr, Expr], Expr], *, split: bool) -> PrimFunc:
    """Return the host code of a stage over 1000 elements, maybe ``split`` into vectors of 32."""
    a, b = (te.placeholder((1000,), dtype, name) for name in ("a", "b"))
    out = te.compute((1000,), lambda i: value(a[i], b[i]).astype(result), "out")
    schedule = te.create_schedule(out.op)
    if split:
        _, inner = schedule[out].split(out.op.axis[0], factor=32)
        schedule[out].vectorize(inner)
    return pipeline.run(te.schedule_to_func(schedule, [a, b, out], "f"), VTAConfig())


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    ("dtype", "result", "value", "instruction"),
    [
        ("int8", "int8", lambda a, b: a + b, "vpaddb"),
        ("int32", "int32", lambda a, b: a * b, "vpmulld"),
        ("float32", "float32", lambda a, b: a * b, "vmulps"),
        ("int32", "int8", lambda a, b: te.max(te.min((a + b) >> 8, 127), -127), "vpminsd"),
        ("int32", "int32", lambda a, b: te.if_then_else(a > b, a, b - 1), "vpcmpgtd"),
    ],
)
def test_elementwise_loops_of_the_host_are_vector_instructions(
    dtype: str, result: str, value: Callable[[Expr, Expr], Expr], instruction: str, *, split: bool
) -> None:
    machine = CodeTarget(triple="x86_64-unknown-linux-gnu", cpu="haswell")
    text = assembly_of(emit_host([host_loop(dtype, result, value, split=split)], VTAConfig()).source, machine)
    assert re.search(rf"{instruction}\s.*%[xy]mm", text)


def test_the_guarded_tail_of_a_split_leaves_the_others_in_vectors() -> None:
    func = host_loop("int8", "int8", lambda a, b: a + b, split=True)
    lanes_of_stores = [node.value.dtype.lanes for node in walk(func.body) if isinstance(node, BufferStore)]
    assert lanes_of_stores == [32, 1000 % 32]
    assert not any(isinstance(node, IfThenElse) for node in walk(func.body))


def test_neighbours_are_one_access_also_where_their_index_is_a_sum() -> None:
    x, z = decl_buffer((4, 64), "int32", "x"), decl_buffer((64,), "int32", "z")
    row, ones = Var("row"), Ramp(IntImm(0), IntImm(1), 16)
    start = Broadcast(row * 3, 16)
    load = BufferLoad(x, (Broadcast(IntImm(2), 16), start + ones + Broadcast(IntImm(1), 16)))
    hx, hz = (Var(name, HANDLE) for name in "xz")
    func = PrimFunc("f", (hx, hz, row), BufferStore(z, load, (ones + start,)), {hx: x, hz: z})
    source = emit_host([func], VTAConfig()).source
    assert source.count("load <16 x i32>") == source.count("store <16 x i32>") == 1
    given, found = np.arange(256, dtype=np.int32).reshape(4, 64), np.zeros(64, np.int32)
    assert call_host(func, given, found, 5) is None
    expected = np.zeros(64, np.int32)
    expected[15:31] = given[2, 16:32]
    np.testing.assert_array_equal(found, expected)
