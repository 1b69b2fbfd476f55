"""Write divisions that round down as what machines do: shifts, masks and divisions that round towards zero.

Before::

    A[floordiv(i, 8)] = floormod(i, 3) + floordiv(n, m)

After, where i is at least 0 and nothing is known about n::

    A[i >> 3] = truncmod(i, 3) + (select of the quotient rounded towards zero and one less)

Host code does this by itself; the pass is for scripts that look at the result.
Tests: tests/vta/passes/optional/test_rewrites.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from isa.config import VTAConfig
from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.deep import deep
from vta.tir.expr import Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Range, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import For, Stmt
from vta.tir.traverse import map_expr, map_stmt_children

__all__ = ["lower_intrin"]


def lower_intrin(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` without divisions that round down."""
    return replace(func, body=_Lowering(Analyzer()).visit(func.body))


@dataclass(frozen=True, slots=True)
class _Lowering:
    analyzer: Analyzer

    @deep
    def visit(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` with its divisions written out."""
        if isinstance(stmt, For):
            self.analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
        return map_stmt_children(stmt, self.visit, lambda expr: map_expr(self._division, expr))

    def _division(self, expr: Expr) -> Expr:
        match expr:
            case FloorDiv(b=IntImm(value=value)) if expr.dtype.is_int and _power(value) is not None:
                return expr.a >> const(_power(value) or 0, expr.dtype)
            case FloorMod(b=IntImm(value=value)) if expr.dtype.is_int and _power(value) is not None:
                return expr.a & const(value - 1, expr.dtype)
            case FloorDiv() | FloorMod() if expr.dtype.is_int and expr.dtype.lanes == 1:
                return self._towards_zero(expr)
            case _:
                return expr

    def _towards_zero(self, expr: FloorDiv | FloorMod) -> Expr:
        """Return the quotient or remainder from those that are rounded towards zero."""
        quotient, rest, zero = Div(expr.a, expr.b), Mod(expr.a, expr.b), const(0, expr.dtype)
        positive = self.analyzer.can_prove(expr.b > zero)
        if positive and self.analyzer.can_prove(expr.a >= zero):
            return quotient if isinstance(expr, FloorDiv) else rest
        if positive:
            kept = rest >= zero
        else:  # the rest has the dividend's sign, and must have the divisor's
            kept = ops.any((rest == zero).asexpr(), ((rest > zero) == (expr.b > zero)).asexpr())
        if isinstance(expr, FloorDiv):
            return ops.select(kept, quotient, quotient - 1)
        return ops.select(kept, rest, rest + expr.b)


def _power(value: int) -> int | None:
    """Return the exponent of a power of two above 1."""
    return value.bit_length() - 1 if value > 1 and value & (value - 1) == 0 else None
