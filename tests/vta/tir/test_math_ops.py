"""Functions of floats, compiled and interpreted, against numpy."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic, lower_generic
from vta.tir import math_ops
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, ExprError, Var, const
from vta.tir.interpreter.run import InterpreterError, run_func
from vta.tir.stmt import BufferStore, Stmt

SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.5]
_ONE: dict[str, Callable[..., np.ndarray]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp2": np.exp2,
    "exp10": lambda x: 10.0**x, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "rsqrt": lambda x: 1 / np.sqrt(x), "nearbyint": np.rint, "erf": np.vectorize(math.erf),
}  # fmt: skip
_TWO: dict[str, Callable[..., np.ndarray]] = {
    "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign, "nextafter": np.nextafter, "fmod": np.fmod,
}  # fmt: skip


def both(functions: Sequence[Callable[..., Expr]], *inputs: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Yield what compiled code, then what the interpreter computes of every element by each of ``functions``."""
    tensors = [te.placeholder(a.shape, str(a.dtype), f"A{k}") for k, a in enumerate(inputs)]
    results = [te.compute(inputs[0].shape, lambda i, f=f: f(*(t[i] for t in tensors)), name="B") for f in functions]
    s = te.create_schedule([result.op for result in results])
    compiled = [vta.nd.array(np.zeros(len(inputs[0]), str(result.dtype))) for result in results]
    build_generic(s, [*tensors, *results])(*map(vta.nd.array, inputs), *compiled)
    yield [array.numpy() for array in compiled]
    interpreted = [np.zeros(len(inputs[0]), str(result.dtype)) for result in results]
    run_func(lower_generic(s, [*tensors, *results])["main"], [*inputs, *interpreted])
    yield interpreted


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_one_number_are_numpys(dtype: str) -> None:
    values = np.array([*SPECIAL, *np.random.default_rng(3).uniform(-0.99, 0.99, 20)], dtype)
    for results in both([getattr(math_ops, name) for name in _ONE], values):
        for (name, reference), got in zip(_ONE.items(), results, strict=True):
            expected = reference(values).astype(dtype)
            rtol = 1e-5 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-30, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_two_numbers_are_numpys(dtype: str) -> None:
    rng = np.random.default_rng(4)
    a = np.array([*SPECIAL, *rng.normal(scale=3, size=16)], dtype)
    b = np.array([1.0, -1.0, 2.0, 3.0, 1.0, math.inf, -0.0, 1.5, *rng.normal(scale=3, size=16)], dtype)
    for results in both([getattr(math_ops, name) for name in _TWO], a, b):
        for (name, reference), got in zip(_TWO.items(), results, strict=True):
            rtol = 1e-6 if dtype == "float32" else 1e-14
            np.testing.assert_allclose(got, reference(a, b), rtol=rtol, atol=0, err_msg=name)


def test_kinds_of_numbers() -> None:
    values = np.array(SPECIAL, np.float32)
    for nan, inf, finite in both([math_ops.isnan, math_ops.isinf, math_ops.isfinite], values):
        np.testing.assert_array_equal(nan.astype(bool), np.isnan(values))
        np.testing.assert_array_equal(inf.astype(bool), np.isinf(values))
        np.testing.assert_array_equal(finite.astype(bool), np.isfinite(values))
    n = Var("n")
    assert [str(f(n)) for f in (math_ops.isnan, math_ops.isinf, math_ops.isfinite)] == ["False", "False", "True"]


def test_bits_are_counted_as_the_type_has_them() -> None:
    for dtype in ("int8", "int32", "uint16"):
        values = np.array([0, 1, 3, 100, 127], dtype)
        values[0] -= np.array(1, dtype) if dtype != "uint16" else np.array(0, dtype)
        bits = np.dtype(dtype).itemsize * 8
        expected = [bin(int(v) & ((1 << bits) - 1)).count("1") for v in values]
        for [got] in both([math_ops.popcount], values):
            assert got.tolist() == expected


