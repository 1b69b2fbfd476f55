"""Samples fit a model, or a sentence says what does not."""

import numpy as np
import pytest

from tests.support.relay.float_models import small_network
from vta.quantize.calibrate.samples import InputType, Samples, input_types
from vta.quantize.errors import CalibrationError

IMAGE = InputType("image", (None, 3, 4, 4), np.dtype(np.float32))
FIXED = InputType("image", (2, 3, 4, 4), np.dtype(np.float32))


def test_inputs_of_a_model_have_open_sizes() -> None:
    [found] = input_types(small_network())
    assert (found.name, found.shape, found.dtype) == ("image", (None, 3, 8, 8), np.float32)


def test_batches_have_every_sample_once() -> None:
    data = np.arange(10 * 48, dtype=np.float32).reshape(10, 3, 4, 4)
    samples = Samples({"image": data}, (IMAGE,))
    np.testing.assert_array_equal(np.concatenate([feed["image"] for feed in samples.batches()]), data)
    assert [len(feed["image"]) for feed in Samples({"image": data[:5]}, (FIXED,)).batches()] == [2, 2]
    assert samples.head(3).count == 3


def test_a_quarter_is_held_back_where_there_is_enough() -> None:
    data = np.arange(16, dtype=np.float32).reshape(16, 1, 1, 1) * np.ones((1, 3, 4, 4), np.float32)
    calibration, held = Samples({"image": data}, (IMAGE,)).split()
    assert held.arrays["image"][:, 0, 0, 0].tolist() == [3, 7, 11, 15]
    assert calibration.count == 12
    few = Samples({"image": data[:3]}, (IMAGE,))
    assert few.split() == (few, few)


NAN = np.full((2, 3, 4, 4), np.nan, np.float32)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({}, "the data have nothing, and the model takes 'image' of shape (?, 3, 4, 4)"),
        (
            {"image": np.zeros((2, 4, 4, 3), np.float32)},
            "the data are of shape (2, 4, 4, 3), and the model takes 'image' of shape (?, 3, 4, 4); the first axis "
            "counts samples",
        ),
        ({"image": NAN}, "the data of 'image' have numbers that are not finite; look at how they are made"),
        ({"image": NAN.astype(complex)}, "the data of 'image' are complex128, and the model takes float32"),
        ({"image": np.zeros((0, 3, 4, 4))}, "the inputs have 0 samples; give each the same number, at least one"),
    ],
)
def test_data_that_do_not_fit_are_refused(arrays: dict[str, np.ndarray], sentence: str) -> None:
    with pytest.raises(CalibrationError) as caught:
        Samples(arrays, (IMAGE,))
    assert str(caught.value) == sentence


def test_whole_numbers_keep_their_type() -> None:
    bytes_ = InputType("image", (None, 2), np.dtype(np.uint8))
    with pytest.raises(CalibrationError) as caught:
        Samples({"image": np.zeros((1, 2))}, (bytes_,))
    assert str(caught.value) == "the data of 'image' are float64, and the model takes uint8"
