"""The nodes of arithmetic and comparison: two operands of one type.

Tests: tests/vta/tir/test_expr.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vta.tir import expr as expr_package
from vta.tir.dtype import BOOL, DType
from vta.tir.expr.operators import Node

if TYPE_CHECKING:
    from vta.tir.expr.nodes import Expr

__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Binary", "Compare", "Div", "FloorDiv", "FloorMod", "Max", "Min",
    "Mod", "Mul", "Or", "Pair", "Sub",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Pair(Node):
    """Two operands: expressions of one type, or what ``match_types`` makes these of (numbers, elements, ``a == b``)."""

    a: Expr
    b: Expr
    dtype: DType = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.a, Node) and isinstance(self.b, Node)):
            a, b = expr_package.match_types(self.a, self.b)
            object.__setattr__(self, "a", a)
            object.__setattr__(self, "b", b)
        object.__setattr__(self, "dtype", self._type_of(self.a.dtype))

    @staticmethod
    def _type_of(operands: DType) -> DType:
        """Return the type of the value. The node keeps it: asking operands would walk down the whole expression."""
        return operands


class Binary(Pair):
    """Arithmetic on two operands of one type; ``dtype`` is theirs."""

    __slots__ = ()


class Compare(Pair):
    """A comparison of two operands of one type; ``dtype`` is bool, with their lanes."""

    __slots__ = ()

    @staticmethod
    def _type_of(operands: DType) -> DType:
        return BOOL if operands.lanes == 1 else BOOL.with_lanes(operands.lanes)


class Add(Binary):
    """a + b."""

    __slots__ = ()


class Sub(Binary):
    """a - b."""

    __slots__ = ()


class Mul(Binary):
    """a * b."""

    __slots__ = ()


class Div(Binary):
    """Quotient rounded towards zero (integers), or exact (floats)."""

    __slots__ = ()


class Mod(Binary):
    """Remainder with the sign of the dividend."""

    __slots__ = ()


class FloorDiv(Binary):
    """Quotient rounded down."""

    __slots__ = ()


class FloorMod(Binary):
    """Remainder with the sign of the divisor."""

    __slots__ = ()


class Min(Binary):
    """The smaller operand."""

    __slots__ = ()


class Max(Binary):
    """The larger operand."""

    __slots__ = ()


class EQ(Compare):
    """a == b."""

    __slots__ = ()


class NE(Compare):
    """a != b."""

    __slots__ = ()


class LT(Compare):
    """a < b."""

    __slots__ = ()


class LE(Compare):
    """a <= b."""

    __slots__ = ()


class GT(Compare):
    """a > b."""

    __slots__ = ()


class GE(Compare):
    """a >= b."""

    __slots__ = ()


class And(Compare):
    """Both operands (bool) hold; ``b`` may be evaluated or not when ``a`` is false."""

    __slots__ = ()


class Or(Compare):
    """One of the operands (bool) holds."""

    __slots__ = ()
