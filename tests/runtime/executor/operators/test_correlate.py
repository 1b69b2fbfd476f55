import numpy as np
import pytest

from runtime.executor.operators import correlate as module
from runtime.executor.operators.correlate import correlate, exact_float, scatter, wrap32
from runtime.executor.operators.windows import Window
from tests.support.relay.plain_windows import plain_conv2d


def test_a_float_type_is_chosen_in_which_every_sum_is_exact() -> None:
    data, weight = np.full((4,), 127, np.int8), np.full((2, 1040), 127, np.int8)
    assert exact_float(data, weight[:, :1040], (1,)) is np.float32
    assert exact_float(data, np.full((2, 1041), 127, np.int8), (1,)) is np.float64
    assert exact_float(np.full(1, -128, np.int8), np.full((1, 1024), -128, np.int8), (1,)) is np.float64


def test_sums_wrap_at_32_bits() -> None:
    assert wrap32(np.array([2.0**31, -(2.0**31) - 1, 5.0])).tolist() == [-(2**31), 2**31 - 1, 5]


def test_a_matrix_of_windows_in_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    data, weight = rng.integers(-9, 9, (2, 4, 9, 8)), rng.integers(-9, 9, (6, 2, 3, 2))
    window = Window((3, 2), (2, 1), (0, 0, 0, 0), (1, 2))
    expected = plain_conv2d(data, weight, strides=(2, 1), dilation=(1, 2), groups=2)
    for chunk in (1, 100, 1 << 22):
        monkeypatch.setattr(module, "_CHUNK", chunk)
        result = correlate(data.astype(np.float64), weight.astype(np.float64), window, groups=2)
        assert np.array_equal(result, expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_no_images_no_channels_and_no_kernels_are_no_results(groups: int) -> None:
    window = Window((3, 2), (1, 1), (0, 0, 0, 0), (1, 1))
    for batch, inputs, outputs in ((0, 4, 6), (2, 4, 0), (2, 0, 6)):
        data, weight = np.zeros((batch, inputs, 9, 8)), np.zeros((outputs, inputs // groups, 3, 2))
        assert correlate(data, weight, window, groups=groups).shape == (batch, outputs, 7, 7)
        kernel = np.zeros((inputs, outputs // groups, 3, 2))
        assert scatter(data, kernel, window, groups=groups).shape == (batch, outputs, 11, 9)
