"""Quantised layers as exporters write them become integers: within one of onnxruntime's, and nearly always the same.

Scales that are powers of two apart, where ties are common, are in ``test_ties.py``; most patterns have other scales.

Who writes what, and which pattern of ``tests/support/relay/patterns.py`` it is:

- a bias in int32 at the scale of the sums: all with ``conv``, ``gemm``, ``matmul_and_bias``; in float32:
  ``float_bias``, ``gemm_with_a_float_bias``
- onnxruntime, symmetric, quantises between a layer and its activation, at one scale:
  ``relu_after_its_own_quantisation``, ``clip_after_its_own_quantisation``; asymmetric, it folds the activation into
  limits: ``relu_folded``
- TFLite, PyTorch and Brevitas quantise after the activation: ``relu_between``, ``clip_between``, ``..._of_sums``
- PyTorch adds residuals without a quantisation between: ``residual_without_quantisation``
- Brevitas: ``clipped_weights``, ``powers_of_two``, ``gemm_with_a_float_bias``
- TFLite: ``uint8_with_zero_points``, ``matmul_and_bias``, ``nhwc_around_a_layer``, ``integers_reshaped``, and a softmax
  at 1/256 from -128: ``test_a_softmax_stays_real_between_integers``
- scales differ: ``residual_with_quantisation``, ``concatenation_of_scales``, ``product_of_activations``,
  ``global_average``, ``hard_sigmoid``, ``sigmoid``, ``hard_swish``, ``prelu``; are equal: ``max_pool``,
  ``average_pool``, ``resized``, ``resized_linearly``,
  ``padded_with_a_zero_point``, ``flattened``, ``leaky_relu_of_one_scale``
- constants behind a dequantisation: ``constants_with_scales_of_their_own``; no quantisation in the middle:
  ``mean_and_reshape_without_quantisation``, ``function_without_quantisation_resized``,
  ``sums_without_quantisation_pooled``
- operators on integers (QLinearConv, QGemm, ...): ``tests/vta/relay/onnx/test_quantised.py``
"""

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from tests.support.relay.onnx_models import model_of
from tests.support.relay.patterns import PATTERNS, Pattern, made
from tests.support.relay.quantised_models import Quantised, expected
from vta.relay.integer import fold_limits, to_integers
from vta.relay.interpreter import run
from vta.relay.ir.traverse import calls
from vta.relay.onnx.importer import from_onnx

REAL = {Op.CONV2D, Op.CONV2D_TRANSPOSE, Op.DENSE, Op.MATMUL, Op.ADD, Op.MULTIPLY, Op.RELU, Op.CLIP, Op.AVG_POOL2D,
        Op.GLOBAL_AVG_POOL2D, Op.DEQUANTIZE, Op.SIGMOID, Op.BIAS_ADD, Op.DIVIDE}  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_pattern_becomes_integers_within_one_of_onnxruntime(pattern: Pattern, seed: int) -> None:
    model, x = made(pattern, seed)
    function = fold_limits(to_integers(from_onnx(model)))
    real = [each for each in calls(function) if isinstance(each.type, TensorType) and each.type.dtype.is_float]
    left = {each.callee for each in real} & REAL
    [wanted] = expected(model, {"x": x})
    assert not left, f"stays in floating point: {left}"
    found = run(function, [x])
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    difference = np.abs(found.astype(int) - wanted.astype(int))
    assert difference.max() <= 1
    assert (difference != 0).mean() <= 0.01


def test_a_softmax_stays_real_between_integers() -> None:
    q = Quantised(3)
    weights, scales = q.weight((10, 12), per_channel=False)
    logits = q.op(
        "Gemm", [q.both("x", 0.05), weights, q.bias(np.asarray(scales, np.float32) * np.float32(0.05), 10)], transB=1
    )
    q.quantize(q.op("Softmax", [q.both(logits, 0.1)], axis=1), 1 / 256, -128)
    model = model_of(q.nodes, {"x": ("float32", (3, 12))}, weights=q.weights)
    x = q.rng.standard_normal((3, 12)).astype(np.float32) * 3
    function = fold_limits(to_integers(from_onnx(model)))
    left = {each.callee for each in calls(function)} & (REAL | {Op.SOFTMAX})
    assert left == {Op.SOFTMAX, Op.DEQUANTIZE}
    difference = np.abs(run(function, [x]).astype(int) - expected(model, {"x": x})[0].astype(int))
    assert difference.max() <= 1


EXACT = ("sigmoid", "prelu", "max_pool", "resized", "padded_with_a_zero_point", "hard_sigmoid")


@pytest.mark.parametrize("pattern", [p for p in PATTERNS if p.__name__ in EXACT], ids=lambda pattern: pattern.__name__)
def test_functions_of_one_tensor_are_exactly_onnxruntimes(pattern: Pattern) -> None:
    model, x = made(pattern, 5, deviation=3)
    np.testing.assert_array_equal(run(to_integers(from_onnx(model)), [x]), expected(model, {"x": x})[0])
