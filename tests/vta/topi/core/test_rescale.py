"""Scales: the documented precision for every scale and every int32, judged with fractions, step by step."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest

from tests.support.compiler.random_operators import environment
from vta.topi.alu.elementwise import Elementwise
from vta.topi.core import epilogue
from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Epilogue,
    Multiply,
    Requantise,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    needs,
)
from vta.topi.core.operator import OperatorError, compile  # noqa: A004  # what it does
from vta.topi.core.rescale import channel_scales, quantise_channels, quantise_steps, scale_steps

LOW, HIGH = -(1 << 31), (1 << 31) - 1
HALF = Fraction(1, 2)


def done(x: int, steps: Epilogue, values: Sequence[int] = ()) -> int:
    """Do the steps on one number, in integers without end; nothing may leave int32 on the way."""
    given = iter(values)
    for step in steps:
        match step:
            case Clip():
                x = min(max(x, step.low), step.high)
            case Multiply():
                x *= step.constant
            case Add():
                x += step.constant
            case ShiftRight():
                x >>= step.bits
            case ShiftLeft():
                x <<= step.bits
            case RoundingShift():
                x = fits(x + (1 << (step.bits - 1))) >> step.bits
            case Requantise():
                x = fits(fits(x * step.multiplier) + (1 << step.shift >> 1)) >> step.shift
            case Scale():
                x *= next(given)
            case Bias():
                x += next(given)
            case ChannelShift():
                x >>= next(given)
            case ChannelMinimum():
                x = min(x, next(given))
            case ChannelMaximum():
                x = max(x, next(given))
            case _:
                raise AssertionError(f"{step} scales nothing")
        fits(x)
    return x


def shown(value: Fraction) -> str:
    return f"{float(min(max(value, Fraction(-(10**9))), Fraction(10**9))):.6f}"


def fits(x: int) -> int:
    assert LOW <= x <= HIGH, f"{x} does not fit 32 bits"
    return x


def drawn_scales(rng: random.Random, count: int) -> Iterator[float]:
    """Yield scales of every size, powers of two and their neighbours, and the ends of what a float can be."""
    yield from (5e-324, 1.7e308, 1.0, 0.5, 0.25, 0.9, 0.3, 0.1, 1 / 255, 0.001, 2.0**-23, 2.0**-24, 2.0**-31, 2.0**-32)
    yield from (2.0**-33, 2.0, 3.0, 128.0, 255.5, 256.0, 257.0, 1000.0, 2.0**31, 2.0**40)
    for _ in range(count):
        exponent = rng.randrange(-44, 14)
        yield rng.choice(
            [
                2.0 ** rng.uniform(-60, 60),
                2.0**exponent,
                math.nextafter(2.0**exponent, rng.choice([0, 1e9])),
                rng.uniform(1e-6, 3),
            ]
        )


def accumulators(rng: random.Random, scale: float, bound: int, results: Iterable[int]) -> list[int]:
    """Return numbers up to ``bound``: the ends, any, and those around which the results change."""
    found = [0, 1, -1, bound, -bound, *(rng.randint(-bound, bound) for _ in range(4))]
    for result in results:
        for part in (Fraction(rng.uniform(-1.05, 1.05)), Fraction(1), Fraction(-1)):
            exact = part * result / Fraction(scale)
            found += [math.floor(exact), math.ceil(exact)]
    return [min(max(x, -bound), bound, HIGH) for x in found if x != LOW or bound == -LOW]


def check_scale(scale: float, largest: int | None, results: int, rng: random.Random) -> None:
    steps = scale_steps(scale, largest, results=results)
    exact, allowed = Fraction(scale), HALF + Fraction(results, 1 << 14)
    for x in accumulators(rng, scale, largest or -LOW, [results]):
        result, product = done(x, steps), x * exact
        case = (
            f"{x} * {scale!r} is about {shown(product)}, not {result} (largest {largest}, results {results}: {steps})"
        )
        if abs(product) > results:
            assert result >= results if product > 0 else result <= -results, case
        else:
            assert abs(result - product) <= allowed, case
            assert x or not result, case
            if math.frexp(scale)[0] == 0.5:
                assert result == math.floor(product + HALF), case


def check_quantised(scale: float, largest: int | None, low: int, high: int, zero: int, rng: random.Random) -> None:
    steps = quantise_steps(scale, zero_point=zero, low=low, high=high, largest=largest)
    distances = [low - zero, high - zero]
    allowed = HALF + Fraction(max(map(abs, distances)) + 1, 1 << 14)
    for x in accumulators(rng, scale, largest or -LOW, distances):
        result, product = done(x, steps), x * Fraction(scale) + zero
        case = f"{x} * {scale!r} + {zero} is about {shown(product)}, not {result} ({low} to {high}, {largest}: {steps})"
        assert low <= result <= high, case
        assert abs(result - min(max(product, low), high)) <= allowed, case
        if math.frexp(scale)[0] == 0.5:
            assert result == min(max(math.floor(product + HALF), low), high), case


def check_drawn(count: int, seed: int) -> None:
    rng = random.Random(seed)
    for scale in drawn_scales(rng, count):
        largest = rng.choice([None, None, None, 1, 2, 100, rng.randint(1, -LOW), -LOW, (1 << 30) - 1])
        check_scale(scale, largest, rng.choice([256, 256, 128, 1, 3, 1 << 14, rng.randint(1, 1 << 14)]), rng)
        low = rng.randint(-128, 127)
        check_quantised(scale, largest, low, rng.randint(low, 127), rng.randint(-128, 127), rng)
        check_quantised(scale, largest, -128, 127, rng.choice([0, -128, 127, 5]), rng)


def test_every_scale_and_every_number_keep_the_documented_precision() -> None:
    check_drawn(600, seed=71)


@pytest.mark.long
def test_many_scales_keep_the_documented_precision() -> None:
    check_drawn(60_000, seed=72)


@pytest.mark.parametrize("scale", [0.9, 0.3, 0.1, 1 / 255, 0.001, 0.0002, 1.7])
def test_every_result_of_a_scale_is_the_nearest_but_at_halves(scale: float) -> None:
    """All numbers whose results lie around int8, one after the other."""
    steps = quantise_steps(scale)
    previous = -128
    for x in range(-int(140 / scale) - 2, int(140 / scale) + 3, max(1, int(0.02 / scale))):
        result = done(x, steps)
        assert result >= previous, "the result never goes down"
        previous = result
        assert abs(result - min(max(x * Fraction(scale), -128), 127)) <= HALF + Fraction(129, 1 << 14)


def test_every_channel_keeps_the_documented_precision() -> None:
    rng = random.Random(73)
    for _ in range(120):
        scales = list(drawn_scales(rng, 4))
        rng.shuffle(scales)
        scales = scales[: rng.randint(1, 8)]
        largest = rng.choice([None, None, 1, 1000, rng.randint(1, -LOW)])
        results = rng.choice([256, 256, 1, 1 << 14])
        plain = channel_scales(scales, largest, results=results)
        zero = rng.choice([0, -128, 3])
        quantised = quantise_channels(scales, zero_point=zero, largest=largest)
        for channel, scale in enumerate(scales):
            check_channel(scale, plain.steps, [int(a[channel]) for a in plain.arrays], largest, results, rng)
            given = [int(array[channel]) for array in quantised.arrays]
            for x in accumulators(rng, scale, largest or -LOW, [-128 - zero, 127 - zero]):
                exact = min(max(x * Fraction(scale) + zero, -128), 127)
                result = done(x, quantised.steps, given)
                assert abs(result - exact) <= HALF + Fraction(256, 1 << 14), (scales, channel, x, result, float(exact))


def check_channel(
    scale: float, steps: Epilogue, given: Sequence[int], largest: int | None, results: int, rng: random.Random
) -> None:
    for x in accumulators(rng, scale, largest or -LOW, [results]):
        result, product = done(x, steps, given), x * Fraction(scale)
        if abs(product) > results:
            assert result >= results if product > 0 else result <= -results, (scale, largest, x, result, steps)
        else:
            assert abs(result - product) <= HALF + Fraction(results, 1 << 14), (scale, largest, x, result, steps)
            if math.frexp(scale)[0] == 0.5:
                assert result == math.floor(product + HALF), (scale, x, result)


def test_powers_of_two_are_shifts() -> None:
    assert scale_steps(1.0) == ()
    assert scale_steps(1 / 256, 1 << 30) == (RoundingShift(8),)
    assert scale_steps(1 / 256) == (ShiftRight(7), RoundingShift(1))
    assert scale_steps(2.0**-31) == (ShiftRight(30), RoundingShift(1))
    assert scale_steps(4.0, 100_000) == (ShiftLeft(2),)
    assert scale_steps(4.0) == (Clip(-65, 65), ShiftLeft(2))
    assert quantise_steps(1 / 256) == (Clip(-128 * 256 - 128, 127 * 256 + 127), RoundingShift(8))
    assert quantise_steps(1 / 256, largest=30_000) == (RoundingShift(8),)


def test_small_numbers_get_precise_multipliers() -> None:
    assert scale_steps(0.1, 1000) == (Requantise(round(0.1 * 2**24), 24),)


def test_a_clip_of_the_accumulator_spares_that_of_the_result() -> None:
    steps = quantise_steps(0.004)
    assert steps == (Clip(-32125, 31875), Requantise(33_554, 23))
    assert needs(steps).operations == 5
    relu = quantise_steps(0.004, low=0, largest=20_000)
    assert relu == (Clip(-124, HIGH), Requantise(67_109, 24))
    assert needs(relu).operations == 4


def test_a_zero_point_costs_nothing() -> None:
    assert needs(quantise_steps(0.004, zero_point=-128)).operations == needs(quantise_steps(0.004)).operations


def test_scales_without_anything_in_between_are_constants() -> None:
    assert quantise_steps(1e-30, zero_point=7) == (Clip(7, 7),)
    assert quantise_steps(1e-30, zero_point=7, low=8) == (Clip(8, 8),)
    assert quantise_steps(0.5, zero_point=0, low=5, high=9, largest=1) == (Clip(5, 5),)
    assert quantise_steps(0.5, zero_point=0, low=-9, high=-5, largest=1) == (Clip(-5, -5),)


def test_every_channel_is_scaled_on_the_accelerator() -> None:
    scales = np.array([0.5, 0.013, 1 / 3, 0.002, 0.0007, 250.0])
    rng = np.random.default_rng(2)
    data = rng.integers(LOW, HIGH, (1, 6, 40), endpoint=True).astype(np.int32)
    data[..., :20] = (rng.uniform(-140, 140, (1, 6, 20)) / scales[None, :, None]).astype(np.int32)
    data[..., :3] = (LOW, HIGH, 0)
    found = quantise_channels(scales, zero_point=3)
    result = compile(Elementwise((1, 6, 40), found.steps, "int32"), environment("default"))(data, *found.arrays)
    exact = np.clip(data * scales[None, :, None] + 3, -128, 127)
    assert np.abs(result - exact).max() <= 1 / 2 + 1 / 64


def test_the_reference_of_an_epilogue_does_the_same() -> None:
    rng = np.random.default_rng(12)
    data = rng.integers(LOW, HIGH, (1, 400), endpoint=True).astype(np.int32)
    data[0, :200] >>= rng.integers(8, 31, 200)
    for scale in (0.9, 0.0123, 1e-6, 7.3, 1 / 64):
        steps = quantise_steps(scale, zero_point=-4)
        expected = [done(int(x), steps) for x in data[0]]
        assert epilogue.reference(data, steps, ())[0].tolist() == expected


REFUSED = [
    (lambda: scale_steps(0.0), "a scale is a positive number, not 0.0"),
    (lambda: scale_steps(-1.0), "a scale is a positive number, not -1.0"),
    (lambda: scale_steps(math.inf), "a scale is a positive number, not inf"),
    (lambda: scale_steps(math.nan), "a scale is a positive number, not nan"),
    (lambda: channel_scales([0.5, math.nan]), "a scale is a positive number, not nan"),
    (lambda: channel_scales([]), "channel_scales takes one scale for each channel, not none"),
    (lambda: quantise_channels([]), "quantise_channels takes one scale for each channel, not none"),
    (lambda: scale_steps(1.0, 0), "largest is from 1 to 2147483648, not 0"),
    (lambda: scale_steps(0.5, (1 << 31) + 1), "largest is from 1 to 2147483648, not 2147483649"),
    (lambda: scale_steps(0.5, results=0), "results is from 1 to 16384, not 0"),
    (lambda: quantise_steps(0.5, low=-10_000), "low is from -8192 to 8192, not -10000"),
    (lambda: quantise_steps(0.5, high=2.5), "high is from -8192 to 8192, not 2.5"),
    (lambda: quantise_steps(0.5, zero_point=1 << 20), "zero_point is from -8192 to 8192, not 1048576"),
    (lambda: quantise_channels([0.5], low=3, high=2), "low is 3, which is more than high, 2"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_scale_or_range_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(OperatorError) as caught:
        make()
    assert str(caught.value) == message
