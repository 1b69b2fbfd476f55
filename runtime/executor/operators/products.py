"""Products of matrices.

Tests: tests/runtime/executor/operators/test_products.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs, NoAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import broadcast, require_rank, same_dtype, whole_float
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType

__all__ = ["ROWS", "BatchMatmulAttrs", "dense_shape", "matmul_shape"]


@dataclass(frozen=True, slots=True)
class BatchMatmulAttrs(Attrs):
    """Whether the last two axes of an operand are exchanged. (TVM's default, an exchanged second one, is not ours.)"""

    transpose_a: bool = False
    transpose_b: bool = False


def dense_shape(types: Types) -> Shape:
    """Return the shape of ``data @ weight.T`` for (..., K) and (units, K); raises ``RelayError``."""
    data, weight = types
    require_rank(weight, "weight", 2)
    if data.rank < 1 or data.shape[-1] != weight.shape[1]:
        raise RelayError(f"the weight {weight.shape} takes rows of {weight.shape[1]}, and the data is {data.shape}")
    return (*data.shape[:-1], weight.shape[0])


def matmul_shape(a: Shape, b: Shape) -> Shape:
    """Return the shape of ``numpy.matmul`` of ``a`` and ``b``; raises ``RelayError``."""
    if not a or not b:
        raise RelayError(f"matrices have an axis or more, and the shapes are {a} and {b}")
    left, right = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    if left[-1] != right[-2]:
        raise RelayError(f"shapes {a} and {b} do not multiply: {left[-1]} columns, {right[-2]} rows")
    shape = (*broadcast([left[:-2], right[:-2]]), left[-2], right[-1])
    shape = shape if len(a) > 1 else (*shape[:-2], shape[-1])
    return shape if len(b) > 1 else shape[:-1]


def _dense_type(types: Types, _: NoAttrs) -> TensorType:
    whole_float(types[0], "data")
    return TensorType(dense_shape(types), same_dtype(types, ("data", "weight")))


def _matmul_type(types: Types, _: NoAttrs) -> TensorType:
    whole_float(types[0], "a")
    return TensorType(matmul_shape(types[0].shape, types[1].shape), same_dtype(types, ("a", "b")))


def _swapped(shape: Shape, is_swapped: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if is_swapped else shape


def _batch_matmul_type(types: Types, attrs: BatchMatmulAttrs) -> TensorType:
    whole_float(types[0], "a")
    return TensorType(batch_matmul_shape(types, attrs), same_dtype(types, ("a", "b")))


def batch_matmul_shape(types: Types, attrs: BatchMatmulAttrs) -> Shape:
    """Return the shape of the product of stacks of matrices; raises ``RelayError``."""
    for name, each in zip("ab", types, strict=True):
        if each.rank < 2:
            raise RelayError(f"{name} consists of matrices, and its shape is {each.shape}")
    return matmul_shape(_swapped(types[0].shape, attrs.transpose_a), _swapped(types[1].shape, attrs.transpose_b))


def batch_operands(arrays: Sequence[Array], attrs: BatchMatmulAttrs) -> tuple[Array, Array]:
    """Return the operands as they are multiplied."""
    a, b = arrays
    return np.swapaxes(a, -1, -2) if attrs.transpose_a else a, np.swapaxes(b, -1, -2) if attrs.transpose_b else b


def _batch_matmul(arrays: Sequence[Array], attrs: BatchMatmulAttrs) -> Array:
    a, b = batch_operands(arrays, attrs)
    return np.asarray(np.matmul(a, b))


def _dense(arrays: Sequence[Array], _: NoAttrs) -> Array:
    return np.asarray(np.matmul(arrays[0], arrays[1].T))


def _matmul(arrays: Sequence[Array], _: NoAttrs) -> Array:
    return np.asarray(np.matmul(arrays[0], arrays[1]))


ROWS: Rows = {
    Op.DENSE: define(("data", "weight"), NoAttrs, _dense_type, _dense, Pattern.OUT_ELEMWISE_FUSABLE),
    Op.MATMUL: define(("a", "b"), NoAttrs, _matmul_type, _matmul, Pattern.OUT_ELEMWISE_FUSABLE),
    Op.BATCH_MATMUL: define(
        ("a", "b"), BatchMatmulAttrs, _batch_matmul_type, _batch_matmul, Pattern.OUT_ELEMWISE_FUSABLE
    ),
}
"""The rows of the table of operators."""
