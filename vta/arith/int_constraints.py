"""Variables with ranges and relations between them, and such systems rewritten in other variables, as in TVM.

Tests: tests/vta/arith/test_linear_system.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from isa.errors import VTAError
from vta.arith.bounds import Interval, eval_interval
from vta.arith.simplify import Analyzer
from vta.tir.dtype import BOOL
from vta.tir.expr import LE, LT, Compare, Expr, ExprLike, IntImm, Range, Var, convert
from vta.tir.traverse import substitute, uses_var

__all__ = ["IntConstraints", "IntConstraintsTransform", "LinearSystemError", "as_relations", "impossible", "rewritten"]


class LinearSystemError(VTAError, ValueError):
    """Relations that are no linear system."""


@dataclass(frozen=True, slots=True)
class IntConstraints:
    """Integer ``variables``, the ``ranges`` of some, and ``relations`` that hold."""

    variables: tuple[Var, ...] = ()
    ranges: Mapping[Var, Range] = field(default_factory=dict)
    relations: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class IntConstraintsTransform:
    """One system (``src``) as another one (``dst``): the same solutions, by the values of the maps."""

    src: IntConstraints
    dst: IntConstraints
    src_to_dst: Mapping[Var, Expr]
    dst_to_src: Mapping[Var, Expr]


def as_relations(relations: ExprLike | Sequence[ExprLike]) -> tuple[Expr, ...]:
    """Return comparisons as expressions; raises ``LinearSystemError`` for others."""
    several = relations if isinstance(relations, list | tuple) else [relations]
    result = tuple(convert(relation) for relation in several)
    for relation in result:
        if not isinstance(relation, Compare) and not (isinstance(relation, IntImm) and relation.dtype == "bool"):
            raise LinearSystemError(f"expected a comparison of integers, got {relation}")
    return result


def rewritten(
    src: IntConstraints,
    variables: Sequence[Var],
    src_to_dst: Mapping[Var, Expr],
    dst_to_src: Mapping[Var, Expr],
    more: Iterable[Expr],
) -> IntConstraintsTransform:
    """Return ``src`` in ``variables``: ranges follow from those of ``src``; what they do not say becomes relations.

    ``more`` are the relations of ``src`` that are left, in its variables, or conditions on what is no variable.
    """
    known = {var: Interval.of_range(dom) for var, dom in src.ranges.items()}
    analyzer = Analyzer()
    ranges: dict[Var, Range] = {}
    for var in variables:
        bounds = eval_interval(dst_to_src[var], known, analyzer)
        if bounds.min is None or bounds.max is None:
            continue
        if not (uses_var(bounds.min, src.variables) or uses_var(bounds.max, src.variables)):
            low = analyzer.simplify(bounds.min)
            ranges[var] = Range(low, analyzer.simplify(bounds.max - low + 1))
            analyzer.bind(var, ranges[var])
    conditions: list[Expr] = []
    for var, value in src_to_dst.items():
        if var in src.ranges:
            dom = src.ranges[var]
            conditions += [LE(dom.min, value), LT(value, dom.min + dom.extent)]
    conditions += [substitute(relation, dict(src_to_dst)) for relation in more]
    relations = [analyzer.simplify(condition) for condition in conditions]
    kept = tuple(r for r in relations if not (isinstance(r, IntImm) and r.value))
    if any(isinstance(relation, IntImm) for relation in kept):
        return impossible(src)
    return IntConstraintsTransform(src, IntConstraints(tuple(variables), ranges, kept), src_to_dst, dst_to_src)


def impossible(src: IntConstraints) -> IntConstraintsTransform:
    """Return the rewriting of a system without a solution: the relation that never holds."""
    return IntConstraintsTransform(src, IntConstraints((), {}, (IntImm(0, BOOL),)), {}, {})
