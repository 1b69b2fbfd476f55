"""The conditions under which the body of a loop nest runs: none where the loops fit exactly.

Tests: tests/vta/te/test_predicates.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vta.arith.simplify import Analyzer
from vta.te.iteration import Iteration
from vta.te.operation import domain
from vta.te.relations import Relation, Split
from vta.tir.expr import Expr, IntImm, IterVar, Var
from vta.tir.traverse import substitute

__all__ = ["Guard", "guards", "split_guards"]


@dataclass(frozen=True, slots=True)
class Guard:
    """``value < bound`` (or ``value >= bound`` if ``lower``) must hold for ``axis``.

    ``value`` is the axis' value counted from zero, or the element that it stands for if ``element``.
    """

    axis: IterVar
    value: Expr
    bound: Expr
    element: bool = False
    lower: bool = False

    @property
    def condition(self) -> Expr:
        """The condition."""
        return self.of(self.value)

    def of(self, value: Expr) -> Expr:
        """Return the condition for another way to write the value."""
        return value >= self.bound if self.lower else value < self.bound


def guards(
    iteration: Iteration,
    analyzer: Analyzer,
    *,
    values: Mapping[IterVar, Expr],
    positions: Mapping[Var, Expr],
) -> list[Guard]:
    """Return what must hold for the body to run, for the axes that ``values`` and ``positions`` have."""
    result = split_guards(iteration.relations, iteration.extents, values, analyzer)
    for axis, region in iteration.region.items():
        dom = domain(axis)
        if axis in iteration.exact or region is dom or axis.var not in positions:
            continue
        low, size = substitute(dom.min, positions), substitute(dom.extent, positions)
        position = positions[axis.var]
        if not (analyzer.can_prove(region.min >= low) or analyzer.can_prove(position >= low)):
            result.append(Guard(axis, position, low, element=True, lower=True))
        end = low + size
        if not (analyzer.can_prove(region.min + region.extent <= end) or analyzer.can_prove(position < end)):
            result.append(Guard(axis, position, end, element=True))
    return result


def split_guards(
    relations: Sequence[Relation],
    extents: Mapping[IterVar, Expr],
    values: Mapping[IterVar, Expr],
    analyzer: Analyzer,
) -> list[Guard]:
    """Return a guard for each axis that its split can overrun, as far as ``values`` has it.

    A split that does not divide lets its parent run past its end, into elements that do not exist or that another
    iteration computes. Where the outer part of a guarded axis is split again, the guard of the axis covers it.
    """
    result: list[Guard] = []
    covered: set[IterVar] = set()
    for relation in relations:
        if not isinstance(relation, Split) or relation.parent not in values:
            continue
        parent = relation.parent
        if _fits(relation, extents) or analyzer.can_prove(values[parent] < extents[parent]):
            continue
        if parent not in covered:
            result.append(Guard(parent, values[parent], extents[parent]))
        covered.add(relation.outer)
    return result


def _fits(split: Split, extents: Mapping[IterVar, Expr]) -> bool:
    outer, inner, whole = extents[split.outer], extents[split.inner], extents[split.parent]
    if isinstance(outer, IntImm) and isinstance(inner, IntImm) and isinstance(whole, IntImm):
        return outer.value * inner.value <= whole.value
    return False
