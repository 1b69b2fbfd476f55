import pytest

from tests.support.compiler.random_operators import check
from tests.support.configs import CONFIGS
from vta.topi.alu.padding import Pad2d
from vta.topi.core.epilogue import Bias, Clip, ShiftLeft
from vta.topi.core.operator import OperatorError

PADS = [
    Pad2d(1, 20, 7, 9, (1, 2, 3, 0)),
    Pad2d(2, 40, 13, 14, (20, 0, 17, 33)),
    Pad2d(1, 20, 7, 9, (1, 2, 3, 4), 5, dtype="int32"),
    Pad2d(1, 20, 7, 9, (17, 20, 0, 4), -70_000, (Bias(), Clip(-3, 9))),
    Pad2d(1, 20, 3, 4, (0, 0, 0, 0), 3, (ShiftLeft(1),)),
]


@pytest.mark.parametrize("number", range(len(PADS)))
def test_padding_is_that_of_numpy(number: int) -> None:
    for config in [[*CONFIGS][number], [*CONFIGS][(number + 2) % 5]]:
        check(PADS[number], config, seed=number)


def test_pads_and_values_that_cannot_be_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        Pad2d(1, 16, 4, 4, (0, -1, 0, 0))
    assert str(caught.value) == ("Pad2d: padding takes 4 numbers from 0 (top, left, bottom, right), not (0, -1, 0, 0)")
    with pytest.raises(OperatorError) as caught:
        Pad2d(1, 16, 4, 4, (0, 1, 0, 0), 1 << 31)
    assert str(caught.value) == "Pad2d: value fits int32, and 2147483648 does not"
