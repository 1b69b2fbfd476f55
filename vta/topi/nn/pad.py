"""Padding a tensor with a constant.

Tests: tests/vta/front/test_topi_pad.py.
"""

from collections.abc import Sequence

from isa.errors import VTAError
from vta import te
from vta.tir import ops
from vta.tir.expr import Equality, Expr, ExprLike, FloatImm, IntImm, Operators, const, convert

__all__ = ["PadError", "pad"]


class PadError(VTAError, ValueError):
    """Pads that do not fit the tensor."""


def pad(
    data: te.Tensor,
    pad_before: ExprLike | Sequence[ExprLike],
    pad_after: ExprLike | Sequence[ExprLike] | None = None,
    pad_value: ExprLike = 0.0,
    name: str = "PadInput",
) -> te.Tensor:
    """Return ``data`` with ``pad_before[d]`` elements in front of dimension ``d`` and ``pad_after[d]`` after it.

    The new elements are ``pad_value``, converted to the tensor's type. ``pad_after`` is ``pad_before`` if left out. A
    single number, before or after, holds for every dimension.
    """
    before = _widths(data, pad_before, "pad_before")
    after = before if pad_after is None else _widths(data, pad_after, "pad_after")
    shape = [extent + b + a for extent, b, a in zip(data.shape, before, after, strict=True)]
    value = convert(pad_value)
    fill = const(value.value, data.dtype) if isinstance(value, IntImm | FloatImm) else value.astype(data.dtype)

    def element(*indices: Expr) -> Expr:
        inside: list[Expr] = []
        sources: list[Expr] = []
        for index, extent, b, a in zip(indices, data.shape, before, after, strict=True):
            if not _is_zero(b):
                inside.append(convert(index) >= b)
            if not _is_zero(a):
                inside.append(convert(index) < extent + b)
            sources.append(convert(index) - b)
        source = data(*sources)
        return ops.if_then_else(ops.all(*inside), source, fill) if inside else source

    return te.compute(shape, element, name=name, tag="injective,pad")


def _widths(data: te.Tensor, given: ExprLike | Sequence[ExprLike], what: str) -> tuple[Expr, ...]:
    if isinstance(given, Operators | Equality | int | float | str) or not isinstance(given, Sequence):
        given = [given] * data.ndim
    widths = tuple(convert(width) for width in given)
    if len(widths) != data.ndim:
        raise PadError(f"{what} has {len(widths)} entries, and tensor {data.name!r} has {data.ndim} dimensions")
    for width in widths:
        if not width.dtype.is_int or (isinstance(width, IntImm) and width.value < 0):
            raise PadError(f"{what} of tensor {data.name!r}: a pad is a number of elements from 0, not {width}")
    return widths


def _is_zero(width: Expr) -> bool:
    return isinstance(width, IntImm) and width.value == 0
