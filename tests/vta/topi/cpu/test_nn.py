"""Layers, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import nn

RNG = np.random.default_rng(8)


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_and_its_logarithm(axis: int) -> None:
    x = floats(3, 4, 16) * 30
    soft, log = computed(lambda t: [nn.softmax(t, axis), nn.log_softmax(t, axis)], x)
    shifted = x.astype(np.float64) - x.max(axis=axis, keepdims=True)
    powers = np.exp(shifted)
    np.testing.assert_allclose(soft, powers / powers.sum(axis=axis, keepdims=True), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(log, shifted - np.log(powers.sum(axis=axis, keepdims=True)), rtol=1e-4, atol=1e-4)


def test_what_is_below_zero() -> None:
    x, slope = floats(2, 3, 16), floats(3)
    straight, leaky, own, flat, biased = computed(
        lambda t, s: [nn.relu(t), nn.leaky_relu(t, 0.25), nn.prelu(t, s), nn.flatten(t), nn.bias_add(t, s)], x, slope
    )
    np.testing.assert_array_equal(straight, np.maximum(x, 0))
    np.testing.assert_allclose(leaky, np.where(x > 0, x, x * 0.25), rtol=1e-6)
    np.testing.assert_allclose(own, np.where(x > 0, x, x * slope[:, None]), rtol=1e-6)
    np.testing.assert_array_equal(flat, x.reshape(2, 48))
    np.testing.assert_allclose(biased, x + slope[:, None], rtol=1e-6)


def test_products_of_matrices() -> None:
    x, w, b = floats(5, 7), floats(16, 7), floats(16)
    [result] = computed(nn.dense, x, w, b)
    np.testing.assert_allclose(result, x @ w.T + b, rtol=1e-4, atol=1e-5)
    for turned_a in (False, True):
        for turned_b in (False, True):
            p, q = floats(*((6, 4) if turned_a else (4, 6))), floats(*((5, 6) if turned_b else (6, 5)))
            [product] = computed(lambda s, t, a=turned_a, b=turned_b: nn.matmul(s, t, a, b), p, q)
            np.testing.assert_allclose(
                product, (p.T if turned_a else p) @ (q.T if turned_b else q), rtol=1e-4, atol=1e-5
            )
    narrow, wide = (RNG.integers(-128, 128, s).astype(np.int8) for s in ((3, 9), (4, 9)))
    [exact] = computed(lambda s, t: nn.dense(s, t, out_dtype="int32"), narrow, wide)
    np.testing.assert_array_equal(exact, narrow.astype(np.int32) @ wide.T.astype(np.int32))


@pytest.mark.parametrize(("batch_a", "batch_b"), [(3, 3), (1, 3), (3, 1)])
def test_products_of_batches(batch_a: int, batch_b: int) -> None:
    a, b = floats(batch_a, 4, 6), floats(batch_b, 5, 6)
    [result] = computed(nn.batch_matmul, a, b)
    np.testing.assert_allclose(result, a @ b.transpose(0, 2, 1), rtol=1e-4, atol=1e-5)


def test_normalisations() -> None:
    x, gamma, beta, mean, variance = floats(2, 3, 4, 16), floats(3), floats(3), floats(3), np.abs(floats(3)) + 0.5
    [batch] = computed(
        lambda t, g, b, m, v: nn.batch_norm(t, g, b, m, v, epsilon=1e-3)[0], x, gamma, beta, mean, variance
    )
    wide = [v[:, None, None] for v in (gamma, beta, mean, variance)]
    np.testing.assert_allclose(batch, (x - wide[2]) / np.sqrt(wide[3] + 1e-3) * wide[0] + wide[1], rtol=1e-4, atol=1e-5)
    [scaled] = computed(nn.scale_shift_nchw, x, gamma, beta)
    np.testing.assert_allclose(scaled, x * wide[0] + wide[1], rtol=1e-5, atol=1e-6)
    g, b = floats(4, 16), floats(4, 16)
    [layer] = computed(lambda t, s, u: nn.layer_norm(t, s, u, [2, 3]), x, g, b)
    centred = x - x.mean(axis=(2, 3), keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(axis=(2, 3), keepdims=True) + 1e-5) * g + b
    np.testing.assert_allclose(layer, expected, rtol=1e-4, atol=1e-4)


def test_what_does_not_fit_is_refused() -> None:
    x, w, i = tensors(np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32), np.zeros((2, 3), np.int32))
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: nn.dense(x, w), "topi.nn.matmul: 3 and 5 elements are multiplied; expected as many of both"),
        (lambda: nn.softmax(i), "topi.nn.softmax: expected floats, got int32"),
    ]
    for step, sentence in cases:
        with pytest.raises(OperatorError) as error:
            step()
        assert str(error.value) == sentence
