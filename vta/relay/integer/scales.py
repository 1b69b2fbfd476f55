"""Scales and ranges that are given, and those that are refused. Tests: tests/vta/relay/integer/test_scales.py."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vta.relay.ir.types import RelayError
from vta.relay.ops.qnn.rescale import INT32

__all__ = ["Output", "checked_scale", "checked_scales", "fits"]


@dataclass(frozen=True, slots=True)
class Output:
    """What integers a result may be: its zero point, and the range that is wanted, which its type holds.

    A ReLU behind the result makes the range smaller: ``low=zero_point``.
    """

    zero_point: int = 0
    low: int = -128
    high: int = 127

    def __post_init__(self) -> None:
        if not INT32[0] <= self.low <= self.high <= INT32[1]:
            raise RelayError(f"the range of a result is from low to high, not from {self.low} to {self.high}")

    @property
    def reach(self) -> int:
        """How far from the zero point a result may be."""
        return max(abs(self.low - self.zero_point), abs(self.high - self.zero_point), 1)


def checked_scale(scale: float) -> float:
    """Return ``scale``; raises ``RelayError`` unless it is positive and finite."""
    value = float(scale)
    if not 0 < value < math.inf:
        raise RelayError(f"a scale is a positive number, not {value}")
    return value


def checked_scales(scales: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return ``scales`` as float64 of the same shape; raises ``RelayError`` unless all are positive and finite."""
    values = np.asarray(scales, np.float64)
    if values.size == 0:
        raise RelayError("there is one scale or more, and none was given")
    for value in values.reshape(-1):
        checked_scale(value)
    return values


def fits(*numbers: int) -> bool:
    """Whether all ``numbers`` are int32."""
    return all(INT32[0] <= number <= INT32[1] for number in numbers)
