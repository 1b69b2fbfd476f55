"""What every expression is: Python's operators, and what ``a == b`` gives.

An operator builds a node, and every node has operators: so they reach the nodes through the package ``vta.tir.expr``,
which is complete by the time that an operator is used. Tests: tests/vta/tir/test_expr.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np

from isa.errors import VTAError
from vta.tir import expr as expr_package
from vta.tir.dtype import BOOL, DType
from vta.tir.expr.builtin import Builtin

if TYPE_CHECKING:
    from vta.tir.expr.coercion import ExprLike
    from vta.tir.expr.nodes import Expr

__all__ = ["Equality", "ExprError", "Node", "Operators"]


class ExprError(VTAError, TypeError, ValueError):
    """Operands that do not make an expression."""


class Equality:
    """The result of ``a == b`` (or ``!=``): a Python truth value by structure, or an ``EQ``/``NE`` node."""

    __slots__ = ("a", "b", "negated")

    def __init__(self, a: Expr, b: object, *, negated: bool) -> None:
        self.a = a
        self.b = b
        self.negated = negated

    def __bool__(self) -> bool:
        other = self._other()
        if isinstance(self.a, expr_package.IntImm) and isinstance(other, expr_package.IntImm):
            return (self.a.value == other.value) is not self.negated  # of constants, the numbers count
        return expr_package.same(self.a, other) is not self.negated

    def _other(self) -> object:
        """Return the other side; a number as a constant of the expression's type, if it fits there."""
        match self.b:
            case Operators():
                return self.b.asexpr()
            case str() if isinstance(self.a, expr_package.StringImm):
                return expr_package.StringImm(self.b)
            case int() | float() | np.generic():
                try:
                    return expr_package.constant_like(self.b, self.a.dtype)
                except ExprError:
                    return self.b
            case _:
                return self.b

    def asexpr(self) -> Expr:
        """Return the comparison as an expression."""
        return expr_package.binary(expr_package.NE if self.negated else expr_package.EQ, self.a, self.b)


def _is_tensor(value: object) -> bool:
    """Whether ``value`` is no scalar, but combines with scalars itself."""
    return not isinstance(value, (Operators, int, float)) and hasattr(value, "op") and hasattr(value, "ndim")


class Operators:
    """Python's operators on whatever has ``asexpr()``: expressions, iteration variables, tensor elements."""

    __slots__ = ()

    def asexpr(self) -> Expr:
        """Return the expression that this object stands for."""
        raise NotImplementedError

    def __int__(self) -> int:
        """Raise ``ExprError``; constants have a number of their own."""
        raise ExprError(f"int(): expected an expression that is a constant, got {self.asexpr()}")

    def __add__(self, other: ExprLike) -> Expr:
        if _is_tensor(other):
            return NotImplemented
        return expr_package.binary(expr_package.Add, self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.Add, other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        if _is_tensor(other):
            return NotImplemented
        return expr_package.binary(expr_package.Sub, self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.Sub, other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        if _is_tensor(other):
            return NotImplemented
        return expr_package.binary(expr_package.Mul, self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.Mul, other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        if _is_tensor(other):
            return NotImplemented
        return expr_package.true_divide(self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return expr_package.true_divide(other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.FloorDiv, self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.FloorDiv, other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.FloorMod, self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.FloorMod, other, self)

    def __neg__(self) -> Expr:
        expr = self.asexpr()
        return expr_package.binary(expr_package.Sub, expr_package.const(0, expr.dtype), expr)

    def __lt__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.LT, self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.LE, self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.GT, self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return expr_package.binary(expr_package.GE, self, other)

    def __eq__(self, other: object) -> Equality:  # type: ignore[override]  # a deferred comparison, see Equality
        return Equality(self.asexpr(), other, negated=False)

    def __ne__(self, other: object) -> Equality:  # type: ignore[override]  # a deferred comparison, see Equality
        return Equality(self.asexpr(), other, negated=True)

    def __hash__(self) -> int:
        return expr_package.structural_hash(self.asexpr())

    def __lshift__(self, other: ExprLike) -> Expr:
        return expr_package.bitwise(Builtin.SHIFT_LEFT, self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return expr_package.bitwise(Builtin.SHIFT_LEFT, other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return expr_package.bitwise(Builtin.SHIFT_RIGHT, self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return expr_package.bitwise(Builtin.SHIFT_RIGHT, other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return expr_package.logical_or_bitwise(expr_package.And, Builtin.BITWISE_AND, self, other)

    def __or__(self, other: ExprLike) -> Expr:
        return expr_package.logical_or_bitwise(expr_package.Or, Builtin.BITWISE_OR, self, other)

    def __xor__(self, other: ExprLike) -> Expr:
        return expr_package.bitwise(Builtin.BITWISE_XOR, self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return expr_package.logical_or_bitwise(expr_package.And, Builtin.BITWISE_AND, other, self)

    def __ror__(self, other: ExprLike) -> Expr:
        return expr_package.logical_or_bitwise(expr_package.Or, Builtin.BITWISE_OR, other, self)

    def __rxor__(self, other: ExprLike) -> Expr:
        return expr_package.bitwise(Builtin.BITWISE_XOR, other, self)

    def __invert__(self) -> Expr:
        expr = self.asexpr()
        if expr.dtype.element == BOOL:
            return expr_package.Not(expr)
        if not expr.dtype.is_int:
            raise ExprError(f"{Builtin.BITWISE_NOT} needs an integer, not {expr.dtype}")
        return expr_package.Call(expr.dtype, Builtin.BITWISE_NOT, (expr,))

    def __bool__(self) -> bool:
        raise ExprError(
            f"{type(self).__name__} has no truth value while a program is described; use te.if_then_else, "
            "tir.all, tir.any or tir.Select instead of if, and, or"
        )

    def __iter__(self) -> Iterator[Expr]:
        raise ExprError(f"{type(self).__name__} is one scalar; it cannot be iterated")

    def equal(self, other: ExprLike) -> Expr:
        """Return the condition that this equals ``other``, always as an expression."""
        return expr_package.binary(expr_package.EQ, self, other)

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very object."""
        return self is other

    def astype(self, dtype: str) -> Expr:
        """Return this value converted to ``dtype``."""
        value = self.asexpr()
        if isinstance(value, expr_package.StringImm):
            raise ExprError(f"a string cannot be converted to {dtype}")
        return expr_package.cast_to(value, DType(dtype))


class Node(Operators):
    """What every expression node shares; ``dtype`` is the type of its value."""

    __slots__ = ()

    if TYPE_CHECKING:
        __match_args__: tuple[str, ...]

        @property
        def dtype(self) -> DType: ...  # noqa: D102  # see the class

    def asexpr(self) -> Expr:
        """Return the node itself."""
        return cast("Expr", self)

    def __str__(self) -> str:
        return f"{self}"

    def __format__(self, spec: str) -> str:
        from vta.tir.printer import to_text  # the printer imports the nodes

        return format(to_text(self.asexpr()), spec)
