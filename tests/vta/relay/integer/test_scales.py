import math

import numpy as np
import pytest

from vta.relay.integer.scales import Output, checked_scale, checked_scales, fits
from vta.relay.ir.types import RelayError


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    sentence = f"^a scale is a positive number, not {scale}$"
    with pytest.raises(RelayError, match=sentence):
        checked_scale(scale)
    with pytest.raises(RelayError, match=sentence):
        checked_scales([1.0, scale])


def test_scales_keep_their_shape() -> None:
    assert checked_scales(np.ones((3, 1, 1), np.float32)).shape == (3, 1, 1)
    with pytest.raises(RelayError, match=r"^there is one scale or more, and none was given$"):
        checked_scales([])


def test_an_output_knows_how_far_results_are_from_its_zero_point() -> None:
    assert Output().reach == 128
    assert Output(-128).reach == 255
    assert Output(5, 5, 5).reach == 1
    with pytest.raises(RelayError, match=r"^the range of a result is from low to high, not from 1 to 0$"):
        Output(0, 1, 0)


def test_numbers_of_32_bits_fit() -> None:
    assert fits(-(2**31), 2**31 - 1)
    assert not fits(0, 2**31)
