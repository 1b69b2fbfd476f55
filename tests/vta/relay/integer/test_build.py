"""Integer operators against the same node in floating point, quantised: by at most 1, and rarely."""

import numpy as np
import pytest

from vta.relay.integer.build import (
    Quantised,
    Target,
    add,
    add_sums,
    average_pool,
    concatenate,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    lookup,
    multiply,
    prelu,
    rescale,
    table,
)
from vta.relay.interpreter import run
from vta.relay.ir.names import Op
from vta.relay.ir.nodes import Call, Function, Var
from vta.relay.ir.origin import Origin
from vta.relay.ir.types import RelayError, TensorType
from vta.relay.ops.pooling import AvgPool2dAttrs, window_counts

SHAPE = (2, 3, 16, 15)
NODE = (Origin("n", "Node"),)
DRAWN = np.random.default_rng(1)


def variable(name: str, dtype: str, shape: tuple[int, ...] = SHAPE) -> tuple[Var, np.ndarray]:
    """Return a variable, and numbers for it: the extremes of its type, and random ones."""
    limits = np.iinfo(dtype)
    numbers = DRAWN.integers(limits.min, limits.max + 1, shape).astype(dtype)
    numbers.reshape(-1)[:2] = limits.min, limits.max
    return Var(name, TensorType(shape, dtype)), numbers


def real(numbers: np.ndarray, value: Quantised) -> np.ndarray:
    return (numbers.astype(np.float64) - value.zero_point) * value.scale


def quantised(reals: np.ndarray, target: Target) -> np.ndarray:
    output = target.output
    return np.clip(np.rint(reals / target.scale) + target.zero_point, output.low, output.high)


def assert_near(call: Call, inputs: dict[Var, np.ndarray], expected: np.ndarray, *, rarely: float = 0.01) -> None:
    """Assert that results differ by at most 1, in at most a part ``rarely`` of them."""
    assert call.origins == NODE
    result = run(Function(tuple(inputs), call), list(inputs.values()))
    difference = np.abs(result.astype(np.int64) - expected)  # type: ignore[union-attr]
    assert difference.max() <= 1
    assert np.count_nonzero(difference) <= rarely * difference.size


TARGETS = [Target(0.031), Target(0.07, -128), Target(0.05, 100, "uint8"), Target(0.04, 3, "int8", 3, 100)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("dtype", "zero"), [("int8", 0), ("int8", -128), ("uint8", 37)])
def test_binary_operators(target: Target, dtype: str, zero: int) -> None:
    (x, xs), (y, ys) = variable("x", dtype), variable("y", "int8")
    a, b = Quantised(x, 0.04317, zero), Quantised(y, 0.0171, 5)
    inputs = {x: xs, y: ys}
    assert_near(add(a, b, target, origins=NODE), inputs, quantised(real(xs, a) + real(ys, b), target))
    minus = add(a, b, target, is_minus=True, origins=NODE)
    assert_near(minus, inputs, quantised(real(xs, a) - real(ys, b), target))
    assert_near(multiply(a, b, target, origins=NODE), inputs, quantised(real(xs, a) * real(ys, b), target))


def test_operands_broadcast() -> None:
    (x, xs), (y, ys) = variable("x", "int8"), variable("y", "int8", (3, 1, 1))
    a, b, target = Quantised(x, 0.04317), Quantised(y, 0.0171), Target(0.05)
    assert_near(add(a, b, target, origins=NODE), {x: xs, y: ys}, quantised(real(xs, a) + real(ys, b), target))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("dtype", "zero"), [("int8", 0), ("int8", -100), ("uint8", 37)])
def test_operators_of_the_relu_family(target: Target, dtype: str, zero: int) -> None:
    x, xs = variable("x", dtype)
    data = Quantised(x, 0.04317, zero)
    reals, inputs = real(xs, data), {x: xs}
    slopes = np.array([0.25, -0.1, 0.0]).reshape(3, 1, 1)
    for call, expected in (
        (leaky_relu(data, 0.1, target, origins=NODE), np.where(reals < 0, 0.1 * reals, reals)),
        (prelu(data, slopes, target, origins=NODE), np.where(reals < 0, slopes * reals, reals)),
        (hard_sigmoid(data, target, origins=NODE), np.clip(0.2 * reals + 0.5, 0, 1)),
        (hard_swish(data, target, origins=NODE), reals * np.clip(reals / 6 + 0.5, 0, 1)),
    ):
        assert_near(call, inputs, quantised(expected, target))


