"""Every way that exporters write quantised layers, each as the smallest graph with one."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import onnx

from tests.support.relay.onnx_models import model_of
from tests.support.relay.quantised_models import Quantised

__all__ = ["PATTERNS", "SHAPE", "Pattern", "made"]

SHAPE = (1, 6, 9, 8)
SX = 0.05

Pattern = Callable[[Quantised, str], tuple[str, tuple[float, int, str]]]
"""From a graph under construction and its real input to its last real tensor, and how that is quantised."""


def conv(q: Quantised, x: str, *, outputs: int = 5, per_channel: bool = True, scale: float = SX, **more: object) -> str:
    weights, scales = q.weight((outputs, 6, 3, 3), per_channel=per_channel, **more)  # type: ignore[arg-type]
    return q.op("Conv", [x, weights, q.bias(scales * np.float32(scale), outputs)], pads=[1] * 4)


def relu_folded(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return conv(q, q.both(x, SX)), (0.09, -128, "int8")


def relu_after_its_own_quantisation(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("Relu", [q.both(conv(q, q.both(x, SX)), 0.09)]), (0.09, 0, "int8")


def relu_between(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("Relu", [conv(q, q.both(x, SX), per_channel=False)]), (0.08, 0, "int8")


def clip_between(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    bounds = q.constant(0, "float32"), q.constant(6, "float32")
    return q.op("Clip", [conv(q, q.both(x, SX)), *bounds]), (0.03, -100, "int8")


def residual_without_quantisation(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    real = q.both(x, SX)
    total = q.op("Add", [conv(q, real, outputs=6), real])
    return q.op("Relu", [total]), (0.11, -128, "int8")


def residual_with_quantisation(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    real = q.both(x, SX)
    return q.op("Add", [q.both(conv(q, real, outputs=6), 0.08), real]), (0.13, 0, "int8")


def uint8_with_zero_points(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return conv(q, q.both(x, SX, 113, "uint8")), (0.1, 121, "uint8")


def float_bias(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    weights, _ = q.weight((5, 6, 3, 3))
    bias = q.constant(q.rng.standard_normal(5), "float32")
    return q.op("Conv", [q.both(x, SX), weights, bias], pads=[1] * 4), (0.1, 3, "int8")


def clipped_weights(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return conv(q, q.both(x, 2.0**-5), scale=2.0**-5, clipped=True), (2.0**-3, 0, "int8")


def strided_in_groups(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    weights, scales = q.weight((6, 1, 3, 3))
    bias = q.bias(scales * np.float32(SX), 6)
    return q.op("Conv", [q.both(x, SX), weights, bias], pads=[1] * 4, strides=[2, 2], group=6), (0.04, 5, "int8")


def transposed(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    weights, _ = q.weight((6, 4, 2, 2), per_channel=False)
    return q.op("ConvTranspose", [q.both(x, SX), weights], strides=[2, 2]), (0.06, 0, "int8")


def matmul_and_bias(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    flat = q.op("Reshape", [q.both(x, SX), q.constant([6, 72], "int64")])
    numbers = q.constant(q.rng.integers(-127, 128, (72, 5)), "int8")
    weights = q.dequantize(numbers, 0.004)
    total = q.op("MatMul", [flat, weights])
    bias = q.op(
        "DequantizeLinear", [q.constant(q.rng.integers(-900, 900, 5), "int32"), q.constant(SX * 0.004, "float32")]
    )
    return q.op("Add", [total, bias]), (0.07, 11, "int8")


def gemm(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    flat = q.op("Flatten", [q.both(x, SX)])
    weights, scales = q.weight((5, 432))
    return q.op("Gemm", [flat, weights, q.bias(scales * np.float32(SX), 5)], transB=1), (0.2, 0, "int8")


def gemm_with_a_float_bias(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    flat = q.op("Flatten", [q.both(x, SX)])
    weights, _ = q.weight((5, 432), per_channel=False)
    return q.op("Gemm", [flat, weights, q.constant(q.rng.standard_normal(5), "float32")], transB=1), (0.2, 0, "int8")


def powers_of_two(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    cells = q.constant(q.rng.integers(-127, 128, (5, 6, 3, 3)), "int8")
    weights = q.dequantize(cells, 2.0**-7)
    return q.op("Relu", [q.op("Conv", [q.both(x, 2.0**-4), weights], pads=[1] * 4)]), (2.0**-3, 0, "int8")


def global_average(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("GlobalAveragePool", [q.both(x, SX, 7)]), (0.01, -9, "int8")


def mean_and_reshape_without_quantisation(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    mean = q.op("ReduceMean", [q.both(x, SX), q.constant([2, 3], "int64")], keepdims=1)
    return q.op("Reshape", [mean, q.constant([1, 6], "int64")]), (0.02, 0, "int8")


def average_pool(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("AveragePool", [q.both(x, SX)], kernel_shape=[3, 3], strides=[2, 2]), (0.03, 0, "int8")


def max_pool(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("MaxPool", [q.both(x, SX, -5)], kernel_shape=[3, 3], pads=[1] * 4), (SX, -5, "int8")


def concatenation_of_scales(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    real = q.both(x, SX)
    return q.op("Concat", [real, q.both(conv(q, real), 0.09, 4)], axis=1), (0.13, -3, "int8")


def product_of_activations(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    real = q.both(x, SX)
    return q.op("Mul", [real, q.both(conv(q, real, outputs=6), 0.09)]), (0.3, 0, "int8")


def resized(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    scales = q.constant([1, 1, 2, 2], "float32")
    nearest = q.op(
        "Resize", [q.both(x, SX), "", scales], coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    return nearest, (SX, 0, "int8")


def resized_linearly(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    scales = q.constant([1, 1, 2, 2], "float32")
    return q.op("Resize", [q.both(x, SX, 9), "", scales], mode="linear"), (0.043, 5, "int8")


def resized_linearly_between_corners(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    sizes = q.constant([1, 6, 25, 15], "int64")
    real = q.both(conv(q, q.both(x, SX), outputs=6), 0.07)
    wide = q.op("Resize", [real, "", "", sizes], mode="linear", coordinate_transformation_mode="align_corners")
    return wide, (0.061, 0, "int8")


def function_without_quantisation_resized(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    swish = q.op("HardSwish", [q.both(conv(q, q.both(x, SX)), 0.09, 5)])
    scales = q.constant([1, 1, 2, 1], "float32")
    return q.op("Resize", [swish, "", scales], nearest_mode="floor"), (0.05, -12, "int8")


def sums_without_quantisation_pooled(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    active = q.op("Relu", [conv(q, q.both(x, SX))])
    turned = q.op("Transpose", [q.op("MaxPool", [active], kernel_shape=[3, 2], pads=[1, 0, 1, 1])], perm=[0, 1, 3, 2])
    return turned, (0.07, -128, "int8")


def split_apart(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    first, second = q.parts("Split", [q.both(x, SX, 4), q.constant([2, 4], "int64")], 2, axis=1)
    return q.op("Concat", [second, q.op("Relu", [first])], axis=1), (0.0613, -100, "int8")


def uneven_average_pool(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("AveragePool", [q.both(x, SX, -9)], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 1, 1, 0]), (
        0.0313,
        3,
        "int8",
    )


def padded_with_a_zero_point(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    pads = q.constant([0, 0, 1, 2, 0, 0, 0, 1], "int64")
    return q.op("Pad", [q.both(x, SX, -128), pads]), (SX, -128, "int8")


def hard_swish_of_its_parts(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    real = q.both(x, SX)
    shifted = q.op("Add", [real, q.constant(3, "float32")])
    gate = q.op("Clip", [shifted, q.constant(0, "float32"), q.constant(6, "float32")])
    return q.op("Div", [q.op("Mul", [real, gate]), q.constant(6, "float32")]), (0.04, -20, "int8")


def sigmoid(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("Sigmoid", [q.both(x, SX)]), (1 / 256, -128, "int8")


def prelu(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    slopes = q.constant(q.rng.uniform(0.01, 0.4, (6, 1, 1)), "float32")
    return q.op("PRelu", [q.both(x, SX), slopes]), (0.045, 2, "int8")


def gate_of_a_channel(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    real = q.both(x, SX)
    gate = q.both(q.op("Sigmoid", [q.both(q.op("GlobalAveragePool", [real]), 0.02)]), 1 / 128, 0)
    return q.op("Mul", [real, gate]), (0.04, 0, "int8")


def clip_after_its_own_quantisation(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    bounds = q.constant(0, "float32"), q.constant(6, "float32")
    return q.op("Clip", [q.both(conv(q, q.both(x, SX)), 0.09), *bounds]), (0.09, 0, "int8")


def nhwc_around_a_layer(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    turned = q.op("Transpose", [q.both(x, SX, -7)], perm=[0, 2, 3, 1])
    back = q.op("Transpose", [turned], perm=[0, 3, 1, 2])
    made = q.op("Relu", [conv(q, q.both(back, SX, -7))])
    return q.op("Transpose", [q.both(made, 0.09, -128)], perm=[0, 2, 3, 1]), (0.09, -128, "int8")


def integers_reshaped(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    cells = q.quantize(conv(q, q.both(x, SX)), 0.09, -3)
    flat = q.op("Reshape", [cells, q.constant([1, 5, -1], "int64")])
    return q.dequantize(flat, 0.09, -3), (0.09, -3, "int8")


def flattened(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("Flatten", [q.both(conv(q, q.both(x, SX)), 0.09)]), (0.09, 0, "int8")


def hard_sigmoid(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("HardSigmoid", [q.both(x, SX)], alpha=0.2, beta=0.5), (1 / 256, -128, "int8")


def hard_swish(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("HardSwish", [q.both(x, SX)]), (0.04, -20, "int8")


def leaky_relu_of_one_scale(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("LeakyRelu", [q.both(x, SX, -11)], alpha=0.13), (SX, -11, "int8")


def leaky_relu_of_sums(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("LeakyRelu", [conv(q, q.both(x, SX))], alpha=0.1), (0.05, -20, "int8")


def prelu_of_sums(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    slopes = q.constant(np.abs(q.rng.standard_normal((5, 1, 1))) / 4, "float32")
    return q.op("PRelu", [conv(q, q.both(x, SX)), slopes]), (0.06, 0, "int8")


def hard_sigmoid_of_sums(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("HardSigmoid", [conv(q, q.both(x, SX))], alpha=0.2), (1 / 256, -128, "int8")


def hard_swish_of_sums(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    return q.op("HardSwish", [conv(q, q.both(x, SX))]), (0.03, -100, "int8")


def hard_swish_of_sums_and_a_hard_sigmoid(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    real = conv(q, q.both(x, SX))
    return q.op("Mul", [real, q.op("HardSigmoid", [real], alpha=1 / 6)]), (0.03, -100, "int8")


def hard_swish_of_sums_in_its_parts(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    real = conv(q, q.both(x, SX))
    shifted = q.op("Add", [real, q.constant(3, "float32")])
    gate = q.op("Clip", [shifted, q.constant(0, "float32"), q.constant(6, "float32")])
    return q.op("Div", [q.op("Mul", [gate, real]), q.constant(6, "float32")]), (0.04, -20, "int8")


def constants_with_scales_of_their_own(q: Quantised, x: str) -> tuple[str, tuple[float, int, str]]:
    half = q.dequantize(q.constant(127, "int8"), 0.5 / 127)
    three = q.dequantize(q.constant(100, "int8"), 0.03)
    shifted = q.op("Add", [q.both(x, SX), three])
    return q.op("Mul", [q.both(shifted, 0.06), half]), (0.03, 0, "int8")


PATTERNS: tuple[Pattern, ...] = (
    relu_folded, relu_after_its_own_quantisation, relu_between, clip_between, residual_without_quantisation,
    residual_with_quantisation, uint8_with_zero_points, float_bias, clipped_weights, strided_in_groups, transposed,
    matmul_and_bias, gemm, gemm_with_a_float_bias, powers_of_two, global_average,
    mean_and_reshape_without_quantisation, average_pool, max_pool,
    concatenation_of_scales, product_of_activations, resized, resized_linearly, padded_with_a_zero_point,
    hard_swish_of_its_parts,
    sigmoid, prelu, gate_of_a_channel, function_without_quantisation_resized, sums_without_quantisation_pooled,
    split_apart, uneven_average_pool,
    clip_after_its_own_quantisation, nhwc_around_a_layer, integers_reshaped,
    flattened, hard_sigmoid, hard_swish, leaky_relu_of_one_scale, constants_with_scales_of_their_own,
    leaky_relu_of_sums, prelu_of_sums, hard_sigmoid_of_sums, hard_swish_of_sums, hard_swish_of_sums_and_a_hard_sigmoid,
    hard_swish_of_sums_in_its_parts, resized_linearly_between_corners,
)  # fmt: skip


def made(pattern: Pattern, seed: int, *, deviation: float = 2) -> tuple[onnx.ModelProto, npt.NDArray[np.float32]]:
    """Return a pattern's model, and an input for it."""
    q = Quantised(seed)
    last, (scale, zero, dtype) = pattern(q, "x")
    q.quantize(last, scale, zero, dtype)
    model = model_of(q.nodes, {"x": ("float32", SHAPE)}, weights=q.weights)
    return model, q.rng.standard_normal(SHAPE).astype(np.float32) * np.float32(deviation)
