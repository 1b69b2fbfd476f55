"""For which iterations of a loop the conditions inside hold, whatever the loops inside do.

Tests: tests/vta/passes/host/test_loop_partition.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vta.arith.const_bounds import is_index
from vta.arith.const_interval import ConstInterval, union
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import (
    GE,
    GT,
    LE,
    LT,
    And,
    BufferLoad,
    Builtin,
    Call,
    Expr,
    FloorDiv,
    IntImm,
    Let,
    Range,
    Select,
    Var,
    binary,
)
from vta.tir.stmt import For, IfThenElse, LetStmt
from vta.tir.traverse import TirNode, children, uses_var, walk

__all__ = ["Bound", "bounds_of_loop"]


@dataclass(frozen=True, slots=True)
class Bound:
    """``condition`` (this node) holds from ``low`` to ``high``; None where there is no limit."""

    condition: Expr
    low: Expr | None
    high: Expr | None
    is_likely: bool


def bounds_of_loop(loop: For, analyzer: Analyzer) -> list[Bound]:
    """Return the bounds that conditions in ``loop`` set to its variable.

    ``analyzer`` knows the loop and what is around it, and learns the loops inside. Where a condition stands in several
    loops inside, the bound holds for all of them.
    """
    if not is_index(loop.loop_var.dtype):
        return []
    inside = _Inside(analyzer)
    inside.enter(loop.body)
    found = (inside.bound(condition, loop.loop_var, is_likely=likely) for condition, likely in inside.conditions)
    return [bound for bound in found if bound is not None]


@dataclass(slots=True)
class _Inside:
    """What a loop's body defines, and the comparisons in its conditions."""

    analyzer: Analyzer
    ranges: dict[Var, ConstInterval] = field(default_factory=dict)
    lets: set[Var] = field(default_factory=set)
    conditions: list[tuple[Expr, bool]] = field(default_factory=list)

    @deep
    def enter(self, node: TirNode) -> None:
        """Take in ``node`` and what is below it."""
        match node:
            case For():
                self.analyzer.bind(node.loop_var, Range(node.min, node.extent))
                bounds = self.analyzer.const_bounds(node.loop_var)
                known = self.ranges.get(node.loop_var)
                self.ranges[node.loop_var] = bounds if known is None else union((known, bounds))
            case LetStmt() | Let():
                self.lets.add(node.var)
            case IfThenElse() | Select():
                self.conditions.extend(_comparisons(node.condition, likely=False))
            case Call(op=Builtin.IF_THEN_ELSE, args=(condition, _, _)):
                self.conditions.extend(_comparisons(condition, likely=False))
            case _:
                pass
        for child in children(node):
            self.enter(child)

    def bound(self, condition: Expr, var: Var, *, is_likely: bool) -> Bound | None:
        """Return what ``condition`` says about ``var`` for all values of the loops inside."""
        spare = _spare(condition)
        if spare is None or spare.dtype != var.dtype or not uses_var(spare, var) or uses_var(spare, self.lets):
            return None
        if any(isinstance(node, BufferLoad | Call | Let) for node in walk(spare)):
            return None
        form = detect_linear_equation(spare, [var, *self.ranges], self.analyzer)
        if form is None:
            return None
        factor, *factors, rest = form
        # The worst case of every loop inside: the bound must hold whatever they do.
        for inner, c in zip(self.ranges, factors, strict=True):
            least = self._least(c, self.ranges[inner])
            if least is None:
                return None
            rest = rest + least
        if not isinstance(factor, IntImm) or factor.value == 0:
            return None
        # factor*var + rest >= 0 holds from ceil(-rest / factor) on, or up to floor(rest / -factor): both are a floor.
        quotient = self.analyzer.simplify(binary(FloorDiv, rest, abs(factor.value)))
        if factor.value > 0:
            return Bound(condition, self.analyzer.simplify(0 - quotient), None, is_likely)
        return Bound(condition, None, quotient, is_likely)

    def _least(self, factor: Expr, bounds: ConstInterval) -> int | None:
        """Return the smallest value of ``factor`` times a value within ``bounds``."""
        if not isinstance(factor, IntImm):
            return None
        if factor.value == 0:
            return 0
        extreme = bounds.lo if factor.value > 0 else bounds.hi
        return None if extreme is None else factor.value * extreme


def _comparisons(condition: Expr, *, likely: bool) -> Iterator[tuple[Expr, bool]]:
    """Yield the comparisons that all hold where ``condition`` does, and whether they are marked as likely."""
    work = [(condition, likely)]
    while work:
        part, marked = work.pop()
        match part:
            case And():
                work += ((part.b, marked), (part.a, marked))
            case Call(op=Builtin.LIKELY, args=(inner,)):
                work.append((inner, True))
            case LT() | LE() | GT() | GE() if part.a.dtype.is_int and part.a.dtype.lanes == 1:
                yield part, marked
            case _:
                continue


def _spare(condition: Expr) -> Expr | None:
    """Return the expression that is at least 0 where ``condition`` holds."""
    match condition:
        case LT():
            return condition.b - condition.a - 1
        case LE():
            return condition.b - condition.a
        case GT():
            return condition.a - condition.b - 1
        case GE():
            return condition.a - condition.b
        case _:
            return None
