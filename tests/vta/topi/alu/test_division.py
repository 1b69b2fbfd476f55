import numpy as np
import pytest

from vta.topi.alu.division import Division, DivisionError, Quotient, Rounding, common_quotients, divided, division


def done(how: Division, values: np.ndarray) -> np.ndarray:
    """Divide in 32-bit arithmetic, which raises where it would wrap."""
    halved = values >> how.halvings
    product = halved.astype(np.int64) * how.quotient.multiplier + how.quotient.offset
    assert -(1 << 31) <= product.min() <= product.max() < 1 << 31
    quotient = product >> how.quotient.shift
    if how.correct_by:
        quotient += (halved - quotient * how.correct_by) >> 31
    return quotient


@pytest.mark.parametrize("low", [-128, 0])
def test_every_sum_of_int8_numbers_is_divided_exactly(low: int) -> None:
    for divisor in [*range(1, 300), 961, 3136, 4099, 12_544]:
        values = np.arange(low * divisor, 127 * divisor + divisor // 2 + 1, dtype=np.int64)
        how = division(divisor, int(values[0]), int(values[-1]))
        np.testing.assert_array_equal(done(how, values), values // divisor, str(divisor))


def test_a_power_of_two_is_a_shift() -> None:
    assert division(64, -(1 << 20), 1 << 20) == Division(6, Quotient(1, 0, 0))


def test_a_multiplication_and_a_shift_are_enough_for_small_windows() -> None:
    assert division(9, -9 * 128, 9 * 127) == Division(0, Quotient(455, 127, 12))
    assert division(12, -12 * 128, 12 * 127).halvings == 2
    assert not any(division(n, -128 * n, 128 * n).correct_by for n in range(1, 182))


def test_a_divisor_that_32_bits_are_too_few_for_is_refused() -> None:
    with pytest.raises(DivisionError) as caught:
        division(65_535, -65_535 * 128, 65_535 * 127 + 32_767)
    assert str(caught.value) == (
        "division by 65535 of numbers from -8388480 to 8355712 takes more than 32 bits; use a smaller window"
    )


@pytest.mark.parametrize("rounding", Rounding)
def test_divisors_with_one_shift_are_exact_too(rounding: Rounding) -> None:
    counts = [1, 2, 3, 4, 6, 9, 25, 49]
    low, high = (0, 128) if rounding.is_symmetric else (-128, 127)
    quotients = common_quotients(counts, low, high, rounding)
    assert len({quotient.shift for quotient in quotients.values()}) == 1
    for count in counts:
        sums = np.arange(low * count, high * count + 1, dtype=np.int64)
        product = sums * quotients[count].multiplier + quotients[count].offset
        assert -(1 << 31) <= product.min() <= product.max() < 1 << 31
        expected = divided(sums, np.full_like(sums, count), rounding)
        np.testing.assert_array_equal(product >> quotients[count].shift, expected)


@pytest.mark.parametrize("rounding", Rounding)
def test_any_windows_of_up_to_181_cells_go_together(rounding: Rounding) -> None:
    """The bound that the operators' page states, on every sum of every count."""
    low, high = (0, 128) if rounding.is_symmetric else (-128, 127)
    quotients = common_quotients(range(1, 182), low, high, rounding)
    for count, quotient in quotients.items():
        sums = np.arange(low * count, high * count + 1, dtype=np.int64)
        product = sums * quotient.multiplier + quotient.offset
        assert -(1 << 31) <= product.min() <= product.max() < 1 << 31
        expected = divided(sums, np.full_like(sums, count), rounding)
        np.testing.assert_array_equal(product >> quotient.shift, expected, str(count))


def test_divisors_that_no_shift_makes_exact_are_refused() -> None:
    with pytest.raises(DivisionError) as caught:
        common_quotients([211, 499], -128, 127, Rounding.FLOOR)
    assert str(caught.value) == (
        "division by 211 to 499, depending on the place: no shift makes all of them exact in 32 bits; use a smaller "
        "window, or count_include_pad without ceil_mode"
    )


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        (Rounding.FLOOR, [-3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2]),
        (Rounding.HALF_UP, [-2, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3]),
        (Rounding.HALF_AWAY, [-3, -2, -2, -1, -1, 0, 1, 1, 2, 2, 3]),
        (Rounding.TRUNCATE, [-2, -2, -1, -1, 0, 0, 0, 1, 1, 2, 2]),
    ],
)
def test_halves_are_rounded_as_their_rule_says(rounding: Rounding, expected: list[int]) -> None:
    sums = np.arange(-5, 6)
    assert divided(sums, np.full_like(sums, 2), rounding).tolist() == expected


def test_thirds_go_to_the_nearest_integer() -> None:
    sums = np.arange(-4, 5)
    thirds = np.full_like(sums, 3)
    assert divided(sums, thirds, Rounding.HALF_UP).tolist() == [-1, -1, -1, 0, 0, 0, 1, 1, 1]
    assert divided(sums, thirds, Rounding.HALF_AWAY).tolist() == [-1, -1, -1, 0, 0, 0, 1, 1, 1]
