"""How real numbers become int8: ``cell = clip(rint(x / scale) + zero)``. Tests: tests/vta/quantize/test_encoding.py."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.types import Array

__all__ = ["CELL", "Encoding", "power_of_two", "ranged", "sqnr_db"]

CELL = (-128, 127)
"""What a cell can hold."""

_SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A scale and the cell that stands for zero."""

    scale: float
    zero: int

    @property
    def low(self) -> float:
        """The smallest real number that there is a cell for."""
        return (CELL[0] - self.zero) * self.scale

    @property
    def high(self) -> float:
        """The largest one."""
        return (CELL[1] - self.zero) * self.scale

    def cells(self, values: Array) -> npt.NDArray[np.int8]:
        """Return the cells of real numbers, ties to even as ONNX has it."""
        scaled = np.rint(values / np.float32(self.scale)) + self.zero
        made: npt.NDArray[np.int8] = np.clip(scaled, *CELL).astype(np.int8)
        return made

    def rounded(self, values: Array) -> Array:
        """Return the real numbers that the cells of ``values`` stand for."""
        scaled = np.clip(np.rint(values / np.float32(self.scale)), CELL[0] - self.zero, CELL[1] - self.zero)
        return scaled * np.float32(self.scale)


def ranged(low: float, high: float, *, symmetric: bool) -> Encoding:
    """Return the encoding of numbers from ``low`` to ``high``; zero is exact, and has cell 0 if ``symmetric``."""
    low, high = min(low, 0.0), max(high, 0.0)
    if symmetric:
        return Encoding(_float(max(-low, high) / 127), 0)
    scale = _float((high - low) / 255)
    return Encoding(scale, min(max(round(CELL[0] - low / scale), CELL[0]), CELL[1]))


def power_of_two(encoding: Encoding, *, up: bool) -> Encoding:
    """Return the encoding with the next power of two as its scale, above (nothing more is clipped) or below."""
    exponent = math.log2(encoding.scale)
    whole = math.ceil(exponent - 1e-9) if up else math.floor(exponent + 1e-9)
    return replace(encoding, scale=math.ldexp(1.0, whole))


def _float(scale: float) -> float:
    """Return a scale as a normal float32."""
    return float(np.float32(max(scale, _SMALLEST)))


def sqnr_db(signal: float, noise: float) -> float:
    """Return the ratio of two energies in decibels; without noise, infinity."""
    if noise <= 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf
