"""Normalisations and losses, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi import testing
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import norms

RNG = np.random.default_rng(59)


def floats(*shape: int) -> np.ndarray:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


@pytest.mark.parametrize(("size", "axis"), [(1, 1), (3, 1), (5, 0), (5, 3)])
def test_neighbours_weigh(size: int, axis: int) -> None:
    x = floats(2, 6, 3, 4)
    [result] = computed(lambda t: norms.lrn(t, size, axis, 0.01, 0.75, 2), x)
    np.testing.assert_allclose(result, testing.lrn_python(x, size, axis, 2, 0.01, 0.75), rtol=1e-5)


def test_lengths_of_one_and_instances() -> None:
    x, g, b = floats(2, 3, 4, 5), floats(3), floats(3)
    one, whole, instance = computed(
        lambda t, u, v: [
            norms.l2_normalize(t, 1e-5, [1]), norms.l2_normalize(t, 1e9), norms.instance_norm(t, u, v, 1, [2, 3]),
        ],
        x, g, b,
    )  # fmt: skip
    np.testing.assert_allclose(one, testing.l2_normalize_python(x, 1e-5, (1,)), rtol=1e-5)
    np.testing.assert_allclose(whole, x / np.sqrt(1e9), rtol=1e-5)
    np.testing.assert_allclose(instance, testing.instance_norm_python(x, g, b, (2, 3)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("inner", [(), (4,)])
def test_losses(reduction: str, inner: tuple[int, ...]) -> None:
    predictions, weights = floats(5, 3, *inner), np.abs(floats(3))
    targets = RNG.integers(0, 3, (5, *inner)).astype(np.int32)
    targets.flat[1] = -100
    [result] = computed(lambda p, t, w: norms.nll_loss(p, t, w, reduction), predictions, targets, weights)
    counts = targets != -100
    chosen = np.where(counts, targets, 0)
    weight = np.where(counts, weights[chosen], 0)
    losses = -np.take_along_axis(predictions, chosen[:, None], 1)[:, 0] * weight
    wanted = {"mean": losses.sum() / weight.sum(), "sum": losses.sum(), "none": losses}[reduction]
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_signs_in_words() -> None:
    x, w = floats(3, 64), floats(5, 64)
    x[0, 0] = 0.0
    packed, first, product = computed(
        lambda t, u: [
            norms.binarize_pack(t), norms.binarize_pack(u, 1),
            norms.binary_dense(norms.binarize_pack(t), norms.binarize_pack(u)),
        ],
        x, w,
    )  # fmt: skip
    bits = np.packbits(x >= 0, axis=-1).view(">u4").astype(np.uint32)
    np.testing.assert_array_equal(packed, bits)
    assert first.shape == (5, 2)
    signs = [np.where(a >= 0, 1, -1) for a in (x, w)]
    np.testing.assert_array_equal(product, signs[0] @ signs[1].T)


def test_what_does_not_fit_is_refused() -> None:
    t, i = tensors(np.zeros((2, 5), np.float32), np.zeros((2, 4), np.int32))
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: norms.lrn(t, 4), "topi.nn.lrn: expected floats and an odd number of neighbours, got float32, 4"),
        (lambda: norms.instance_norm(i, t, t, 1, [0]), "topi.nn.instance_norm: expected floats, got int32"),
        (lambda: norms.nll_loss(t, i, t, "max"), "topi.nll_loss: reduction is 'mean', 'sum' or 'none', not 'max'"),
        (
            lambda: norms.binarize_pack(t),
            "topi.nn.binarize_pack: 5 elements along dimension 1 are no multiple of 32",
        ),
        (lambda: norms.binary_dense(i, t), f"topi.nn.binary_dense: {i!r} and {t!r} do not go together"),
    ]
    for build, text in wrong:
        with pytest.raises(OperatorError) as error:
            build()
        assert str(error.value) == text
