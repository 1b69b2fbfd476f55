from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import (
    BatchNormAttrs,
    InstanceNormAttrs,
    LayerNormAttrs,
    LrnAttrs,
    SoftmaxAttrs,
)
from tests.support.relay.apply import applied, refusal

RNG = np.random.default_rng(1)
DATA = RNG.normal(size=(2, 3, 4, 5)).astype(np.float32)


def per_channel(values: np.ndarray) -> np.ndarray:
    return values.reshape(1, -1, 1, 1)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_sums_up_to_one_and_stands_large_numbers(axis: int) -> None:
    result = applied(Op.SOFTMAX, 1000 * DATA, attrs=SoftmaxAttrs(axis))
    assert np.allclose(result.sum(axis=axis), 1)
    exact = np.exp(DATA.astype(np.float64))
    expected = exact / exact.sum(axis=axis, keepdims=True)
    assert np.allclose(applied(Op.SOFTMAX, DATA, attrs=SoftmaxAttrs(axis)), expected)
    assert np.allclose(applied(Op.LOG_SOFTMAX, DATA, attrs=SoftmaxAttrs(axis)), np.log(expected), atol=1e-5)


def test_batch_norm_has_values_for_every_channel() -> None:
    gamma, beta, mean = (RNG.normal(size=3).astype(np.float32) for _ in range(3))
    variance = RNG.uniform(0.1, 2, 3).astype(np.float32)
    result = applied(Op.BATCH_NORM, DATA, gamma, beta, mean, variance, attrs=BatchNormAttrs(epsilon=0.01))
    normal = (DATA - per_channel(mean)) / np.sqrt(per_channel(variance) + 0.01)
    assert np.allclose(result, normal * per_channel(gamma) + per_channel(beta), atol=1e-5)


def test_layer_norm_is_over_the_last_axes() -> None:
    gamma, beta = RNG.normal(size=(4, 5)).astype(np.float32), RNG.normal(size=(5,)).astype(np.float32)
    result = applied(Op.LAYER_NORM, DATA, gamma, beta, attrs=LayerNormAttrs(-2))
    wide = DATA.astype(np.float64)
    mean, variance = wide.mean(axis=(2, 3), keepdims=True), wide.var(axis=(2, 3), keepdims=True)
    assert np.allclose(result, (wide - mean) / np.sqrt(variance + 1e-5) * gamma + beta, atol=1e-5)


def test_instance_norm_is_over_every_image_of_every_channel() -> None:
    gamma, beta = (RNG.normal(size=3).astype(np.float32) for _ in range(2))
    result = applied(Op.INSTANCE_NORM, DATA, gamma, beta, attrs=InstanceNormAttrs(0.1))
    wide = DATA.astype(np.float64)
    normal = (wide - wide.mean(axis=(2, 3), keepdims=True)) / np.sqrt(wide.var(axis=(2, 3), keepdims=True) + 0.1)
    assert np.allclose(result, normal * per_channel(gamma) + per_channel(beta), atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_lrn_divides_by_the_squares_of_channels_around(size: int) -> None:
    data = RNG.normal(size=(1, 6, 2, 2)).astype(np.float32)
    result = applied(Op.LRN, data, attrs=LrnAttrs(size, 1, 0.5, 0.75, 2.0))
    for channel in range(6):
        around = range(max(0, channel - (size - 1) // 2), min(5, channel + size // 2) + 1)
        squares = sum(np.square(data[:, c].astype(np.float64)) for c in around)
        assert np.allclose(result[:, channel], data[:, channel] / (2 + 0.5 / size * squares) ** 0.75, atol=1e-5)


F = "float32"
C = ((3,), F)


@pytest.mark.parametrize(
    ("op", "types", "attrs", "sentence"),
    [
        (
            Op.BATCH_NORM,
            [((1, 3, 2), F), C, ((2,), F), C, C],
            BatchNormAttrs(),
            "beta has the shape (3,), as axis 1, not (2,)",
        ),
        (
            Op.LAYER_NORM,
            [((1, 3, 2), F), C, C],
            LayerNormAttrs(),
            "gamma broadcasts to (2,), and its shape is (3,)",
        ),
        (
            Op.INSTANCE_NORM,
            [((1, 3), F), C, C],
            InstanceNormAttrs(),
            "data has the axes N, C and others, and its shape is (1, 3)",
        ),
        (Op.SOFTMAX, [((1, 3), "int8")], SoftmaxAttrs(), "data holds floating point numbers, not int8"),
        (Op.SOFTMAX, [((1, 3), F)], SoftmaxAttrs(2), "axis is from -2 to 1 for 2 dimensions, not 2"),
        (Op.LRN, [((1, 3), F)], LrnAttrs(0), "size is from 1, not 0"),
    ],
)
def test_a_normalisation_that_cannot_be_is_refused(
    op: Op, types: list[tuple[str | tuple[int, ...], ...]], attrs: Any, sentence: str
) -> None:
    assert refusal(op, *types, attrs=attrs) == sentence
