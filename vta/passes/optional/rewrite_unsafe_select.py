"""Compute only the chosen side of a ``Select`` whose other side reads memory or divides.

Before::

    B[i] = select(i > 0, A[i - 1], 0)

After::

    B[i] = if_then_else(i > 0, A[i - 1], 0)

Tests: tests/vta/passes/optional/test_rewrites.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.effects import can_fail, reads_memory
from vta.tir.expr import Builtin, Call, Expr, Select
from vta.tir.func import PrimFunc
from vta.tir.traverse import map_expr, map_stmt

__all__ = ["rewrite_unsafe_select"]


def rewrite_unsafe_select(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with lazy choices in place of those that may do harm."""
    return replace(func, body=map_stmt(func.body, on_expr=lambda expr: map_expr(_lazy, expr)))


def _lazy(expr: Expr) -> Expr:
    match expr:
        case Select() if expr.condition.dtype.lanes == 1 and any(
            reads_memory(side) or can_fail(side) for side in (expr.true_value, expr.false_value)
        ):
            return Call(expr.dtype, Builtin.IF_THEN_ELSE, (expr.condition, expr.true_value, expr.false_value))
        case _:
            return expr
