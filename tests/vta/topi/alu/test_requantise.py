from fractions import Fraction

import numpy as np
import pytest

from tests.support.compiler.random_operators import check, environment
from vta.topi.alu.elementwise import Elementwise
from vta.topi.alu.requantise import channel_scales, requantise, scale_steps
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Clip, Requantise, RoundingShift, ShiftLeft
from vta.topi.core.operator import OperatorError, compile  # noqa: A004  # what it does


def stepped(values: np.ndarray, scale: float, largest: int) -> np.ndarray:
    """Do the steps without the store's narrowing."""
    high = epilogue.reference(values, (*scale_steps(scale, largest), epilogue.ShiftRight(7)), ())
    low = epilogue.reference(values, (*scale_steps(scale, largest), epilogue.Add(0)), ())
    return (high.astype(np.int64) << 7) + (low.astype(np.int64) & 127)


def test_results_are_near_the_exact_product() -> None:
    rng = np.random.default_rng(11)
    for _ in range(200):
        largest = int(2 ** rng.uniform(3, 30)) - 1
        scale = float(rng.uniform(0.01, 1)) * 255 / largest
        values = rng.integers(-largest, largest, 64, endpoint=True).astype(np.int32)
        values[:3] = (largest, -largest, 0)
        found = stepped(values.reshape(1, 64), scale, largest)[0]
        for value, result in zip(values.tolist(), found.tolist(), strict=True):
            exact = value * Fraction(scale)
            assert abs(result - exact) <= Fraction(1, 2) + Fraction(1, 64), (value, scale, largest)


def test_powers_of_two_are_shifts() -> None:
    assert scale_steps(1.0) == ()
    assert scale_steps(1 / 256) == (RoundingShift(8),)
    assert scale_steps(2.0**-31) == (RoundingShift(31),)
    assert scale_steps(4.0, 100_000) == (ShiftLeft(2),)


def test_small_numbers_get_precise_multipliers() -> None:
    assert scale_steps(0.1, 1000) == (Requantise(round(0.1 * 2**24), 24),)
    assert scale_steps(0.1, 1 << 20) == (RoundingShift(5), Requantise(52_429, 14))


def test_a_scale_so_small_that_nothing_is_left_gives_zero() -> None:
    assert not stepped(np.full((1, 8), (1 << 30) - 1, np.int32), 2.0**-40, (1 << 30) - 1).any()


@pytest.mark.parametrize("config", ["default", "b2k16"])
def test_the_operator_saturates(config: str) -> None:
    operator = requantise((2, 20, 3, 3), 0.0123, 100_000)
    assert operator.epilogue[-1] == Clip(-128, 127)
    data = np.full((2, 20, 3, 3), 90_000, np.int32)
    assert (compile(operator, environment(config))(data) == 127).all()
    check(operator, config)


def test_every_channel_has_a_scale_of_its_own() -> None:
    scales = np.array([0.5, 0.013, 1 / 3, 0.002, 0.0007])
    found = channel_scales(scales, 20_000)
    operator = Elementwise((1, 5, 40), found.steps, "int32")
    rng = np.random.default_rng(2)
    data = rng.integers(-240, 240, (1, 5, 40)).astype(np.int32)
    result = compile(operator, environment("default"))(data, *found.arrays)
    exact = data * scales[None, :, None]
    assert np.abs(result - exact).max() <= 0.5 + 1 / 64
    check(Elementwise((1, 5, 40), channel_scales(scales).steps, "int32"), "in16out32")


@pytest.mark.parametrize(
    ("scale", "largest", "message"),
    [
        (0.0, 10, "a scale is a positive number, not 0.0"),
        (float("inf"), 10, "a scale is a positive number, not inf"),
        (1.0, 0, "largest is from 1 to 1073741823, not 0"),
        (0.5, 1 << 30, "largest is from 1 to 1073741823, not 1073741824"),
        (
            3.0,
            (1 << 30) - 1,
            "a scale of 3.0 makes numbers of more than 32 bits of 1073741823; give a smaller largest=",
        ),
    ],
)
def test_scales_that_32_bits_do_not_hold_are_refused(scale: float, largest: int, message: str) -> None:
    with pytest.raises(OperatorError) as caught:
        scale_steps(scale, largest)
    assert str(caught.value) == message
