"""Weights in int8, with a scale a channel or a tensor, and biases in int32.

Tests: tests/vta/quantize/test_weights.py.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.types import Array
from vta.quantize.encoding import sqnr_db

__all__ = ["BIAS_LIMIT", "WeightCells", "bias_between", "bias_cells", "bias_units", "weight_scales", "weights_at"]

Reals = npt.NDArray[np.float64]

BIAS_LIMIT = (1 << 29) - 1
"""The largest bias in units of its sums: with it, sums of every layer that there is stay within int32."""

_SMALLEST = 2.0**-100
"""Of a channel without weights: any scale does, but for zero."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightCells:
    """``cells * scales`` along ``axis``; one scale stands for all channels."""

    cells: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    axis: int

    def real(self) -> npt.NDArray[np.float32]:
        """Return the numbers that the cells stand for."""
        return self.cells.astype(np.float32) * along(self.scales, self.axis, self.cells.ndim)

    def sqnr(self, weight: Array) -> float:
        """Return the signal to noise ratio to the weights, in decibels."""
        error = self.real().astype(np.float64) - weight
        return sqnr_db(float((weight.astype(np.float64) ** 2).sum()), float((error**2).sum()))


def along(values: Array, axis: int, rank: int) -> Array:
    """Return numbers in a shape that broadcasts along ``axis``; one number broadcasts everywhere."""
    if values.size == 1:
        return values.reshape([1] * rank)
    shape = [1] * rank
    shape[axis] = values.size
    return values.reshape(shape)


def weight_scales(
    weight: Array, axis: int | None, *, bias: Array | None, input_scale: float, power_of_two: bool
) -> npt.NDArray[np.float32]:
    """Return the scales of weights: one each for the channels along ``axis``, or one for all where it is None.

    A scale grows where the bias would leave ``BIAS_LIMIT`` in units of ``input_scale`` times it.
    """
    magnitude = np.abs(weight.astype(np.float64))
    largest = np.array([magnitude.max(initial=0.0)]) if axis is None else _largest(magnitude, axis)
    empty = largest == 0
    if empty.any():
        largest[empty] = largest.max() or _SMALLEST
    scales = largest / 127
    if bias is not None:
        needed = np.abs(bias.astype(np.float64)).reshape(-1) / (input_scale * BIAS_LIMIT)
        scales = np.maximum(scales, needed.max() if axis is None else needed)
    if not power_of_two:
        return scales.astype(np.float32)
    up = 2.0 ** np.ceil(np.log2(scales) - 1e-9)
    down = up / 2
    if bias is not None:
        down = np.where(down < (needed.max() if axis is None else needed), up, down)
    errors = [_errors(weight, each, axis) for each in (up, down)]
    return np.where(errors[1] < errors[0], down, up).astype(np.float32)


def _largest(magnitude: Reals, axis: int) -> Reals:
    axes = tuple(a for a in range(magnitude.ndim) if a != axis % magnitude.ndim)
    found: Reals = magnitude.max(axis=axes)
    return found


def _errors(weight: Array, scales: Reals, axis: int | None) -> Reals:
    wide = along(scales, 0 if axis is None else axis, weight.ndim)
    error = (np.clip(np.rint(weight / wide), -127, 127) * wide - weight) ** 2
    if axis is None:
        return np.array([error.sum()])
    found: Reals = error.sum(axis=tuple(a for a in range(weight.ndim) if a != axis % weight.ndim))
    return found


def weights_at(weight: Array, scales: npt.NDArray[np.float32], axis: int) -> WeightCells:
    """Return weights rounded to the nearest cells."""
    wide = along(scales, axis, weight.ndim).astype(np.float64)
    return WeightCells(np.clip(np.rint(weight / wide), -127, 127).astype(np.int8), scales, axis % weight.ndim)


def bias_cells(
    bias: Array, input_scale: float, scales: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return a bias in units of the sums, and these units."""
    units = bias_units(bias.size, input_scale, scales)
    cells = np.clip(np.rint(bias.reshape(-1).astype(np.float64) / units), -(2**31), 2**31 - 1)
    return cells.astype(np.int32), units if scales.size > 1 else units[:1]


def bias_units(channels: int, input_scale: float, scales: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the units of the sums of each channel."""
    return np.broadcast_to(np.float32(input_scale) * scales, (channels,)).astype(np.float32)


def bias_between(bias: Array, units: npt.NDArray[np.float32], step: float = inf) -> npt.NDArray[np.float32]:
    """Return a bias that is half a unit from whole ones: with scales that are powers of two, no sum is then a tie.

    Ties would go to the even number (ONNX), which takes the accelerator more operations than rounding upwards. Units
    that are no half of the smallest ``step`` that sums are rounded to or added to would have ties just so: of these
    channels a bias is whole, and their sums are results as they are.
    """
    exact: Reals = bias.reshape(-1).astype(np.float64) / units
    made = np.where(units.astype(np.float64) <= step / 2, np.floor(exact) + 0.5, np.rint(exact))
    return (made * units).astype(np.float32)
