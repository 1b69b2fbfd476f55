"""Rounding of exact numbers, to compare integer operators with."""

from fractions import Fraction
from math import floor


def half_up(value: Fraction) -> int:
    """Return the nearest integer, halves upwards."""
    return floor(value + Fraction(1, 2))


def within(value: int, low: int, high: int) -> int:
    """Return ``value`` limited to a range."""
    return min(max(value, low), high)


def from_a_half(value: Fraction) -> Fraction:
    """Return how far ``value`` is from the nearest number in the middle between integers."""
    return abs(value - floor(value) - Fraction(1, 2))
