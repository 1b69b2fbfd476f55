"""Integers at another scale, saturated: nearest numbers of exact products, and perhaps a residual of another scale.

Tests: tests/runtime/executor/operators/qnn/test_saturating.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.qnn.rescale import INT32, OutputAttrs
from runtime.executor.operators.shapes import broadcasts_to, require_dtype
from runtime.executor.operators.types import Array, RelayError, TensorType

__all__ = ["ROWS", "RescaleAttrs"]


@dataclass(frozen=True, slots=True)
class RescaleAttrs(OutputAttrs):
    """``qnn.rescale(data, bias, narrow, multiplier[, residual])``: data at another scale, saturated.

    ::

        t = (data + bias + (1 << narrow >> 1)) >> narrow
        t = t * multiplier + (residual - residual_zero_point) * residual_multiplier
        result = min(max(((t + (1 << shift >> 1)) >> shift) + zero_point, out_min), out_max)

    in numbers without limit: nearest numbers, halves upwards. With ``ties_to_even``, halves of the last shift go to the
    even number, before the zero point is added, as ONNX has it: ``(1 << shift >> 1) - 1 + (t >> shift & 1)`` is added
    to t then. Engines limit the data first, to what can matter for the result, and need 32 bits
    (``vta.topi.core.fixed_point``). Tables are int32 and broadcast to the data; the residual, if there is one, is int8
    and has the data's shape.
    """

    shift: int = 0
    zero_point: int = 0
    residual_multiplier: int = 0
    residual_zero_point: int = 0
    ties_to_even: bool = False

    def __post_init__(self) -> None:
        OutputAttrs.__post_init__(self)
        for name in ("zero_point", "residual_multiplier", "residual_zero_point"):
            if not INT32[0] <= getattr(self, name) <= INT32[1]:
                raise RelayError(f"{name} is an int32 number, not {getattr(self, name)}")
        if not 0 <= self.shift <= 31:
            raise RelayError(f"shift is from 0 to 31, not {self.shift}")


_TABLES = ("bias", "narrow", "multiplier")


def _type(types: Types, attrs: RescaleAttrs) -> TensorType:
    data = types[0]
    require_dtype(data, "data", "int8", "uint8", "int32")
    for name, each in zip(_TABLES, types[1:4], strict=True):
        require_dtype(each, name, "int32")
        if not broadcasts_to(each.shape, data.shape):
            raise RelayError(f"{name} broadcasts to the data, {data.shape}, and its shape is {each.shape}")
    if len(types) == 5:
        require_dtype(types[4], "residual", "int8")
        if types[4].shape != data.shape:
            raise RelayError(f"the residual has the data's shape, {data.shape}, not {types[4].shape}")
    return TensorType(data.shape, attrs.out_dtype)


def _meaning(arrays: Sequence[Array], attrs: RescaleAttrs) -> Array:
    data, bias, narrow, multiplier = (each.astype(np.int64) for each in arrays[:4])
    total = (data + bias + (1 << narrow >> 1)) >> narrow
    total *= multiplier
    if len(arrays) == 5:
        total += (arrays[4].astype(np.int64) - attrs.residual_zero_point) * attrs.residual_multiplier
    half: Array | int = 1 << attrs.shift >> 1
    if attrs.ties_to_even and attrs.shift:
        half = half - 1 + ((total >> attrs.shift) & 1)
    moved = ((total + half) >> attrs.shift) + attrs.zero_point
    return np.asarray(np.clip(moved, attrs.out_min, attrs.out_max), np.dtype(attrs.out_dtype))


ROWS: Rows = {
    Op.RESCALE: define(("data", *_TABLES, "residual"), RescaleAttrs, _type, _meaning, Pattern.ELEMWISE, optional=1)
}
"""The row of the table of operators."""
