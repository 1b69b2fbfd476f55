"""How iteration variables come from one another: split, fuse, and the dummy axis of fusing nothing.

The functions below carry extents down from the root axes to the leaves, and values, intervals and kinds up from the
leaves to the roots. Every variable counts from zero here; where a root axis starts is added by whoever asks.
Tests: tests/vta/te/test_relations.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag
from typing import TypeAlias, assert_never

from vta.arith.bounds import Interval
from vta.arith.simplify import Analyzer
from vta.tir.expr import Expr, IntImm, IterVar, Min, binary, const, same

__all__ = [
    "Fuse", "Relation", "Role", "Singleton", "Split", "children_of", "ends", "extents_down", "intervals_up",
    "parents_of", "roles_down", "values_down", "values_up", "whole",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """``parent = outer * inner.extent + inner``; either ``factor`` or ``nparts`` is given."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: Expr | None
    nparts: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Fuse:
    """``fused = outer * inner.extent + inner``."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


@dataclass(frozen=True, slots=True, eq=False)
class Singleton:
    """A dummy axis of extent one."""

    iter: IterVar


Relation: TypeAlias = Split | Fuse | Singleton


class Role(Flag):
    """Which kinds of root axes an iteration variable walks over."""

    NONE = 0
    DATA = 1
    REDUCE = 2


def parents_of(relation: Relation) -> tuple[IterVar, ...]:
    """Return what ``relation`` consumes."""
    match relation:
        case Split():
            return (relation.parent,)
        case Fuse():
            return (relation.outer, relation.inner)
        case Singleton():
            return ()


def children_of(relation: Relation) -> tuple[IterVar, ...]:
    """Return what ``relation`` makes."""
    match relation:
        case Split():
            return (relation.outer, relation.inner)
        case Fuse():
            return (relation.fused,)
        case Singleton():
            return (relation.iter,)


def extents_down(relations: Sequence[Relation], extents: dict[IterVar, Expr], analyzer: Analyzer) -> None:
    """Add the extent of every variable to ``extents``, which has those of the root axes.

    A split makes no loop longer than its parent, so that a factor above the extent needs no guard.
    """
    for relation in relations:
        match relation:
            case Split(parent, outer, inner, factor, nparts):
                whole = extents[parent]
                if factor is not None:
                    extents[inner] = _at_most(factor, whole)
                    extents[outer] = _parts(whole, factor, analyzer)
                elif nparts is not None:
                    extents[outer] = _at_most(nparts, whole)
                    extents[inner] = _parts(whole, nparts, analyzer)
            case Fuse(outer, inner, fused):
                extents[fused] = analyzer.simplify(extents[outer] * extents[inner])
            case Singleton(dummy):
                extents[dummy] = const(1)
            case _:
                assert_never(relation)


def _at_most(size: Expr, whole: Expr) -> Expr:
    return binary(Min, size, whole) if isinstance(size, IntImm) and isinstance(whole, IntImm) else size


def _parts(whole: Expr, size: Expr, analyzer: Analyzer) -> Expr:
    """Return whole / size, rounded up."""
    if isinstance(whole, IntImm) and isinstance(size, IntImm):
        return const(-(-whole.value // size.value))
    return analyzer.simplify((whole + size - 1) // size)


def values_up(relations: Sequence[Relation], extents: Mapping[IterVar, Expr], values: dict[IterVar, Expr]) -> None:
    """Add the value of every variable whose children's values are in ``values``."""
    for relation in reversed(relations):
        match relation:
            case Split(parent, outer, inner):
                if outer in values and inner in values:
                    values[parent] = values[inner] + values[outer] * extents[inner]
            case Fuse(outer, inner, fused):
                if fused in values:
                    values[outer] = _one_trip(values[fused] // extents[inner], extents[outer])
                    values[inner] = _one_trip(values[fused] % extents[inner], extents[inner])
            case Singleton():
                pass
            case _:
                assert_never(relation)


def values_down(relations: Sequence[Relation], extents: Mapping[IterVar, Expr], values: dict[IterVar, Expr]) -> None:
    """Add the value of every variable whose parents' values are in ``values``."""
    for relation in relations:
        match relation:
            case Split(parent, outer, inner):
                if parent in values:
                    values[outer] = _one_trip(values[parent] // extents[inner], extents[outer])
                    values[inner] = _one_trip(values[parent] % extents[inner], extents[inner])
            case Fuse(outer, inner, fused):
                if outer in values and inner in values:
                    values[fused] = values[inner] + values[outer] * extents[inner]
            case Singleton(dummy):
                values[dummy] = const(0)
            case _:
                assert_never(relation)


def _one_trip(value: Expr, extent: Expr) -> Expr:
    return const(0) if isinstance(extent, IntImm) and extent.value == 1 else value


def roles_down(relations: Iterable[Relation], roles: dict[IterVar, Role]) -> None:
    """Add the role of every variable to ``roles``, which has those of the root axes; a dummy axis is DATA."""
    for relation in relations:
        role = Role.NONE
        for parent in parents_of(relation):
            role |= roles[parent]
        for child in children_of(relation):
            roles[child] = role or Role.DATA


def intervals_up(
    relations: Sequence[Relation],
    extents: Mapping[IterVar, Expr],
    intervals: dict[IterVar, Interval],
    analyzer: Analyzer,
) -> None:
    """Add the interval of every variable to ``intervals``, which has those of the leaves.

    What is relaxed completely gives its parent's whole range, whatever a split that does not divide adds to it.
    """
    for relation in reversed(relations):
        match relation:
            case Split(parent, outer, inner):
                intervals[parent] = _split_interval(relation, extents, intervals, analyzer)
            case Fuse(outer, inner, fused):
                intervals[outer], intervals[inner] = _fuse_intervals(relation, extents, intervals[fused], analyzer)
            case Singleton():
                pass
            case _:
                assert_never(relation)


def ends(interval: Interval) -> tuple[Expr, Expr]:
    """Return the bounds of an interval that has both, as those of loops do."""
    assert interval.min is not None, "loops are bounded"
    assert interval.max is not None, "loops are bounded"
    return interval.min, interval.max


def whole(extent: Expr) -> Interval:
    """Return the interval 0 .. extent - 1."""
    return Interval(const(0), extent - 1)


def is_whole(interval: Interval, extent: Expr) -> bool:
    """Whether ``interval`` is 0 .. extent - 1."""
    low, high = ends(interval)
    return isinstance(low, IntImm) and low.value == 0 and same(high, extent - 1)


def _split_interval(
    split: Split, extents: Mapping[IterVar, Expr], intervals: Mapping[IterVar, Interval], analyzer: Analyzer
) -> Interval:
    outer, inner = intervals[split.outer], intervals[split.inner]
    step, extent = extents[split.inner], extents[split.parent]
    if is_whole(outer, extents[split.outer]) and is_whole(inner, step):
        return whole(extent)
    (outer_low, outer_high), (inner_low, inner_high) = ends(outer), ends(inner)
    low = analyzer.simplify(inner_low + outer_low * step)
    if outer_low is outer_high and inner_low is inner_high:
        return Interval(low, low)
    high = analyzer.simplify(inner_high + outer_high * step)
    if isinstance(high, IntImm) and isinstance(extent, IntImm):
        high = binary(Min, high, extent - 1)
    return Interval(low, high)


def _fuse_intervals(
    fuse: Fuse, extents: Mapping[IterVar, Expr], fused: Interval, analyzer: Analyzer
) -> tuple[Interval, Interval]:
    step = extents[fuse.inner]
    if is_whole(fused, extents[fuse.fused]):
        return whole(extents[fuse.outer]), whole(step)
    low, high = ends(fused)
    outer_low = analyzer.simplify(low // step)
    if low is high:
        inner_low = analyzer.simplify(low % step)
        return Interval(outer_low, outer_low), Interval(inner_low, inner_low)
    outer_high = analyzer.simplify(high // step)
    if analyzer.can_prove_equal(outer_low, outer_high):
        inner = Interval(analyzer.simplify(low % step), analyzer.simplify(high % step))
        return Interval(outer_low, outer_low), inner
    return Interval(outer_low, outer_high), whole(step)
