"""Putting zeros between the elements of a tensor.

Tests: tests/vta/topi/nn/test_dilate.py.
"""

from collections.abc import Sequence

from isa.errors import VTAError
from vta import te
from vta.tir import ops
from vta.tir.expr import Expr, IntImm, const, convert

__all__ = ["DilateError", "dilate"]


class DilateError(VTAError, ValueError):
    """Strides that do not fit the tensor."""


def dilate(data: te.Tensor, strides: Sequence[int], dilation_value: int = 0, name: str = "DilatedInput") -> te.Tensor:
    """Return ``data`` with ``strides[d] - 1`` elements ``dilation_value`` between its elements in dimension ``d``.

    Element i goes to ``i * strides[d]``; nothing is added after the last one.
    """
    if len(strides) != data.ndim:
        raise DilateError(f"dilate: {len(strides)} strides for tensor {data.name!r} of {data.ndim} dimensions")
    for stride in strides:
        if not isinstance(stride, int) or stride < 1:
            raise DilateError(f"dilate of tensor {data.name!r}: a stride is a number from 1, not {stride}")
    shape = [(extent - 1) * stride + 1 for extent, stride in zip(data.shape, strides, strict=True)]
    fill = const(dilation_value, data.dtype)

    def element(*indices: Expr) -> Expr:
        hits: list[Expr] = []
        places: list[Expr] = []
        for index, stride, extent in zip(indices, strides, data.shape, strict=True):
            if stride == 1 or (isinstance(extent, IntImm) and extent.value == 1):
                places.append(index)
                continue
            hits.append((convert(index) % stride == 0).asexpr())
            places.append(convert(index) // stride)
        return ops.if_then_else(ops.all(*hits), data(*places), fill) if hits else data(*places)

    return te.compute(shape, element, name=name, tag="injective,dilate")
