from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.relay.apply import applied
from tests.support.relay.exact_rounding import from_a_half, half_up, within
from vta.relay.integer.scales import Output
from vta.relay.integer.weighted import Operand, WeightedSum, weighted_sum
from vta.relay.ir.names import Op
from vta.relay.ir.types import RelayError
from vta.relay.ops.qnn.rescale import WeightedAttrs

SCALES = st.builds(lambda mantissa, exponent: mantissa * 2.0**exponent, st.floats(1, 2), st.integers(-12, 8))
BYTES = st.integers(-128, 127)


def results(numbers: WeightedSum, output: Output, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    first, second = numbers.multipliers
    attrs = WeightedAttrs(output.low, output.high, "int8", first, second, numbers.addend, numbers.shift)
    return applied(Op.QNN_ADD, a, b, attrs=attrs)


@given(scales=st.tuples(SCALES, SCALES), zeros=st.tuples(BYTES, BYTES, BYTES), minus=st.booleans(), seed=st.integers())
@settings(max_examples=80)
def test_sums_are_exact_but_for_near_ties(
    scales: tuple[float, float], zeros: tuple[int, int, int], minus: bool, seed: int
) -> None:
    output = Output(zeros[2])
    signed = (scales[0], -scales[1] if minus else scales[1])
    numbers = weighted_sum([Operand(scale, zero) for scale, zero in zip(signed, zeros, strict=False)], output)
    rng = np.random.default_rng(abs(seed))
    a = np.concatenate([rng.integers(-128, 128, 60), [-128, -128, 127, 127, zeros[0]]]).astype(np.int8)
    b = np.concatenate([rng.integers(-128, 128, 60), [-128, 127, -128, 127, zeros[1]]]).astype(np.int8)
    for x, y, value in zip(a.tolist(), b.tolist(), results(numbers, output, a, b).tolist(), strict=True):
        exact = (x - zeros[0]) * Fraction(signed[0]) + (y - zeros[1]) * Fraction(signed[1])
        expected = within(half_up(exact) + zeros[2], -128, 127)
        if value != expected:
            assert abs(value - expected) == 1
            assert from_a_half(exact) <= Fraction(numbers.error)


def test_multipliers_of_residual_adds_are_exact_to_14_bits() -> None:
    for first, second in product((0.13, 0.5, 0.99, 1.7, 3.9), repeat=2):
        assert weighted_sum([Operand(first), Operand(second)], Output()).error < 2.0**-14


def test_powers_of_two_are_exact_and_short() -> None:
    assert weighted_sum([Operand(0.5), Operand(2.0)], Output()) == WeightedSum((1, 4), 1, 1, 0.0)
    assert weighted_sum([Operand(1.0), Operand(1.0, 3)], Output(5)) == WeightedSum((1, 1), 2, 0, 0.0)


def test_operands_of_which_one_is_there_at_a_time_have_a_bit_more() -> None:
    halves = [Operand(1.7123, 0, 0, 255), Operand(1.7123, 0, 0, 255)]
    assert weighted_sum(halves, Output(), is_exclusive=True).shift == weighted_sum(halves, Output()).shift + 1


def test_scales_that_make_too_large_sums_are_refused() -> None:
    with pytest.raises(RelayError, match=r"^scales 16777216.0, 1.0 make sums of more than 32 bits$"):
        weighted_sum([Operand(2.0**24), Operand(1.0)], Output())
    with pytest.raises(RelayError, match=r"^a scale is a positive number, not 0.0$"):
        weighted_sum([Operand(0.0)], Output())
