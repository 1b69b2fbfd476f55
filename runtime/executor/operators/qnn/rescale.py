"""Sums of integers at scales of their own, by multipliers and shifts on int32.

The operator is a sequence of operations of the tensor ALU, which the docstring of its attributes lists; sums and
products wrap at 32 bits. Tests: tests/runtime/executor/operators/qnn/test_rescale.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import broadcast, require_dtype
from runtime.executor.operators.types import Array, RelayError, TensorType, element_type

__all__ = ["INT32", "ROWS", "OutputAttrs", "WeightedAttrs"]

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


def _require_words(attrs: OutputAttrs, names: Sequence[str], shift: int) -> None:
    for name in names:
        if not INT32[0] <= getattr(attrs, name) <= INT32[1]:
            raise RelayError(f"{name} is an int32 number, not {getattr(attrs, name)}")
    if not 0 <= shift <= 31:
        raise RelayError(f"shift is from 0 to 31, not {shift}")


def _add_type(types: Types, attrs: WeightedAttrs) -> TensorType:
    for name, each in zip(("lhs", "rhs"), types, strict=True):
        require_dtype(each, name, *_QUANTISED)
    return TensorType(broadcast([each.shape for each in types]), attrs.out_dtype)


def _add(arrays: Sequence[Array], attrs: WeightedAttrs) -> Array:
    lhs, rhs = (each.astype(np.int32) for each in arrays)
    with np.errstate(over="ignore"):
        total = lhs * np.int32(attrs.lhs_multiplier) + rhs * np.int32(attrs.rhs_multiplier) + np.int32(attrs.addend)
    shifted = total >> np.int32(attrs.shift)
    return np.asarray(np.clip(shifted, attrs.out_min, attrs.out_max), np.dtype(attrs.out_dtype))


ROWS: Rows = {Op.QNN_ADD: define(("lhs", "rhs"), WeightedAttrs, _add_type, _add, Pattern.BROADCAST)}
"""The row of the table of operators."""
