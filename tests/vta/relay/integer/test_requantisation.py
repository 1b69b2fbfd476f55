"""Every promise over its whole domain: any positive scale, any int32, any range of results."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.relay.apply import applied
from tests.support.relay.exact_rounding import from_a_half, half_up, within
from vta.relay.integer.requantisation import Requantisation, requantisation
from vta.relay.integer.scales import Output
from vta.relay.ir.names import Op
from vta.relay.ir.types import RelayError
from vta.relay.ops.qnn.rescale import INT32, RequantizeAttrs

WORDS = st.integers(*INT32)
SCALES = st.builds(lambda mantissa, exponent: mantissa * 2.0**exponent, st.floats(1, 2), st.integers(-60, 40))
BYTES = st.tuples(st.integers(-128, 127), st.integers(-128, 127), st.integers(-128, 127))
OUTPUTS = BYTES.map(lambda three: Output(three[0], min(three[1:]), max(three[1:])))


def results(numbers: Requantisation, output: Output, data: np.ndarray) -> np.ndarray:
    """Return what the operator gives."""
    attrs = RequantizeAttrs(output.low, output.high, "int32", numbers.low, numbers.high)
    tables = (numbers.pre_shift, numbers.multiplier, numbers.addend, numbers.shift)
    return applied(Op.REQUANTIZE, data, *tables, attrs=attrs)


def corners(scale: float, output: Output) -> list[int]:
    """Return numbers at ties, at the ends of the result's range, and at those of int32."""
    places = (output.low - output.zero_point, 0, 1, output.high - output.zero_point)
    centres = [int((place + half) / Fraction(scale)) for place in places for half in (Fraction(-1, 2), Fraction(1, 2))]
    near = [centre + step for centre in centres for step in (-1, 0, 1)]
    return [within(x, *INT32) for x in (*near, *INT32, 0, 1, -1)]


def check(value: int, x: int, scale: float, output: Output, error: float) -> None:
    """Assert that a result is the exact one, or its neighbour because the exact number is nearly a tie."""
    exact = x * Fraction(scale)
    expected = within(half_up(exact) + output.zero_point, output.low, output.high)
    if value != expected:
        assert abs(value - expected) == 1
        assert from_a_half(exact) <= Fraction(error)


@given(scale=SCALES, output=OUTPUTS, drawn=st.lists(WORDS, max_size=20))
@settings(max_examples=200)
def test_results_are_exact_but_for_near_ties_for_every_scale_and_number(
    scale: float, output: Output, drawn: list[int]
) -> None:
    numbers = requantisation(scale, output)
    assert numbers.error < 0.5
    data = [*corners(scale, output), *drawn]
    for x, value in zip(data, results(numbers, output, np.array(data, np.int32)).tolist(), strict=True):
        check(value, x, scale, output, numbers.error)


@given(scales=st.lists(SCALES, min_size=1, max_size=6), output=OUTPUTS, drawn=st.lists(WORDS, max_size=8))
@settings(max_examples=100)
def test_every_channel_has_its_scale_however_different_they_are(
    scales: list[float], output: Output, drawn: list[int]
) -> None:
    numbers = requantisation(np.array(scales).reshape(-1, 1), output)
    for channel, scale in enumerate(scales):
        data = [*corners(scale, output), *drawn]
        rows = np.zeros((len(scales), len(data)), np.int32)
        rows[channel] = data
        for x, value in zip(data, results(numbers, output, rows)[channel].tolist(), strict=True):
            check(value, x, scale, output, numbers.error)


@given(exponent=st.integers(-35, 20), output=OUTPUTS, drawn=st.lists(WORDS, max_size=20))
def test_powers_of_two_are_exact_with_halves_upwards(exponent: int, output: Output, drawn: list[int]) -> None:
    scale = 2.0**exponent
    numbers = requantisation(scale, output)
    assert (numbers.error, numbers.multiplier.size) == (0, 1)
    assert exponent > 0 or abs(int(numbers.multiplier)) <= 1
    data = [*corners(scale, output), *drawn]
    for x, value in zip(data, results(numbers, output, np.array(data, np.int32)).tolist(), strict=True):
        check(value, x, scale, output, 0)