def test_zero_bits_before_the_first_one_are_counted() -> None:
    for dtype in ("int8", "int32", "uint16"):
        values = np.array([0, 1, 3, 100, 127], dtype)
        bits = np.dtype(dtype).itemsize * 8
        for [got] in both([math_ops.clz], values):
            assert got.tolist() == [bits - int(v).bit_length() for v in values]


@pytest.mark.parametrize(
    ("source", "target"), [("float32", "int32"), ("float64", "uint64"), ("int8", "uint8"), ("uint32", "float32")]
)
def test_bits_are_read_as_another_type(source: str, target: str) -> None:
    values = np.array([0, 1, 3, 100, 127, 2, 5, 66], source)
    for [got] in both([lambda x: math_ops.reinterpret(target, x)], values):
        np.testing.assert_array_equal(got, values.view(target))


def test_bits_of_four_bytes_are_one_word_in_compiled_code_alone() -> None:
    data = te.placeholder((8,), "uint8", "data")

    def generated(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return BufferStore(outs[0], math_ops.reinterpret("int32", ins[0].vload([4], "uint8x4")), (const(0),))

    word = te.extern((1,), [data], generated, dtype="int32", name="word")
    s, given, found = te.create_schedule(word.op), np.arange(250, 258).astype(np.uint8), np.zeros(1, np.int32)
    build_generic(s, [data, word])(given, found)
    assert found.tolist() == given[4:].view(np.int32).tolist()
    with pytest.raises(InterpreterError) as error:
        run_func(lower_generic(s, [data, word])["main"], [given, found])
    assert str(error.value) == "cannot run tir.reinterpret of uint8x4 as int32: lanes of another size"


def test_fixed_point_products_are_rounded_half_up() -> None:
    values = np.array([0, 1, -1, 3, -3, 1000, -1001, 2**30, -(2**30)], np.int32)
    for factor, fraction, shift in ((1 << 30, 31, 0), (1 << 30, 31, 1), (3 << 28, 31, -2), (5, 2, 3)):
        exact = [(int(v) << max(shift, 0)) * factor for v in values]
        down = fraction + max(-shift, 0)
        expected = [(p + (1 << (down - 1))) >> down for p in exact]
        for [got] in both([lambda x, f=factor, q=fraction, s=shift: math_ops.q_multiply_shift(x, f, q, s)], values):
            fits = [-(2**31) <= e < 2**31 for e in expected]
            assert [g for g, ok in zip(got.tolist(), fits, strict=True) if ok] == [
                e for e, ok in zip(expected, fits, strict=True) if ok
            ]


def test_what_is_no_float_is_refused() -> None:
    with pytest.raises(ExprError) as error:
        math_ops.erf(Var("n"))
    assert str(error.value) == "tir.erf needs a float, not int32; convert it with .astype('float32')"
    with pytest.raises(ExprError) as error:
        math_ops.popcount(Var("x", "float32"))
    assert str(error.value) == "tir.popcount needs an integer, not float32"
    for dtype, value in (("int64", Var("n")), ("bool", Var("b", "int8")), ("int32", Var("h", "handle"))):
        with pytest.raises(ExprError) as error:
            math_ops.reinterpret(dtype, value)
        assert str(error.value) == f"tir.reinterpret: the bits of {value.dtype} are not those of {dtype}"
    with pytest.raises(ExprError) as error:
        math_ops.clz(Var("x", "float32"))
    assert str(error.value) == "tir.clz needs an integer, not float32"
    with pytest.raises(ExprError) as error:
        math_ops.q_multiply_shift(Var("x"), 3, Var("q"), 1)
    assert str(error.value) == "tir.q_multiply_shift: the fraction bits and the shift are constants"


def test_half_precision_is_asked_in_single_precision() -> None:
    assert str(math_ops.isnan(Var("x", "float16"))) == "@tir.isnan(cast(float32, x), dtype=bool)"  # type: ignore[arg-type]
