"""Arithmetic in compiled host code, against Python's and numpy's."""

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.runtime.host_call import call_host
from vta.codegen.host import emit_host
from vta.codegen.llvm_types import CodegenError
from vta.tir import ops
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import BOOL, HANDLE, INT32, DType
from vta.tir.expr import (
    Add,
    And,
    Binary,
    Broadcast,
    Builtin,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    StringImm,
    Sub,
    Var,
    const,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import BufferStore, For, seq

N = 64


def elementwise(name: str, sources: list[Buffer], target: Buffer, value: Expr, index: Var) -> PrimFunc:
    """Return ``for index: target[index] = value``."""
    buffers = [*sources, target]
    params = tuple(Var(b.name, HANDLE) for b in buffers)
    body = For(index, IntImm(0), IntImm(N), BufferStore(target, value, (index,)))
    return PrimFunc(name, params, body, dict(zip(params, buffers, strict=True)))


def binary_result(kind: type[Binary], dtype: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Run ``kind(a, b)`` on whole arrays."""
    x, y, z = (decl_buffer((N,), dtype, name) for name in "xyz")
    i = Var("i")
    out = np.zeros(N, dtype)
    function = elementwise("f", [x, y], z, kind(x.load(i), y.load(i)), i)
    assert call_host(function, a, b, out) is None
    return out


def edge_values(dtype: str, seed: int) -> np.ndarray:
    """Return N random numbers, the smallest, largest and near-zero ones among them."""
    info = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    values = rng.integers(info.min, info.max, size=N, endpoint=True, dtype=dtype)
    values[:6] = [info.min, info.max, 0, 1, info.min + 1, info.max - 1]
    values[20:40] = values[20:40] % 7
    return values


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("kind", [Add, Sub, Mul, Min, Max])
def test_integer_arithmetic_wraps_like_numpy(kind: type[Binary], dtype: str) -> None:
    a, b = edge_values(dtype, 1), np.roll(edge_values(dtype, 2), 3)
    expected = {Add: np.add, Sub: np.subtract, Mul: np.multiply, Min: np.minimum, Max: np.maximum}[kind](a, b)
    np.testing.assert_array_equal(binary_result(kind, dtype, a, b), expected)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
@pytest.mark.parametrize("kind", [FloorDiv, FloorMod, Div, Mod])
def test_division_rounds_as_the_node_says(kind: type[Binary], dtype: str) -> None:
    a, b = edge_values(dtype, 3), np.roll(edge_values(dtype, 4), 5)
    b[b == 0] = 3
    signed = np.issubdtype(dtype, np.signedinteger)
    if signed:
        a[7], b[7] = np.iinfo(dtype).min, -1

    def by_hand(x: int, y: int) -> int:
        quotient = x // y if kind in (FloorDiv, FloorMod) else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return quotient if kind in (FloorDiv, Div) else x - quotient * y

    expected = np.array([by_hand(int(x), int(y)) for x, y in zip(a, b, strict=True)], dtype=object)
    wrapped = np.array([int(v) & (1 << 8 * a.itemsize) - 1 for v in expected], f"uint{8 * a.itemsize}").view(dtype)
    np.testing.assert_array_equal(binary_result(kind, dtype, a, b), wrapped)


@pytest.mark.parametrize("divisor", [1, 2, 3, 8, -1, -2, -5, 64])
@pytest.mark.parametrize("kind", [FloorDiv, FloorMod, Div, Mod])
def test_division_by_a_constant(kind: type[Binary], divisor: int) -> None:
    x, z = decl_buffer((N,), "int32", "x"), decl_buffer((N,), "int32", "z")
    i = Var("i")
    a = np.concatenate([np.arange(-30, 31), [2**31 - 1, -(2**31), -(2**31) + 1]]).astype(np.int32)
    out = np.zeros(N, np.int32)
    assert call_host(elementwise("f", [x], z, kind(x.load(i), IntImm(divisor)), i), a, out) is None
    exact = a.astype(np.int64)
    floor = exact // divisor
    quotient = floor if kind in (FloorDiv, FloorMod) else np.trunc(exact / divisor).astype(np.int64)
    expected = quotient if kind in (FloorDiv, Div) else exact - quotient * divisor
    np.testing.assert_array_equal(out, expected.astype(np.int32))


@pytest.mark.parametrize("kind", [FloorDiv, FloorMod, Div, Mod])
def test_a_division_by_zero_is_reported(kind: type[Binary]) -> None:
    x, z = decl_buffer((N,), "int32", "x"), decl_buffer((N,), "int32", "z")
    i = Var("i")
    function = elementwise("halve", [x], z, kind(IntImm(7), x.load(i)), i)
    values = np.ones(N, np.int32)
    values[5] = 0
    assert call_host(function, values, np.zeros(N, np.int32)) == "function 'halve': integer division by zero"


def test_a_select_does_not_divide_where_the_divisor_is_zero() -> None:
    x, z = decl_buffer((N,), "int32", "x"), decl_buffer((N,), "int32", "z")
    i = Var("i")
    value = Select((x.load(i) > 0).asexpr(), FloorDiv(IntImm(100), x.load(i)), IntImm(-1))
    values = np.arange(N, dtype=np.int32) - 10
    out = np.zeros(N, np.int32)
    assert call_host(elementwise("f", [x], z, value, i), values, out) is None
    np.testing.assert_array_equal(out, [100 // v if v > 0 else -1 for v in values.tolist()])


def test_if_then_else_reads_the_chosen_side_only() -> None:
    x, z = decl_buffer((N,), "int32", "x"), decl_buffer((N,), "int32", "z")
    i = Var("i")
    far = x.load(i - (1 << 28))  # a gigabyte before the buffer
    value = ops.if_then_else(i < N, x.load(i), far)
    values, out = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    assert call_host(elementwise("f", [x], z, value, i), values, out) is None
    np.testing.assert_array_equal(out, values)


def test_and_and_or_stop_before_a_risky_right_side() -> None:
    x, z = decl_buffer((N,), "int32", "x"), decl_buffer((N,), "int32", "z")
    i = Var("i")
    far = x.load(i - (1 << 28)) > 0
    both = And(i < 0, far)
    either = Or(i >= 0, far)
    value = Select(both, IntImm(1), Select(Not(either), IntImm(2), IntImm(3)))
    out = np.zeros(N, np.int32)
    assert call_host(elementwise("f", [x], z, value, i), np.zeros(N, np.int32), out) is None
    np.testing.assert_array_equal(out, np.full(N, 3))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
def test_shifts_beyond_the_width_behave_as_the_mathematical_shift(dtype: str) -> None:
    bits = np.iinfo(dtype).bits
    x, y = decl_buffer((N,), dtype, "x"), decl_buffer((N,), dtype, "y")
    z = decl_buffer((2 * N,), dtype, "z")
    i = Var("i")
    a = edge_values(dtype, 5)
    counts = (np.arange(N) % (bits + 4)).astype(dtype)
    params = [Var(n, HANDLE) for n in "xyz"]
    shifted = [Call(DType(dtype), op, (x.load(i), y.load(i))) for op in (Builtin.SHIFT_LEFT, Builtin.SHIFT_RIGHT)]
    body = seq([BufferStore(z, shifted[0], (i,)), BufferStore(z, shifted[1], (i + N,))])
    function = PrimFunc(
        "f", tuple(params), For(i, IntImm(0), IntImm(N), body), dict(zip(params, [x, y, z], strict=True))
    )
    out = np.zeros(2 * N, dtype)
    assert call_host(function, a, counts, out) is None
    mask = (1 << bits) - 1
    left = [(int(v) << int(c)) & mask for v, c in zip(a, counts, strict=True)]
    right = [(int(v) >> int(c)) & mask for v, c in zip(a, counts, strict=True)]
    np.testing.assert_array_equal(out, np.array(left + right, f"uint{bits}").view(dtype))


@pytest.mark.parametrize("count", [-1, 0, 5, 31, 32, 40])
def test_a_constant_shift_count_may_be_anything(count: int) -> None:
    x, z = decl_buffer((N,), "int32", "x"), decl_buffer((N,), "int32", "z")
    i = Var("i")
    a, out = edge_values("int32", 6), np.zeros(N, np.int32)
    value = Call(INT32, Builtin.SHIFT_RIGHT, (x.load(i), IntImm(count)))
    assert call_host(elementwise("f", [x], z, value, i), a, out) is None
    np.testing.assert_array_equal(out, a >> (count if 0 <= count < 32 else 31))


def test_bitwise_operations() -> None:
    x, y, z = (decl_buffer((N,), "int32", name) for name in "xyz")
    i = Var("i")
    a, b, out = edge_values("int32", 7), edge_values("int32", 8)[::-1].copy(), np.zeros(N, np.int32)
    value = ((x.load(i) & y.load(i)) ^ (x.load(i) | IntImm(5))) + ~y.load(i)
    assert call_host(elementwise("f", [x, y], z, value, i), a, b, out) is None
    np.testing.assert_array_equal(out, ((a & b) ^ (a | 5)) + ~b)


@pytest.mark.parametrize("source", ["int8", "uint8", "int32", "int64", "float32", "bool"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "int64", "float32", "float64", "bool"])
def test_casts_convert_like_numpy_where_the_value_fits(source: str, target: str) -> None:
    rng = np.random.default_rng(9)
    a = rng.integers(0, 2, N) if source == "bool" else rng.integers(0 if "u" in source + target else -90, 91, N)
    a = a.astype(source)
    x, z = decl_buffer((N,), source, "x"), decl_buffer((N,), target, "z")
    i = Var("i")
    out = np.zeros(N, target)
    assert call_host(elementwise("f", [x], z, Cast(DType(target), x.load(i)), i), a, out) is None
    np.testing.assert_array_equal(out, a.astype(target))


def test_a_double_becomes_a_half_with_one_rounding() -> None:
    """Halfway cases of float16, and values so close to them that a detour over float32 would round twice."""
    rng = np.random.default_rng(3)
    ties = (2048 + np.arange(8)) / np.float64(2) ** rng.integers(0, 30, 8)
    near = [tie + sign * 2.0**-45 * tie for tie in [1 + 2.0**-11, *ties] for sign in (-1, 0, 1)]
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 65504.0, 65519.99, 65520.0, 1e300, 1e-300, 2.0**-25, 2.0**-25 * 1.0001]
    a = np.resize(np.array([*near, *ends, *-np.array(near)]), N)
    x, z = decl_buffer((N,), "float64", "x"), decl_buffer((N,), "float16", "z")
    i = Var("i")
    out = np.zeros(N, np.float16)
    assert call_host(elementwise("f", [x], z, Cast(DType("float16"), x.load(i)), i), a, out) is None
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, a.astype(np.float16))
    assert np.signbit(out[np.flatnonzero(a == 0)]).tolist() == np.signbit(a[a == 0]).tolist()


def test_a_float_beyond_an_integer_type_becomes_its_nearest_value() -> None:
    x, z = decl_buffer((N,), "float32", "x"), decl_buffer((N,), "int8", "z")
    i = Var("i")
    a = np.zeros(N, np.float32)
    a[:6] = [1e9, -1e9, 127.9, -128.9, np.inf, np.nan]
    out = np.zeros(N, np.int8)
    assert call_host(elementwise("f", [x], z, Cast(DType("int8"), x.load(i)), i), a, out) is None
    assert out[:6].tolist() == [127, -128, 127, -128, 127, 0]


@pytest.mark.parametrize("kind", [Add, Sub, Mul, Div, FloorDiv, FloorMod, Min, Max])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_arithmetic(kind: type[Binary], dtype: str) -> None:
    rng = np.random.default_rng(10)
    a = rng.normal(scale=8, size=N).astype(dtype)
    b = rng.normal(scale=3, size=N).astype(dtype)
    reference = {
        Add: np.add,
        Sub: np.subtract,
        Mul: np.multiply,
        Div: np.divide,
        FloorMod: np.mod,
        Min: np.minimum,
        Max: np.maximum,
        FloorDiv: lambda p, q: np.floor(p / q),
    }
    np.testing.assert_array_equal(binary_result(kind, dtype, a, b), reference[kind](a, b))


def test_a_let_expression_computes_its_value_once_for_its_body() -> None:
    x, z = decl_buffer((N,), "int32", "x"), decl_buffer((N,), "int32", "z")
    i, t = Var("i"), Var("t")
    a, out = edge_values("int32", 11), np.zeros(N, np.int32)
    assert call_host(elementwise("f", [x], z, Let(t, x.load(i) + 1, t * t), i), a, out) is None
    np.testing.assert_array_equal(out, (a + 1) * (a + 1))


def test_comparisons_of_unsigned_numbers_are_unsigned() -> None:
    x, z = decl_buffer((N,), "uint8", "x"), decl_buffer((N,), "bool", "z")
    i = Var("i")
    a, out = edge_values("uint8", 12), np.zeros(N, bool)
    assert call_host(elementwise("f", [x], z, x.load(i) >= const(200, "uint8"), i), a, out) is None
    np.testing.assert_array_equal(out, a >= 200)


def test_buffers_of_vectors_are_refused() -> None:
    z = decl_buffer((N,), "int32x4", "z")
    with pytest.raises(CodegenError) as error:
        emit_host([elementwise("f", [], z, Broadcast(IntImm(3), 4), Var("i"))], VTAConfig())
    assert str(error.value) == (
        "function 'f': buffer 'z' has elements of int32x4; elements are scalars, of which an access may have several"
    )


def test_a_condition_is_a_byte_in_memory() -> None:
    x, z = decl_buffer((N,), "bool", "x"), decl_buffer((N,), "bool", "z")
    i = Var("i")
    a = np.arange(N) % 3 == 0
    out = np.zeros(N, bool)
    assert call_host(elementwise("f", [x], z, Not(x.load(i)), i), a, out) is None
    np.testing.assert_array_equal(out, ~a)
    assert z.dtype == BOOL


def test_strings_and_unknown_calls_reach_c_functions() -> None:
    x, z = decl_buffer((N,), "int32", "x"), decl_buffer((N,), "int32", "z")
    i = Var("i")
    value = Call(INT32, Builtin.CALL_EXTERN, (StringImm("abs"), x.load(i))) + Call(
        INT32, Builtin.CALL_EXTERN, (StringImm("atoi"), StringImm("1000"))
    )
    a, out = np.arange(-32, 32, dtype=np.int32), np.zeros(N, np.int32)
    assert call_host(elementwise("f", [x], z, value, i), a, out) is None
    np.testing.assert_array_equal(out, np.abs(a) + 1000)