@given(scale=SCALES, output=OUTPUTS, zero_point=st.integers(0, 255), unsigned=st.booleans())
@settings(max_examples=60)
def test_numbers_of_8_bits_with_a_zero_point(scale: float, output: Output, zero_point: int, unsigned: bool) -> None:
    assume(scale < 1e6)
    low, high = (0, 255) if unsigned else (-128, 127)
    zero_point += low
    numbers = requantisation(scale, output, input_zero_point=zero_point, data=(low, high))
    data = np.arange(low, high + 1, dtype=np.int32)
    for x, value in zip(data.tolist(), results(numbers, output, data).tolist(), strict=True):
        check(value, x - zero_point, scale, output, numbers.error)


@given(scale=SCALES, output=OUTPUTS, drawn=WORDS)
def test_a_result_that_saturates_needs_no_clip(scale: float, output: Output, drawn: int) -> None:
    numbers = requantisation(scale, output)
    assume(numbers.saturates)
    data = np.array([*corners(scale, output), drawn], np.int32)
    wide = Output(0, *INT32)
    assert np.array_equal(results(numbers, wide, data), results(numbers, output, data))


@pytest.mark.parametrize("output", [Output(), Output(-128), Output(0, 0, 127), Output(10)])
def test_scales_below_one_saturate_by_themselves(output: Output) -> None:
    assert all(requantisation(2.0**-n * 1.37, output).saturates for n in range(1, 20))


def test_zero_stays_zero_for_every_scale() -> None:
    for exponent in range(-40, 30):
        for mantissa in (1.0, 1.1, 1.5, 1.99):
            numbers = requantisation(mantissa * 2.0**exponent, Output(3))
            assert results(numbers, Output(3), np.zeros(1, np.int32)).tolist() == [3]


@pytest.mark.parametrize("output", [Output(), Output(-128), Output(0, 0, 127)])
def test_at_most_one_result_in_a_thousand_differs_from_onnxruntime_and_by_one(output: Output) -> None:
    """QLinearConv is clip(rint(f32(sum) * f32(scale)) + zero point)."""
    rng = np.random.default_rng(11)
    wrong = total = 0
    for exponent in np.linspace(-16, -2, 40):
        scale = np.float32(2.0**exponent * 1.013)
        sums = rng.normal(0, rng.uniform(10, 60) / scale, 20_000).astype(np.int32)
        expected = np.clip(np.rint(sums.astype(np.float32) * scale) + output.zero_point, output.low, output.high)
        difference = np.abs(results(requantisation(float(scale), output), output, sums) - expected)
        assert difference.max() <= 1
        wrong, total = wrong + int(np.count_nonzero(difference)), total + sums.size
    assert wrong / total < 0.0005


def test_channels_of_like_scales_share_their_shifts() -> None:
    scales = np.random.default_rng(5).uniform(2.0**-9, 1.2 * 2.0**-9, (64, 1, 1))
    numbers = requantisation(scales)
    assert (numbers.pre_shift.shape, numbers.shift.shape, numbers.multiplier.shape) == ((), (), (64, 1, 1))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(RelayError, match=r"^a scale is a positive number, not -1.0$"):
        requantisation(-1)
    with pytest.raises(RelayError, match=r"^results are at most 16777216 from their zero point, not 2147483648$"):
        requantisation(1.0, Output(0, *INT32))
    with pytest.raises(RelayError) as error:
        requantisation(1.0, input_zero_point=1)
    assert str(error.value) == (
        "data with a zero point, 1, has at most 16 bits, not the range (-2147483648, 2147483647)"
    )
