"""The mean of a layer's result with rounded weights is that with the exact ones."""

import numpy as np
import pytest

from tests.support.relay.float_models import float_model, node
from vta.quantize.decide import decided
from vta.quantize.encoding import Encoding
from vta.quantize.improve.bias_correction import corrected_biases
from vta.quantize.options import Options
from vta.quantize.plan import plan
from vta.quantize.prepare import prepared

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_means_of_channels_are_kept(groups: int) -> None:
    weights = {"w": RNG.standard_normal((8, 4 // groups, 1, 1)).astype(np.float32), "b": np.ones(8, np.float32)}
    conv = node("Conv", ["image", "w", "b"], "out", group=groups)
    graph = prepared(float_model([conv], weights, outputs=["out"], image=("n", 4, 8, 8)))
    found = plan(graph)
    numbers = decided(graph, found, dict.fromkeys(found.roots, Encoding(0.1, 0)), Options(per_channel=False))
    image = RNG.uniform(0, 2, (16, 4, 8, 8))
    made = corrected_biases(graph, found, numbers.weights, numbers.biases, {"image": image.mean((0, 2, 3))})
    rounded = numbers.weights["out"].real().astype(np.float64)

    def means(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        parts = np.split(image, groups, 1)
        rows = np.split(weight[..., 0, 0], groups, 0)
        sums = [np.einsum("nchw,oc->nohw", part, row) for part, row in zip(parts, rows, strict=True)]
        return np.concatenate(sums, 1).mean((0, 2, 3)) + bias

    expected = means(weights["w"].astype(np.float64), np.ones(8))
    assert np.abs(means(rounded, np.ones(8)) - expected).max() > 1e-3
    np.testing.assert_allclose(means(rounded, made["out"]), expected, atol=1e-5)


@pytest.mark.parametrize("transposed", [0, 1])
def test_a_dense_layer_is_corrected_as_well(transposed: int) -> None:
    weight = RNG.standard_normal((4, 5)).astype(np.float32)
    weights = {"w": weight.T.copy() if transposed else weight, "b": np.zeros(5, np.float32)}
    gemm = node("Gemm", ["image", "w", "b"], "out", transB=transposed)
    graph = prepared(float_model([gemm], weights, outputs=["out"], image=("n", 4)))
    found = plan(graph)
    numbers = decided(graph, found, dict.fromkeys(found.roots, Encoding(0.1, 0)), Options(per_channel=False))
    mean = np.array([1.0, 2.0, 3.0, 4.0])
    made = corrected_biases(graph, found, numbers.weights, numbers.biases, {"image": mean})
    rounded = numbers.weights["out"].real().astype(np.float64)
    error = (rounded.T if transposed else rounded) - weight
    np.testing.assert_allclose(made["out"], -(mean @ error), atol=1e-6)
