"""Products with real scales in whole numbers: near enough, and the same on the accelerator as without limits."""

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.support.compiler.random_operators import environment
from tests.support.configs import CONFIGS
from vta.topi.conv.conv2d_operator import Conv2d, conv2d_sums
from vta.topi.core import epilogue
from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Multiply,
    Residual,
    Scale,
    ShiftRight,
)
from vta.topi.core.fixed_point import FixedPoint, FixedPointError, ScaledResidual, output_steps
from vta.topi.core.operator import compile  # noqa: A004

LARGEST = (1 << 30) - 1
LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1


@pytest.mark.parametrize("exponents", [(-12, -5), (-30, 3), (-3, 8)])
def test_results_are_near_the_exact_product(exponents: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        scales = 2.0 ** rng.uniform(*exponents, 4)
        fixed = FixedPoint.nearest(scales)
        reach = np.minimum(128 / scales, LARGEST)
        numbers = np.rint(rng.uniform(-1, 1, (200, 4)) * reach).astype(np.int64)
        exact = numbers * scales
        assert np.abs(fixed.of(numbers) - exact)[np.abs(exact) <= 128].max() <= 0.5 + 2**-6


@pytest.mark.parametrize("seed", range(4))
def test_results_are_near_the_exact_product_whatever_matters_and_whatever_the_scales(seed: int) -> None:
    """Judged with fractions, at the ends of what gives a result as well; scales are chosen to round badly, too."""
    rng = random.Random(seed)
    for _ in range(150):
        largest = rng.choice([128, 129, 388, 1000, 2000, 4000, 16384, 10**5, 10**6])
        most = rng.choice([-10, 0, 3, 20, 126])
        scales = [
            rng.choice([2.0 ** rng.uniform(-60, most), 2.0 ** rng.randint(-40, most) * (1 + rng.choice([0, 1.22e-4]))])
            for _ in range(rng.randint(1, 3))
        ]
        fixed = FixedPoint.nearest(scales, largest=largest)
        if largest + min(max(scales), largest + 1) <= 2046:
            assert fixed.error == 2**-6
        for channel, scale in enumerate(scales):
            reach = min(LARGEST, int(128 / Fraction(scale)))
            numbers = [reach, -reach, reach // 2, *(rng.randint(-reach, reach) for _ in range(12))]
            results = fixed.of(np.array([numbers]).T.repeat(len(scales), axis=1))[:, channel].tolist()
            for number, result in zip(numbers, results, strict=True):
                assert abs(result - Fraction(scale) * number) <= Fraction(1, 2) + Fraction(fixed.error)


def test_a_scale_so_large_that_only_zero_matters_leaves_other_channels_precise() -> None:
    fixed = FixedPoint.nearest([1e20, 0.003])
    assert fixed.of(np.array([[0, 1000], [1, 0], [-1, 0]])).tolist() == [[0, 3], [129, 0], [-129, 0]]
    assert fixed.error == 2**-6


def test_a_power_of_two_is_exact_and_halves_go_upwards() -> None:
    fixed = FixedPoint.nearest(1 / 4)
    numbers = np.arange(-9, 10).reshape(1, -1)
    np.testing.assert_array_equal(fixed.of(numbers), np.floor(numbers / 4 + 0.5))


@pytest.mark.parametrize("scales", [(0.003, 0.01, 0.0007), (1e-5, 0.02, 3e-7), (0.9, 1.7, 40.0), 0.006])
def test_first_and_last_are_the_ends_of_what_gives_a_result(scales: float | tuple[float, ...]) -> None:
    fixed = FixedPoint.nearest(scales)
    for result in (-128, -7, 0, 1, 127):
        first, last = fixed.first(result), fixed.last(result)
        assert (fixed.of(first, 0) >= result).all()
        assert (fixed.of(first - 1, 0) < result).all()
        assert (fixed.of(last, 0) <= result).all()
        assert (fixed.of(last + 1, 0) > result).all()


def unlimited(
    fixed: FixedPoint, sums: np.ndarray, residual: np.ndarray | None, scaled: ScaledResidual | None
) -> np.ndarray:
    """Return products in numbers without limit, before the zero point."""
    if residual is None or scaled is None:
        return fixed.of(sums)
    narrowed = (sums + (1 << fixed.narrow >> 1)) >> fixed.narrow
    whole = narrowed * fixed.multiplier + (residual.astype(np.int64) - scaled.zero_point) * scaled.multiplier
    if fixed.ties_to_even:
        return np.rint(whole / 2**fixed.shift).astype(np.int64)  # exact: far fewer than 53 bits
    return (whole + (1 << fixed.shift >> 1)) >> fixed.shift


@pytest.mark.parametrize("with_residual", [False, True])
@pytest.mark.parametrize("exponents", [(-12, -5), (-30, 3), (-3, 5)])
def test_the_steps_give_what_numbers_without_limit_give(exponents: tuple[int, int], with_residual: bool) -> None:
    rng = np.random.default_rng([*np.abs(exponents), with_residual])
    for _ in range(150):
        channels = int(rng.integers(1, 6))
        low, high = int(rng.choice([-128, 0, -127, -5])), int(rng.choice([127, 6, 100]))
        zero_point = int(rng.integers(low, high + 1))
        bias = rng.integers(-(1 << int(rng.choice([10, 20, 28]))), 1 << 20, channels)
        scale = float(2.0 ** rng.uniform(-6, 2))
        reach = round(2 * 256 * scale) + 4 if with_residual else 0
        fixed = FixedPoint.nearest(2.0 ** rng.uniform(*exponents, channels), largest=128 + reach)
        scaled = ScaledResidual.nearest(scale, fixed.shift, int(rng.integers(-128, 128))) if with_residual else None
        ends = np.concatenate([fixed.first(v - zero_point) - bias + d for v in (low, high + 1) for d in (-1, 0, 1)])
        sums = np.concatenate([ends.reshape(-1, channels), rng.integers(-LARGEST, LARGEST + 1, (40, channels))])
        sums = np.clip(np.concatenate([sums, rng.integers(-30_000, 30_000, (40, channels))]), -LARGEST, LARGEST)
        sums[-2:] = [[-LARGEST], [LARGEST]]
        residual = rng.choice([-128, -1, 0, 127], sums.shape).astype(np.int8) if with_residual else None
        made = output_steps(fixed, bias=bias, zero_point=zero_point, low=low, high=high, residual=scaled)
        given = [*made.arrays, *([] if residual is None else [residual])]
        expected = np.clip(unlimited(fixed, sums + bias, residual, scaled) + zero_point, low, high)
        np.testing.assert_array_equal(epilogue.applied(sums, made.steps, given), expected)


@pytest.mark.parametrize("with_residual", [False, True])
@pytest.mark.parametrize("bits", [*range(1, 12), 14, 17, 20])
def test_exact_products_have_ties_that_go_to_even(bits: int, with_residual: bool) -> None:
    """Against fractions, at every tie and on both sides of it; channels have several powers of two."""
    rng = np.random.default_rng([bits, with_residual])
    for _ in range(8):
        low, high = int(rng.choice([-128, 0, -127, -5])), int(rng.choice([127, 6, 100]))
        zero_point = int(rng.integers(low, high + 1))
        exponents = -np.array([bits, *rng.integers(max(bits - 3, 0), bits + 1, int(rng.integers(0, 4)))])
        scale = float(2.0 ** -int(rng.integers(0, min(bits, 6) + 1)))
        largest = 128 + (round(2 * 256 * scale) + 4 if with_residual else 0)
        fixed = FixedPoint.exact(2.0**exponents, others=(scale,) * with_residual, largest=largest)
        assert fixed is not None
        assert (fixed.shift, fixed.ties_to_even) == (bits, True)
        scaled = ScaledResidual.nearest(scale, fixed.shift, int(rng.integers(-128, 128))) if with_residual else None
        bias = rng.integers(-(1 << bits), 1 << bits, len(exponents))
        halves = np.arange(-300, 300).repeat(len(exponents)).reshape(-1, len(exponents)) << -exponents
        halves = halves + (1 << -exponents >> 1) - bias
        sums = np.concatenate([halves - 1, halves, halves + 1])
        residual = rng.integers(-128, 128, sums.shape).astype(np.int8) if with_residual else None
        made = output_steps(fixed, bias=bias, zero_point=zero_point, low=low, high=high, residual=scaled)
        given = [*made.arrays, *([] if residual is None else [residual])]
        expected = np.clip(unlimited(fixed, sums + bias, residual, scaled) + zero_point, low, high)
        np.testing.assert_array_equal(epilogue.applied(sums, made.steps, given), expected)
        if not with_residual:
            ends = np.array([round((int(x) + int(bias[0])) * Fraction(1, 1 << bits)) for x in sums[:, 0]])
            np.testing.assert_array_equal(np.clip(ends + zero_point, low, high), expected[:, 0])
        for result in (-128, -7, 0, 1, 127):
            assert (fixed.of(fixed.first(result), 0) >= result).all()
            assert (fixed.of(fixed.first(result) - 1, 0) < result).all()


def test_ties_to_even_take_two_operations_more() -> None:
    made = output_steps(FixedPoint(np.array([1]), np.array([0]), 7, ties_to_even=True))
    kinds = [type(step) for step in made.steps]
    assert kinds == [Clip, Clip, Multiply, ShiftRight, Multiply, Add, ShiftRight]
    upwards = output_steps(FixedPoint(np.array([1]), np.array([0]), 7))
    assert [type(step) for step in upwards.steps] == [Clip, Clip, Add, ShiftRight]


@pytest.mark.parametrize(
    ("scales", "others", "largest"),
    [
        ([0.1], (), 128),  # no power of two
        ([2.0, 1.0], (), 128),  # whole numbers have no ties
        ([0.5, 300.5], (0.1,), 128),  # the residual's is none
        ([300.5], (), 128),  # no tie is as small as a result
        ([2.0**-21], (), 128),  # hardly ever a tie
        ([2.0**-20], (), 2000),  # no room
    ],
)
def test_other_scales_have_no_exact_products(scales: list[float], others: tuple[float, ...], largest: int) -> None:
    assert FixedPoint.exact(scales, others=others, largest=largest) is None


def test_a_small_number_over_a_power_of_two_is_exact() -> None:
    fixed = FixedPoint.exact([0.375, 0.5, 1e20])
    assert fixed is not None
    assert (fixed.multiplier.tolist(), fixed.shift) == ([3, 4, 129 * 8], 3)
    assert fixed.of(np.array([[4, 1, 0], [12, 3, 1], [-4, -1, -1]])).tolist() == [[2, 0, 0], [4, 2, 129], [-2, 0, -129]]


def test_five_operations_are_enough() -> None:
    rng = np.random.default_rng(2)
    bias, scales = rng.integers(-5000, 5000, 64), rng.uniform(0.001, 0.01, 64)
    made = output_steps(FixedPoint.nearest(scales), bias=bias, zero_point=-128, low=-128)
    assert made.steps == (ChannelMaximum(), ChannelMinimum(), Scale(), Bias(), ShiftRight(23))
    relu = output_steps(FixedPoint.nearest(0.003), low=0)
    assert relu.steps == (Clip(-166, HIGHEST), Clip(LOWEST, 42_499), Multiply(25_166), Add(1 << 22), ShiftRight(23))
    assert relu.arrays == ()


def test_limits_that_no_sum_reaches_are_left_out() -> None:
    made = output_steps(FixedPoint.nearest(0.75), largest=128)
    assert made.steps == (Multiply(6_291_456), Add(1 << 22), ShiftRight(23))


def test_small_scales_cost_a_shift_and_a_sum_more_and_scales_over_one_a_limit() -> None:
    small = output_steps(FixedPoint.nearest([1e-5, 1.7e-5]), bias=[3, 4])
    kinds = [type(step) for step in small.steps]
    assert kinds == [ChannelMaximum, ChannelMinimum, Bias, ChannelShift, Scale, Add, ShiftRight]
    large = output_steps(FixedPoint.nearest(1.5), zero_point=3)
    assert large.steps[-1] == Clip(-128, 127)


def test_a_residual_is_the_last_tensor() -> None:
    fixed = FixedPoint.nearest([0.002, 0.003], largest=420)
    made = output_steps(fixed, bias=[5, 6], residual=ScaledResidual.nearest(1.1, fixed.shift, 7))
    kinds = [type(step) for step in made.steps]
    assert kinds == [ChannelMaximum, ChannelMinimum, Scale, Bias, Residual, ShiftRight, Clip]
    assert len(made.arrays) == 4


@pytest.mark.parametrize("config", CONFIGS)
def test_a_convolution_with_a_residual_of_another_scale_is_the_unlimited_one(config: str) -> None:
    env = environment(config)
    rng = np.random.default_rng(3)
    fixed = FixedPoint.nearest(rng.uniform(0.002, 0.02, 24), largest=128 + 260)
    bias = rng.integers(-3000, 3000, 24)
    scaled = ScaledResidual.nearest(0.63, fixed.shift, -9)
    made = output_steps(fixed, bias=bias, zero_point=-100, low=-100, residual=scaled)
    layer = Conv2d(2, 20, 7, 9, 24, (3, 3), (2, 1), (1, 1, 1, 1), epilogue=made.steps)
    data, kernel = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((2, 20, 7, 9), (24, 20, 3, 3)))
    residual = rng.integers(-128, 128, layer.shape).astype(np.int8)
    sums = conv2d_sums(data, kernel, layer.window, 1).astype(np.int64)
    whole = unlimited_images(fixed, sums + bias.reshape(1, -1, 1, 1), residual, scaled)
    got = compile(layer, env)(data, kernel, *made.arrays, residual)
    np.testing.assert_array_equal(got, np.clip(whole - 100, -100, 127))


def unlimited_images(fixed: FixedPoint, sums: np.ndarray, residual: np.ndarray, scaled: ScaledResidual) -> np.ndarray:
    """Return ``unlimited`` for images, whose channels are the second dimension."""
    last = unlimited(fixed, np.moveaxis(sums, 1, -1), np.moveaxis(residual, 1, -1), scaled)
    return np.moveaxis(last, -1, 1)


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ([0.5, 0.0], "a fixed point takes positive scales, one or one for each channel, not [0.5, 0.0]"),
        ([], "a fixed point takes positive scales, one or one for each channel, not []"),
        (float("nan"), "a fixed point takes positive scales, one or one for each channel, not nan"),
    ],
)
def test_scales_that_cannot_be_are_refused(scales: object, message: str) -> None:
    with pytest.raises(FixedPointError) as caught:
        FixedPoint.nearest(scales)  # what is refused
    assert str(caught.value) == message