@pytest.mark.parametrize("target", TARGETS)
def test_a_table_is_exact(target: Target) -> None:
    x, xs = variable("x", "int8")
    data = Quantised(x, 0.04317, 7)
    reals = (xs.astype(np.float32) - np.float32(7)) * np.float32(0.04317)
    expected = np.rint(np.tanh(reals) / np.float32(target.scale)) + target.zero_point
    limits = np.iinfo(target.dtype)
    call = lookup(np.tanh, data, target, origins=NODE)
    assert_near(call, {x: xs}, np.clip(expected, limits.min, limits.max), rarely=0)
    assert table(np.tanh, data, target).shape == (256,)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_average_pools_divide_by_what_is_there(target: Target, include: bool) -> None:
    x, xs = variable("x", "uint8")
    data = Quantised(x, 0.04317, 50)
    attrs = AvgPool2dAttrs((3, 2), (2, 1), (1, 1, 1, 0), ceil_mode=True, count_include_pad=include)
    call = average_pool(data, attrs, target, origins=NODE)
    counts = window_counts((16, 15), attrs.window, count_include_pad=include)
    padded = np.pad(real(xs, data), [(0, 0), (0, 0), (1, 3), (1, 2)])
    expected = np.zeros(call.type.shape)  # type: ignore[union-attr]
    for row in range(expected.shape[2]):
        for column in range(expected.shape[3]):
            window = padded[:, :, 2 * row : 2 * row + 3, column : column + 2]
            expected[:, :, row, column] = window.sum(axis=(2, 3)) / counts[row, column]
    assert_near(call, {x: xs}, quantised(expected, target), rarely=0.02)


def test_a_global_average_is_a_pool_of_the_whole_image() -> None:
    x, xs = variable("x", "int8", (2, 8, 7, 7))
    data, target = Quantised(x, 0.04317, -128), Target(0.021, -128)
    call = average_pool(data, AvgPool2dAttrs((7, 7)), target, origins=NODE)
    assert_near(call, {x: xs}, quantised(real(xs, data).mean(axis=(2, 3), keepdims=True), target))


def test_parts_of_other_scales_are_rescaled_before_they_are_joined() -> None:
    (x, xs), (y, ys) = variable("x", "int8"), variable("y", "uint8")
    a, b, target = Quantised(x, 0.05, 3), Quantised(y, 0.02, 9), Target(0.05, 3)
    call = concatenate([a, b], target, 1, origins=NODE)
    assert call.args[0] is x
    expected = np.concatenate([xs, quantised(real(ys, b), target)], axis=1)
    assert_near(call, {x: xs, y: ys}, expected)


def test_sums_of_products_are_rescaled_by_channel() -> None:
    x = Var("x", TensorType(SHAPE, "int32"))
    xs = DRAWN.integers(-(2**17), 2**17, SHAPE).astype(np.int32)
    scales = np.array([1e-5, 2e-4, 3e-5]).reshape(3, 1, 1)
    target = Target(0.02, -128)
    assert_near(rescale(x, scales, target, origins=NODE), {x: xs}, quantised(xs * scales, target))


@pytest.mark.parametrize("target", TARGETS)
def test_a_residual_is_added_to_sums_without_rounding_between(target: Target) -> None:
    x, (y, ys) = Var("x", TensorType(SHAPE, "int32")), variable("y", "int8")
    xs = DRAWN.integers(-(2**17), 2**17, SHAPE).astype(np.int32)
    scales = np.array([1e-5, 2e-4, 3e-5]).reshape(3, 1, 1)
    other = Quantised(y, 0.03, 4)
    call = add_sums(x, scales, other, target, origins=NODE)
    assert_near(call, {x: xs, y: ys}, quantised(xs * scales + real(ys, other), target))


def test_what_has_no_meaning_is_refused() -> None:
    x = Var("x", TensorType(SHAPE, "int32"))
    with pytest.raises(RelayError, match=r"^a table is for integers of 8 bits, not for int32$"):
        table(np.tanh, Quantised(x, 1.0), Target(1.0))
    y = Var("y", TensorType(SHAPE, "int8"))
    with pytest.raises(RelayError, match=r"^average pools of integers have the layout NCHW, not NHWC$"):
        average_pool(Quantised(y, 1.0), AvgPool2dAttrs((1, 1), layout="NHWC"), Target(1.0))
    with pytest.raises(RelayError, match=r"^a scale is a positive number, not 0.0$"):
        add(Quantised(y, 0.0), Quantised(y, 1.0), Target(1.0))


def test_calls_name_their_operators() -> None:
    (x, _), (y, _) = variable("x", "int8"), variable("y", "int8")
    a, b = Quantised(x, 0.1), Quantised(y, 0.2)
    assert add(a, b, Target(0.3)).callee is Op.QNN_ADD
    assert multiply(a, b, Target(0.3)).callee is Op.REQUANTIZE
    assert leaky_relu(a, 0.1, Target(0.3)).callee is Op.QNN_LEAKY_RELU
