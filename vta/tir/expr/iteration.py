"""Ranges, axes and reductions' combiners: what an expression says of the loops around it.

Tests: tests/vta/tir/test_expr.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from vta.tir.expr.operators import Operators

if TYPE_CHECKING:
    from vta.tir.expr.nodes import Expr, Var

__all__ = ["CommReducer", "IterKind", "IterVar", "Range"]


@dataclass(frozen=True, slots=True)
class Range:
    """The integers ``min`` to ``min + extent - 1``."""

    min: Expr
    extent: Expr

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very object."""
        return self is other


class IterKind(StrEnum):
    """The kinds of iteration variables; values are TVM's names."""

    DATA_PAR = "DataPar"
    COMM_REDUCE = "CommReduce"
    THREAD_INDEX = "ThreadIndex"
    OPAQUE = "Opaque"

    @property
    def number(self) -> int:
        """TVM's number of the kind."""
        return _NUMBERS[self]


_NUMBERS = {IterKind.DATA_PAR: 0, IterKind.THREAD_INDEX: 1, IterKind.COMM_REDUCE: 2, IterKind.OPAQUE: 4}


@dataclass(frozen=True, slots=True, eq=False)
class IterVar(Operators):
    """An axis: a variable with its domain. Compares by identity; ``thread_tag`` is for thread axes ("cthread")."""

    dom: Range | None
    var: Var
    kind: IterKind = IterKind.DATA_PAR
    thread_tag: str = ""

    def asexpr(self) -> Expr:
        """Return the variable."""
        return self.var

    @property
    def name(self) -> str:
        """The variable's name."""
        return self.var.name

    @property
    def iter_type(self) -> int:
        """The kind, as TVM numbers it."""
        return self.kind.number

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True)
class CommReducer:
    """A commutative, associative combination: ``result`` of ``lhs`` and ``rhs``, with its neutral element."""

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[Expr, ...]
    identity: tuple[Expr, ...]
