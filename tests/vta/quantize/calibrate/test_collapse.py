"""Calibrations that cannot be right are refused with the layer's name and what to try."""

import numpy as np
import pytest

from tests.support.relay.float_models import float_model, node, small_network
from vta.quantize import CalibrationError, Method, Options, quantise


def refused(model: object, data: np.ndarray, options: Options | None = None) -> str:
    with pytest.raises(CalibrationError) as caught:
        quantise(model, {"image": data}, options)
    return str(caught.value)


def test_data_that_are_all_the_same_have_no_range() -> None:
    assert refused(small_network(), np.zeros((4, 3, 8, 8), np.float32)) == (
        "input 'image': every one of its numbers is 0 on these data, so that there is no range to find; check the "
        "preprocessing (--mean, --std), give other data, or keep it in float with --keep and the names of the layers "
        "that read it"
    )


def test_a_layer_that_is_dead_on_the_data_is_named() -> None:
    weights = {"w": -np.ones((4, 3, 1, 1), np.float32), "v": np.ones((2, 4, 1, 1), np.float32)}
    nodes = [node("Conv", ["image", "w"], "first"), node("Relu", ["first"], "dead"), node("Conv", ["dead", "v"], "out")]
    data = np.random.default_rng(0).uniform(0.1, 1, (4, 3, 8, 8)).astype(np.float32)
    assert refused(float_model(nodes, weights, outputs=["out"]), data) == (
        "layer 'dead': every one of its numbers is 0 on these data, so that there is no range to find; check the "
        "preprocessing (--mean, --std), give other data, or keep it in float with --keep first"
    )


def test_numbers_that_are_not_finite_are_named() -> None:
    weights = {"w": np.full((4, 3, 1, 1), 3e38, np.float32)}
    nodes = [node("Conv", ["image", "w"], "huge"), node("Relu", ["huge"], "out")]
    data = np.random.default_rng(0).uniform(1, 2, (4, 3, 8, 8)).astype(np.float32)
    assert refused(float_model(nodes, weights, outputs=["out"]), data) == (
        "layer 'out': it has numbers that are not finite (inf or nan) on these data; check the preprocessing (--mean, "
        "--std), or keep it in float with --keep huge"
    )


def test_a_tensor_of_which_nothing_is_left_is_named() -> None:
    """One number is the whole range, and all others lie below half of its smallest step."""
    data = np.random.default_rng(0).choice([-0.01, 0.01], (8, 3, 8, 8)).astype(np.float32)
    data[0, 0, 0, 0] = 4.0
    weights = {"w": np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1)}
    model = float_model([node("Conv", ["image", "w"], "out")], weights, outputs=["out"])
    assert refused(model, data, Options(methods=(Method.MIN_MAX,), symmetric=True)) == (
        "input 'image': its int8 form keeps almost nothing (signal to noise 0.0 dB with the range -4.03 to 4, while "
        "numbers go from -0.01 to 0.01); give more data or other ones, try --method percentile or --asymmetric, or "
        "keep it in float with --keep and the names of the layers that read it"
    )
    quantise(model, {"image": data}, Options(methods=(Method.PERCENTILE,), percentile=99.0))
