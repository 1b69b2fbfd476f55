"""Integers at another scale, and sums of integers at several: multipliers, shifts and clips on int32.

Every operator is a sequence of operations of the tensor ALU, which the docstring of its attributes lists; sums and
products wrap at 32 bits. Operands that are tables (``pre_shift``, ``multiplier``, ``addend``, ``shift``, slopes) are
int32 tensors that broadcast to the data: a scalar, or for example (C, 1, 1). A shift to the right by a negative count
is one to the left; 32 and more moves everything out. Tests: tests/vta/relay/ops/qnn/test_rescale.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vta.relay.ir.attributes import Attrs
from vta.relay.ir.names import Op
from vta.relay.ir.types import Array, RelayError, TensorType, element_type
from vta.relay.ops.operator import Pattern, Rows, Types, define
from vta.relay.ops.shapes import broadcast, broadcasts_to, require_dtype

__all__ = ["INT32", "ROWS", "LeakyReluAttrs", "OutputAttrs", "RequantizeAttrs", "WeightedAttrs", "shifted"]

INT32 = (-(1 << 31), (1 << 31) - 1)
"""What an int32 holds."""

_QUANTISED = ("int8", "uint8", "int32")


@dataclass(frozen=True, slots=True)
class OutputAttrs(Attrs):
    """The range of the result, and its type, which holds the range."""

    out_min: int = -128
    out_max: int = 127
    out_dtype: str = "int8"

    def __post_init__(self) -> None:
        dtype = element_type(self.out_dtype)
        object.__setattr__(self, "out_dtype", dtype)
        if dtype not in _QUANTISED:
            raise RelayError(f"out_dtype is one of {', '.join(_QUANTISED)}, not {dtype}")
        low, high = dtype.bounds
        if not low <= self.out_min <= self.out_max <= high:
            raise RelayError(f"out_min and out_max are from {low} to {high}, not {self.out_min} and {self.out_max}")


@dataclass(frozen=True, slots=True)
class RequantizeAttrs(OutputAttrs):
    """``qnn.requantize(data, pre_shift, multiplier, addend, shift)``: data at another scale.

    ::

        t = data >> pre_shift
        t = min(max(t, low), high)
        t = (t * multiplier + addend) >> shift
        result = min(max(t, out_min), out_max)
    """

    low: int = INT32[0]
    high: int = INT32[1]

    def __post_init__(self) -> None:
        OutputAttrs.__post_init__(self)
        if not INT32[0] <= self.low <= self.high <= INT32[1]:
            raise RelayError(f"low and high are int32 numbers in order, not {self.low} and {self.high}")


@dataclass(frozen=True, slots=True)
class WeightedAttrs(OutputAttrs):
    """``qnn.add(lhs, rhs)``: a sum of two tensors of scales of their own, which broadcast.

    ::

        t = (lhs * lhs_multiplier + rhs * rhs_multiplier + addend) >> shift
        result = min(max(t, out_min), out_max)
    """

    lhs_multiplier: int = 1
    rhs_multiplier: int = 1
    addend: int = 0
    shift: int = 0

    def __post_init__(self) -> None:
        OutputAttrs.__post_init__(self)
        _require_words(self, ("lhs_multiplier", "rhs_multiplier", "addend"), self.shift)


@dataclass(frozen=True, slots=True)
class LeakyReluAttrs(OutputAttrs):
    """``qnn.leaky_relu(data, positive, negative)``: a multiplier for what is above the zero point, one for the rest.

    ::

        t = data - zero_point
        t = (max(t, 0) * positive + min(t, 0) * negative + addend) >> shift
        result = min(max(t, out_min), out_max)
    """

    zero_point: int = 0
    addend: int = 0
    shift: int = 0

    def __post_init__(self) -> None:
        OutputAttrs.__post_init__(self)
        _require_words(self, ("zero_point", "addend"), self.shift)


def _require_words(attrs: OutputAttrs, names: Sequence[str], shift: int) -> None:
    for name in names:
        if not INT32[0] <= getattr(attrs, name) <= INT32[1]:
            raise RelayError(f"{name} is an int32 number, not {getattr(attrs, name)}")
    if not 0 <= shift <= 31:
        raise RelayError(f"shift is from 0 to 31, not {shift}")


def shifted(numbers: Array, counts: Array) -> Array:
    """Return int32 ``numbers >> counts`` as the tensor ALU does it: left if negative, everything out from 32 on."""
    wide = numbers.astype(np.int64)
    right = wide >> np.clip(counts, 0, 32)
    left = wide << np.clip(-counts.astype(np.int64), 0, 32)
    return np.where(counts >= 0, right, left).astype(np.int32)


def _finished(numbers: Array, attrs: OutputAttrs) -> Array:
    return np.clip(numbers, attrs.out_min, attrs.out_max).astype(np.dtype(attrs.out_dtype))


def _check_tables(types: Types, names: Sequence[str]) -> None:
    """Raise ``RelayError`` unless the inputs behind the first are int32 and broadcast to it."""
    data = types[0]
    for name, each in zip(names, types[1:], strict=True):
        require_dtype(each, name, "int32")
        if not broadcasts_to(each.shape, data.shape):
            raise RelayError(f"{name} broadcasts to the data, {data.shape}, and its shape is {each.shape}")


_TABLES = ("pre_shift", "multiplier", "addend", "shift")


def _requantize_type(types: Types, attrs: RequantizeAttrs) -> TensorType:
    require_dtype(types[0], "data", *_QUANTISED)
    _check_tables(types, _TABLES)
    return TensorType(types[0].shape, attrs.out_dtype)


def _requantize(arrays: Sequence[Array], attrs: RequantizeAttrs) -> Array:
    data, pre_shift, multiplier, addend, shift = arrays
    clipped = np.clip(shifted(data.astype(np.int32), pre_shift), np.int32(attrs.low), np.int32(attrs.high))
    with np.errstate(over="ignore"):
        product = clipped * multiplier + addend
    return _finished(shifted(product, shift), attrs)


def _add_type(types: Types, attrs: WeightedAttrs) -> TensorType:
    for name, each in zip(("lhs", "rhs"), types, strict=True):
        require_dtype(each, name, *_QUANTISED)
    return TensorType(broadcast([each.shape for each in types]), attrs.out_dtype)


def _add(arrays: Sequence[Array], attrs: WeightedAttrs) -> Array:
    lhs, rhs = (each.astype(np.int32) for each in arrays)
    with np.errstate(over="ignore"):
        total = lhs * np.int32(attrs.lhs_multiplier) + rhs * np.int32(attrs.rhs_multiplier) + np.int32(attrs.addend)
    return _finished(total >> np.int32(attrs.shift), attrs)


def _leaky_relu_type(types: Types, attrs: LeakyReluAttrs) -> TensorType:
    require_dtype(types[0], "data", *_QUANTISED)
    _check_tables(types, ("positive", "negative"))
    return TensorType(types[0].shape, attrs.out_dtype)


def _leaky_relu(arrays: Sequence[Array], attrs: LeakyReluAttrs) -> Array:
    data, positive, negative = arrays
    with np.errstate(over="ignore"):
        t = data.astype(np.int32) - np.int32(attrs.zero_point)
        total = np.maximum(t, 0) * positive + np.minimum(t, 0) * negative + np.int32(attrs.addend)
    return _finished(total >> np.int32(attrs.shift), attrs)


ROWS: Rows = {
    Op.REQUANTIZE: define(("data", *_TABLES), RequantizeAttrs, _requantize_type, _requantize, Pattern.ELEMWISE),
    Op.QNN_ADD: define(("lhs", "rhs"), WeightedAttrs, _add_type, _add, Pattern.BROADCAST),
    Op.QNN_LEAKY_RELU: define(
        ("data", "positive", "negative"), LeakyReluAttrs, _leaky_relu_type, _leaky_relu, Pattern.BROADCAST
    ),
}
"""The rows of the table of operators."""
