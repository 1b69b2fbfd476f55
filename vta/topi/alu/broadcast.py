"""Element-wise operators on te tensors, under TVM's names, with numpy's broadcasting.

Each makes a stage of its own, which the tensor ALU does (``vta.topi.alu.alu_template``), or the host. Operands are
tensors, expressions and numbers; of two, one at least is a tensor. Tests: tests/vta/topi/alu/test_broadcast.py.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from vta import te
from vta.tir.expr import Expr, ExprLike, IntImm, convert
from vta.topi.core.operator import OperatorError

__all__ = [
    "Operand", "add", "binary_stage", "broadcast_element", "broadcast_shape", "cast", "clip", "identity", "left_shift",
    "maximum", "minimum", "multiply", "negative", "relu", "right_shift", "subtract", "unary_stage",
]  # fmt: skip

Operand: TypeAlias = te.Tensor | ExprLike
Combined: TypeAlias = Callable[[Expr, Expr], Expr]


def add(lhs: Operand, rhs: Operand) -> te.Tensor:
    """Return ``lhs + rhs``."""
    return binary_stage("T_add", lhs, rhs, lambda a, b: a + b)


def subtract(lhs: Operand, rhs: Operand) -> te.Tensor:
    """Return ``lhs - rhs``."""
    return binary_stage("T_subtract", lhs, rhs, lambda a, b: a - b)


def multiply(lhs: Operand, rhs: Operand) -> te.Tensor:
    """Return ``lhs * rhs``."""
    return binary_stage("T_multiply", lhs, rhs, lambda a, b: a * b)


def maximum(lhs: Operand, rhs: Operand) -> te.Tensor:
    """Return the larger ones."""
    return binary_stage("T_maximum", lhs, rhs, te.max)


def minimum(lhs: Operand, rhs: Operand) -> te.Tensor:
    """Return the smaller ones."""
    return binary_stage("T_minimum", lhs, rhs, te.min)


def left_shift(lhs: Operand, rhs: Operand) -> te.Tensor:
    """Return ``lhs << rhs``."""
    return binary_stage("T_left_shift", lhs, rhs, lambda a, b: a << b)


def right_shift(lhs: Operand, rhs: Operand) -> te.Tensor:
    """Return ``lhs >> rhs``, arithmetic."""
    return binary_stage("T_right_shift", lhs, rhs, lambda a, b: a >> b)


def clip(x: te.Tensor, a_min: int, a_max: int) -> te.Tensor:
    """Return ``x`` limited to ``a_min .. a_max``: two stages, as the ALU has no operation that does both."""
    high = unary_stage("clipA", x, lambda value: te.min(value, a_max))
    return unary_stage("clipB", high, lambda value: te.max(value, a_min))


def relu(x: te.Tensor) -> te.Tensor:
    """Return ``max(x, 0)``."""
    return unary_stage("T_relu", x, lambda value: te.max(value, 0))


def negative(x: te.Tensor) -> te.Tensor:
    """Return ``-x``."""
    return unary_stage("T_negative", x, lambda value: 0 - value)


def cast(x: te.Tensor, dtype: str) -> te.Tensor:
    """Return ``x`` converted to ``dtype``; a type that is too narrow keeps the low bits."""
    return unary_stage("T_cast", x, lambda value: value.astype(dtype))


def identity(x: te.Tensor) -> te.Tensor:
    """Return a copy of ``x``."""
    return unary_stage("T_identity", x, lambda value: value)


def unary_stage(name: str, x: te.Tensor, of: Callable[[Expr], Expr]) -> te.Tensor:
    """Return ``of`` of every element."""
    return te.compute(x.shape, lambda *i: of(x(*i)), name=name, tag="elemwise")


def binary_stage(name: str, lhs: Operand, rhs: Operand, of: Combined) -> te.Tensor:
    """Return ``of`` of every pair of elements, with numpy's broadcasting."""
    shapes = [operand.shape for operand in (lhs, rhs) if isinstance(operand, te.Tensor)]
    if not shapes:
        raise OperatorError(f"{name}: one of the operands must be a tensor")
    shape = shapes[0] if len(shapes) == 1 else broadcast_shape(name, *shapes)
    tag = "elemwise" if all(len(s) == len(shape) and _same(s, shape) for s in shapes) else "broadcast"
    return te.compute(
        shape, lambda *i: of(broadcast_element(lhs, shape, i), broadcast_element(rhs, shape, i)), name=name, tag=tag
    )


def broadcast_element(operand: Operand, shape: Sequence[Expr], indices: Sequence[Expr]) -> Expr:
    """Return the element of ``operand`` that stands at ``indices`` of the common ``shape``."""
    if not isinstance(operand, te.Tensor):
        return convert(operand)
    mine = indices[len(shape) - operand.ndim :]
    return operand(*(0 if _is_one(extent) else index for extent, index in zip(operand.shape, mine, strict=True)))


def broadcast_shape(name: str, a: Sequence[Expr], b: Sequence[Expr]) -> list[Expr]:
    """Return the shape that both have when dimensions of one, and missing ones in front, are repeated."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    shape = list(longer)
    for place, extent in enumerate(shorter, len(longer) - len(shorter)):
        if _is_one(shape[place]):
            shape[place] = extent
        elif not _is_one(extent) and not _same([shape[place]], [extent]):
            texts = [", ".join(map(str, s)) for s in (a, b)]
            raise OperatorError(f"{name}: shapes ({texts[0]}) and ({texts[1]}) do not go together in dimension {place}")
    return shape


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, IntImm) and extent.value == 1


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return all(str(x) == str(y) for x, y in zip(a, b, strict=True))
