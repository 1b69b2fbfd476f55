import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs, PadMode
from tests.support.relay.apply import applied, refusal


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (PadMode.CONSTANT, [7, 7, 1, 2, 3, 7]),
        (PadMode.EDGE, [1, 1, 1, 2, 3, 3]),
        (PadMode.REFLECT, [3, 2, 1, 2, 3, 2]),
        (PadMode.WRAP, [2, 3, 1, 2, 3, 1]),
    ],
)
def test_what_pads_consist_of(mode: PadMode, expected: list[int]) -> None:
    data = np.array([[1, 2, 3]], np.int8)
    result = applied(Op.PAD, data, attrs=PadAttrs(((0, 0), (2, 1)), 7, mode))
    assert result.tolist() == [expected]
    assert result.dtype == np.int8


def test_pads_of_every_axis() -> None:
    result = applied(Op.PAD, np.ones((1, 2), np.float32), attrs=PadAttrs(((1, 0), (0, 1)), 0.5))
    assert result.tolist() == [[0.5, 0.5, 0.5], [1, 1, 0.5]]


@pytest.mark.parametrize(
    ("shape", "attrs", "sentence"),
    [
        ((2, 2), PadAttrs(((1, 1),)), "pad_width has two integers from 0 for each of 2 axes, not ((1, 1),)"),
        ((2,), PadAttrs(((1, -1),)), "pad_width has two integers from 0 for each of 1 axes, not ((1, -1),)"),
        ((2,), PadAttrs(((1, 1),), 0.5), "pad_value is 0.5, which int8 does not hold"),
        ((2,), PadAttrs(((1, 1),), 128), "pad_value is 128, which int8 does not hold"),
        ((1,), PadAttrs(((1, 1),), pad_mode=PadMode.REFLECT),
         "pads of mode reflect take from 2 elements or more, and an axis has 1"),
        ((0,), PadAttrs(((1, 1),), pad_mode=PadMode.EDGE),
         "pads of mode edge take from 1 elements or more, and an axis has 0"),
    ],
)  # fmt: skip
def test_pads_that_cannot_be_are_refused(shape: tuple[int, ...], attrs: PadAttrs, sentence: str) -> None:
    assert refusal(Op.PAD, (shape, "int8"), attrs=attrs) == sentence