def test_results_too_large_for_fractions_are_refused() -> None:
    with pytest.raises(FixedPointError) as caught:
        FixedPoint.nearest(0.5, largest=1 << 24)
    assert str(caught.value) == "results up to 16777216 leave 32 bits no room for fractions; ask for less"


def test_outputs_that_32_bits_do_not_hold_are_refused() -> None:
    with pytest.raises(FixedPointError) as caught:
        output_steps(FixedPoint.nearest(0.01), zero_point=5, low=-3, high=4)
    assert str(caught.value) == "the zero point 5 is from low, -3, to high, 4"
    with pytest.raises(FixedPointError) as caught:
        ScaledResidual.nearest(1e-9, 20)
    assert str(caught.value) == "a residual's multiplier is from 1 to 2147483647, not 0"
    with pytest.raises(FixedPointError) as caught:
        output_steps(FixedPoint.nearest(0.01), bias=[2_000_000_000])
    assert str(caught.value) == (
        "output steps: with its bias, a channel has the same result for every sum up to 1073741823; take smaller biases"
    )
    fixed = FixedPoint.nearest(0.01)
    with pytest.raises(FixedPointError) as caught:
        output_steps(fixed, residual=ScaledResidual.nearest(2.0, fixed.shift))
    assert str(caught.value) == (
        "output steps: the products go from -5352012730 to 5352012722, which 32 bits do not hold; take smaller biases, "
        "or a fixed point for a larger 'largest'"
    )
