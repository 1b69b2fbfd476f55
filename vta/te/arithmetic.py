"""Arithmetic of whole tensors: ``A + B`` of tensors that broadcast, ``A * 2`` of one and a number.

Tests: tests/vta/te/test_arithmetic.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vta.te.operation import compute
from vta.te.tensor import Tensor, TensorError
from vta.tir.expr import Expr, ExprLike, IntImm, convert, same

if TYPE_CHECKING:
    from vta.te.operation import Scalar

__all__ = ["combined"]

_OPERATORS: Mapping[str, Callable[[ExprLike, ExprLike], Expr]] = {
    "add": lambda a, b: convert(a) + b,
    "subtract": lambda a, b: convert(a) - b,
    "multiply": lambda a, b: convert(a) * b,
    "divide": lambda a, b: convert(a) / b,
}


def combined(operator: str, a: Tensor | ExprLike, b: Tensor | ExprLike) -> Tensor:
    """Return the tensor of ``operator`` on every pair of elements; one of the two may be a number.

    Shapes broadcast as numpy's do; raises ``TensorError`` for others.
    """
    function = _OPERATORS[operator]
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        shape = _common_shape(operator, a, b)
        return compute(shape, lambda *i: function(_element(a, i), _element(b, i)), f"T_{operator}", "broadcast")
    if isinstance(a, Tensor):
        left, right = a, _scalar(operator, b)
        return compute(left.shape, lambda *i: function(left(*i), right), f"T_{operator}", "elemwise")
    assert isinstance(b, Tensor), "one of the two is a tensor"
    first, second = _scalar(operator, a), b
    return compute(second.shape, lambda *i: function(first, second(*i)), f"T_{operator}", "elemwise")


def _scalar(operator: str, value: ExprLike | Tensor) -> ExprLike:
    if isinstance(value, bool | int | float):
        return value
    try:
        return convert(value)
    except TypeError as error:
        raise TensorError(f"{operator}: expected a tensor or a number, got {value!r}") from error


def _common_shape(operator: str, a: Tensor, b: Tensor) -> list[Expr]:
    """Return the shape of the result: dimensions are compared from the last one on."""
    result: list[Expr] = []
    for back in range(1, max(a.ndim, b.ndim) + 1):
        x = a.shape[-back] if back <= a.ndim else None
        y = b.shape[-back] if back <= b.ndim else None
        if x is None or y is None:
            size = x if y is None else y
        elif _is_one(x) or same(x, y):
            size = y
        elif _is_one(y) or not (isinstance(x, IntImm) and isinstance(y, IntImm)):
            size = x
        else:
            raise TensorError(
                f"{operator} of {a.name!r} and {b.name!r}: sizes {x} and {y} of dimension -{back} do not go together"
            )
        assert size is not None
        result.insert(0, size)
    return result


def _is_one(size: Expr) -> bool:
    return isinstance(size, IntImm) and size.value == 1


def _element(tensor: Tensor, indices: tuple[Expr, ...]) -> Scalar:
    own = indices[len(indices) - tensor.ndim :]
    return tensor(*(0 if _is_one(size) else index for index, size in zip(own, tensor.shape, strict=True)))
