"""Operators on two tensors, or three, of shapes that broadcast.

Integer arithmetic wraps, a shift by 32 or more (64 for int64) moves everything out, and integer division cuts towards
zero; dividing by zero gives 0. Tests: tests/runtime/executor/operators/test_broadcast.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs, NoAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Operator, Pattern, Rows, Types, define
from runtime.executor.operators.shapes import (
    broadcast,
    broadcasts_to,
    normal_axis,
    require_dtype,
    require_rank,
    same_dtype,
)
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType

__all__ = ["ROWS", "AxisAttrs", "ShapeAttrs"]

Binary = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class AxisAttrs(Attrs):
    """The axis that the second input goes along."""

    axis: int = 1


@dataclass(frozen=True, slots=True)
class ShapeAttrs(Attrs):
    """The shape of the result."""

    shape: Shape


def _numbers(types: Types, _: Attrs) -> TensorType:
    dtype = same_dtype(types)
    if dtype == "bool":
        raise RelayError("the inputs hold numbers, not bool")
    return TensorType(broadcast([each.shape for each in types]), dtype)


def _integers(types: Types, attrs: Attrs) -> TensorType:
    result = _numbers(types, attrs)
    if not result.dtype.is_int:
        raise RelayError(f"the inputs hold integers, not {result.dtype}")
    return result


def _truths(types: Types, _: Attrs) -> TensorType:
    for each in types:
        require_dtype(each, "each input", "bool")
    return TensorType(broadcast([each.shape for each in types]), "bool")


def _compared(types: Types, _: Attrs) -> TensorType:
    same_dtype(types)
    return TensorType(broadcast([each.shape for each in types]), "bool")


def _where_type(types: Types, _: Attrs) -> TensorType:
    condition, x, y = types
    require_dtype(condition, "condition", "bool")
    dtype = same_dtype((x, y), ("x", "y"))
    return TensorType(broadcast([condition.shape, x.shape, y.shape]), dtype)


def _along_axis(types: Types, attrs: AxisAttrs) -> TensorType:
    data, values = types
    same_dtype(types)
    require_rank(values, "the second input", 1)
    axis = normal_axis(attrs.axis, data.rank)
    if values.shape[0] != data.shape[axis]:
        raise RelayError(f"the second input has {data.shape[axis]} elements, as axis {axis}, not {values.shape[0]}")
    return data


def _prelu_type(types: Types, attrs: AxisAttrs) -> TensorType:
    if types[0].dtype.is_float:
        return _along_axis(types, attrs)
    raise RelayError(f"data holds floating point numbers, not {types[0].dtype}")


def _broadcast_to_type(types: Types, attrs: ShapeAttrs) -> TensorType:
    [data] = types
    if not broadcasts_to(data.shape, attrs.shape):
        raise RelayError(f"shape {data.shape} does not broadcast to {attrs.shape}")
    return TensorType(attrs.shape, data.dtype)


def along(values: Array, axis: int, rank: int) -> Array:
    """Return one-dimensional ``values`` in a shape that broadcasts along ``axis`` of ``rank`` dimensions."""
    return values.reshape([-1 if dim == axis % rank else 1 for dim in range(rank)])


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.true_divide(a, b))
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient = np.floor_divide(a, safe)
    inexact = (quotient * safe != a) & ((a < 0) != (safe < 0))
    return np.asarray(np.where(b == 0, a.dtype.type(0), quotient + inexact.astype(a.dtype)))


def _floor_mod(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.mod(a, b))
    safe = np.where(b == 0, b.dtype.type(1), b)
    return np.asarray(np.where(b == 0, a.dtype.type(0), np.mod(a, safe)))


def _left_shift(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    moved = np.left_shift(a, np.clip(b, 0, bits - 1).astype(a.dtype))
    return np.asarray(np.where((b < 0) | (b >= bits), a.dtype.type(0), moved))


def _right_shift(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    beyond = np.where(a < 0, a.dtype.type(-1) if a.dtype.kind == "i" else a.dtype.type(0), a.dtype.type(0))
    moved = np.right_shift(a, np.clip(b, 0, bits - 1).astype(a.dtype))
    return np.asarray(np.where((b < 0) | (b >= bits), beyond, moved))


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.power(a, b))
    # 1 / a**n, cut to a whole number: of 1 and -1 that is a**n itself, which knows n modulo 2; of others it is 0.
    result = np.power(a, np.where(b < 0, b & 1, b))
    return np.asarray(np.where((b < 0) & (np.abs(a) != 1), a.dtype.type(0), result))


def _prelu(arrays: Sequence[Array], attrs: AxisAttrs) -> Array:
    data, slope = arrays
    return np.where(data >= 0, data, data * along(slope, attrs.axis, data.ndim))


def _bias_add(arrays: Sequence[Array], attrs: AxisAttrs) -> Array:
    data, bias = arrays
    with np.errstate(over="ignore"):
        return data + along(bias, attrs.axis, data.ndim)


def _row(relation: Callable[[Types, Attrs], TensorType], function: Binary) -> Operator:
    """Return the row of an operator of two inputs without attributes."""

    def meaning(arrays: Sequence[Array], _: Attrs) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(arrays[0], arrays[1]))

    return define(("lhs", "rhs"), NoAttrs, relation, meaning, Pattern.BROADCAST)


_ARITHMETIC: Mapping[Op, Binary] = {
    Op.ADD: np.add,
    Op.SUBTRACT: np.subtract,
    Op.MULTIPLY: np.multiply,
    Op.DIVIDE: _divide,
    Op.FLOOR_MOD: _floor_mod,
    Op.POWER: _power,
    Op.MAXIMUM: np.maximum,
    Op.MINIMUM: np.minimum,
}
_COMPARISONS: Mapping[Op, Binary] = {
    Op.EQUAL: np.equal,
    Op.NOT_EQUAL: np.not_equal,
    Op.LESS: np.less,
    Op.LESS_EQUAL: np.less_equal,
    Op.GREATER: np.greater,
    Op.GREATER_EQUAL: np.greater_equal,
}

ROWS: Rows = {
    **{op: _row(_numbers, function) for op, function in _ARITHMETIC.items()},
    **{op: _row(_compared, function) for op, function in _COMPARISONS.items()},
    Op.LEFT_SHIFT: _row(_integers, _left_shift),
    Op.RIGHT_SHIFT: _row(_integers, _right_shift),
    Op.LOGICAL_AND: _row(_truths, np.logical_and),
    Op.LOGICAL_OR: _row(_truths, np.logical_or),
    Op.LOGICAL_XOR: _row(_truths, np.logical_xor),
    Op.WHERE: define(
        ("condition", "x", "y"), NoAttrs, _where_type, lambda arrays, _: np.where(*arrays), Pattern.BROADCAST
    ),
    Op.BIAS_ADD: define(("data", "bias"), AxisAttrs, _along_axis, _bias_add, Pattern.BROADCAST),
    Op.PRELU: define(("data", "alpha"), AxisAttrs, _prelu_type, _prelu, Pattern.BROADCAST),
    Op.BROADCAST_TO: define(
        ("data",),
        ShapeAttrs,
        _broadcast_to_type,
        lambda arrays, attrs: np.broadcast_to(arrays[0], attrs.shape),
        Pattern.BROADCAST,
    ),
}
"""The rows of the table of operators."""
