"""Sizes of tensors as plain numbers.

Tests: tests/vta/topi/core/test_sizes.py.
"""

from vta import te
from vta.tir.expr import IntImm
from vta.topi.core.operator import OperatorError

__all__ = ["sizes"]


def sizes(tensor: te.Tensor) -> tuple[int, ...]:
    """Return the shape of ``tensor``, which must be constant."""
    found = tuple(extent.value for extent in tensor.shape if isinstance(extent, IntImm))
    if len(found) != tensor.ndim:
        shape = ", ".join(map(str, tensor.shape))
        raise OperatorError(f"tensor {tensor.name!r}: the sizes of an operator are numbers, not ({shape})")
    return found
