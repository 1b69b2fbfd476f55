"""``qnn.rescale``: nearest numbers of exact products, whatever comes in."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError, TensorType
from vta.relay.ir.nodes import Var, constant
from vta.relay.ops.call import call


def exact(x: int, bias: int, narrow: int, multiplier: int, residual: int, attrs: RescaleAttrs) -> int:
    """The definition, in fractions: floor after half was added, or the nearest one, of two the even one."""
    t = floor(Fraction(x + bias) / (1 << narrow) + (Fraction(1, 2) if narrow else 0))
    product = t * multiplier + (residual - attrs.residual_zero_point) * attrs.residual_multiplier
    quotient = Fraction(product, 1 << attrs.shift)
    nearest = round(quotient) if attrs.ties_to_even else floor(quotient + Fraction(1, 2))
    y = nearest + attrs.zero_point
    return min(max(y, attrs.out_min), attrs.out_max)


def test_it_is_its_definition_for_extreme_and_random_numbers() -> None:
    rng = np.random.default_rng(7)
    corners = [-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 2, 2**31 - 1]
    for _ in range(200):
        data = np.array([*corners, *rng.integers(-(2**31), 2**31, 9)], np.int32)
        bias, multiplier = (
            np.array(rng.integers(low, high), np.int32) for low, high in ((-(2**20), 2**20), (0, 2**30))
        )
        narrow = np.array(rng.integers(0, 12), np.int32)
        residual = rng.integers(-128, 128, len(data)).astype(np.int8)
        attrs = RescaleAttrs(
            out_min=int(rng.integers(-128, 0)), out_max=int(rng.integers(0, 128)), shift=int(rng.integers(0, 32)),
            zero_point=int(rng.integers(-128, 128)), residual_multiplier=int(rng.integers(-(2**22), 2**22)),
            residual_zero_point=int(rng.integers(-128, 128)), ties_to_even=bool(rng.integers(2)),
        )  # fmt: skip
        found = operator(Op.RESCALE).evaluate((data, bias, narrow, multiplier, residual), attrs)
        wanted = [
            exact(int(x), int(bias), int(narrow), int(multiplier), int(r), attrs)
            for x, r in zip(data, residual, strict=True)
        ]
        np.testing.assert_array_equal(found, wanted)


def test_each_shift_rounds_to_the_nearest_number_and_halves_upwards() -> None:
    data = np.arange(-40, 41, dtype=np.int32)
    zero, one = np.array(0, np.int32), np.array(1, np.int32)
    for shift in range(4):
        wanted = [floor(Fraction(x, 1 << shift) + Fraction(1, 2)) for x in data.tolist()]
        narrowed = (data, zero, np.array(shift, np.int32), one)
        assert operator(Op.RESCALE).evaluate(narrowed, RescaleAttrs(shift=0)).tolist() == wanted
        assert operator(Op.RESCALE).evaluate((data, zero, zero, one), RescaleAttrs(shift=shift)).tolist() == wanted


def test_bias_residual_and_zero_points_are_added() -> None:
    data, bias, residual = (np.array(each) for each in ([1, 2, 3], [10, 20, 30], [4, 5, 6]))
    narrow, multiplier = np.array(0, np.int32), np.array(2, np.int32)
    attrs = RescaleAttrs(shift=1, zero_point=-7, residual_multiplier=3, residual_zero_point=2)
    tables = (data.astype(np.int8), bias.astype(np.int32), narrow, multiplier)
    assert operator(Op.RESCALE).evaluate(tables, attrs).tolist() == [4, 15, 26]
    found = operator(Op.RESCALE).evaluate((*tables, residual.astype(np.int8)), attrs)
    assert found.tolist() == [7, 20, 32]  # halves upwards: 28 / 2, 53 / 2, 78 / 2
    assert found.dtype == np.int8


@pytest.mark.parametrize("shift", [0, 1, 2, 5, 31])
def test_a_tie_goes_to_the_even_number_before_the_zero_point_is_added(shift: int) -> None:
    data = np.arange(-9, 10, dtype=np.int32) << min(max(shift - 1, 0), 27)
    nothing, one = np.array(0, np.int32), np.array(1, np.int32)
    attrs = RescaleAttrs(shift=shift, zero_point=3, ties_to_even=True)
    found = operator(Op.RESCALE).evaluate((data, nothing, nothing, one), attrs)
    np.testing.assert_array_equal(found, np.rint(data / 2.0**shift) + 3)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: RescaleAttrs(shift=32), "shift is from 0 to 31, not 32"),
        (lambda: RescaleAttrs(shift=-1), "shift is from 0 to 31, not -1"),
        (
            lambda: RescaleAttrs(residual_zero_point=-(2**31) - 1),
            "residual_zero_point is an int32 number, not -2147483649",
        ),
        (lambda: RescaleAttrs(zero_point=2**31), "zero_point is an int32 number, not 2147483648"),
        (lambda: RescaleAttrs(out_min=3, out_max=2), "out_min and out_max are from -128 to 127, not 3 and 2"),
    ],
)
def test_attributes_that_cannot_be_are_refused(make: object, text: str) -> None:
    with pytest.raises(RelayError, match=f"^{text}$"):
        make()  # type: ignore[operator]


def test_types_that_do_not_fit_are_refused() -> None:
    data, zero = Var("x", TensorType((2, 3), "int32")), constant(0, "int32")
    with pytest.raises(
        RelayError, match=r"^qnn.rescale: bias broadcasts to the data, \(2, 3\), and its shape is \(4,\)$"
    ):
        call(Op.RESCALE, (data, constant([0] * 4, "int32"), zero, zero), RescaleAttrs())
    with pytest.raises(RelayError, match=r"^qnn.rescale: the residual has the data's shape, \(2, 3\), not \(3,\)$"):
        call(Op.RESCALE, (data, zero, zero, zero, constant([0] * 3, "int8")), RescaleAttrs())
