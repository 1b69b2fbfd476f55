"""The operator that makes saturated int8 of int32 numbers and a real scale.

Tests: tests/vta/topi/alu/test_requantise.py.
"""

from vta.topi.alu.elementwise import Elementwise
from vta.topi.core.rescale import quantise_steps

__all__ = ["requantise"]


def requantise(shape: tuple[int, ...], scale: float, largest: int | None = None) -> Elementwise:
    """Return the operator that makes saturated int8 of int32 numbers up to ``largest``: any, if left out.

    Results are at most 1/2 + 1/64 from the exact product, those of a power of two exact, halves upwards.
    """
    return Elementwise(shape, quantise_steps(scale, largest=largest), "int32")
