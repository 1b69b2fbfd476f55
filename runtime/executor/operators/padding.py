"""Pads on any sides.

Tests: tests/runtime/executor/operators/test_padding.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.types import Array, RelayError, TensorType

__all__ = ["ROWS", "PadAttrs", "PadMode"]


class PadMode(StrEnum):
    """What pads consist of."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    """The elements before the edge, without it, backwards."""
    WRAP = "wrap"
    """The elements from the other end."""


@dataclass(frozen=True, slots=True)
class PadAttrs(Attrs):
    """``pad_width`` has (before, after) for every axis; ``pad_value`` is what constant pads consist of."""

    pad_width: tuple[tuple[int, int], ...]
    pad_value: float = 0.0
    pad_mode: PadMode = PadMode.CONSTANT


def _type(types: Types, attrs: PadAttrs) -> TensorType:
    [data] = types
    if len(attrs.pad_width) != data.rank or any(len(pair) != 2 or min(pair) < 0 for pair in attrs.pad_width):
        raise RelayError(f"pad_width has two integers from 0 for each of {data.rank} axes, not {attrs.pad_width}")
    if attrs.pad_mode is PadMode.CONSTANT:
        _check_value(data, attrs.pad_value)
    else:
        _check_source(data, attrs)
    extents = [before + size + after for size, (before, after) in zip(data.shape, attrs.pad_width, strict=True)]
    return TensorType(tuple(extents), data.dtype)


def _check_value(data: TensorType, value: float) -> None:
    if data.dtype.is_float:
        return
    low, high = data.dtype.bounds
    if value != int(value) or not low <= value <= high:
        raise RelayError(f"pad_value is {value}, which {data.dtype} does not hold")


def _check_source(data: TensorType, attrs: PadAttrs) -> None:
    for size, pair in zip(data.shape, attrs.pad_width, strict=True):
        least = {PadMode.EDGE: 1, PadMode.WRAP: 1, PadMode.REFLECT: 2}.get(attrs.pad_mode, 0)
        if max(pair) and size < least:
            raise RelayError(
                f"pads of mode {attrs.pad_mode} take from {least} elements or more, and an axis has {size}"
            )


def _meaning(arrays: Sequence[Array], attrs: PadAttrs) -> Array:
    [data] = arrays
    match attrs.pad_mode:
        case PadMode.CONSTANT:
            return np.pad(data, attrs.pad_width, constant_values=data.dtype.type(attrs.pad_value))
        case PadMode.EDGE:
            return np.pad(data, attrs.pad_width, mode="edge")
        case PadMode.REFLECT:
            return np.pad(data, attrs.pad_width, mode="reflect")
        case PadMode.WRAP:
            return np.pad(data, attrs.pad_width, mode="wrap")


ROWS: Rows = {Op.PAD: define(("data",), PadAttrs, _type, _meaning, Pattern.INJECTIVE)}
"""The rows of the table of operators."""
