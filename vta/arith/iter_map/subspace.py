"""Indices divided into what an inner nest of loops walks over, and the rest.

``z*12 + y*3 + x`` with an inner loop x of 3 is ``(z*4 + y) * 3 + x``. Tests: tests/vta/arith/iter_map/test_subspace.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vta.arith.facts import conjuncts
from vta.arith.iter_map.detect import detect_iter_map
from vta.arith.iter_map.nodes import IterMapError, IterMapLevel, IterMark, IterSplitExpr, IterSumExpr
from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.deep import deep
from vta.tir.expr import Expr, ExprLike, Range, Var, const, convert
from vta.tir.traverse import uses_var

__all__ = ["subspace_divide"]


def subspace_divide(
    bindings: Sequence[ExprLike],
    input_iters: Mapping[Var, Range],
    sub_iters: Sequence[Var],
    predicate: ExprLike = True,
    check_level: IterMapLevel | int | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[IterMark]]:
    """Return [outer, inner] for every index, which is ``outer * inner.extent + inner``; [] where that is not possible.

    The inner marks have the iterators ``sub_iters`` alone, the outer ones the others. The last pair has the parts of
    the predicate as its extents.
    """
    found = detect_iter_map(bindings, input_iters, predicate, check_level, simplify_trivial_iterators)
    if len(found.indices) != len(bindings):
        return []
    division = _Division(set(sub_iters), Analyzer())
    try:
        pairs = [division.index(total) for total in found.indices]
        outer, inner = division.condition(convert(predicate), set(input_iters) - division.inner)
    except IterMapError:
        return []
    nothing = IterSumExpr((), const(0))
    return [[pair.outer, pair.inner] for pair in pairs] + [[IterMark(nothing, outer), IterMark(nothing, inner)]]


@dataclass(frozen=True, slots=True)
class _Pair:
    outer: IterMark
    inner: IterMark


@dataclass(slots=True)
class _Division:
    inner: set[Var]
    analyzer: Analyzer

    def index(self, total: IterSumExpr) -> _Pair:
        """Return the parts of an index; the base goes to the inner one."""
        outer, inner = self._sum(total.args)
        return _Pair(
            IterMark(IterSumExpr(outer, const(0)), _extent(outer, self.analyzer)),
            IterMark(IterSumExpr(inner, total.base), _extent(inner, self.analyzer)),
        )

    def condition(self, predicate: Expr, outer: set[Var]) -> tuple[Expr, Expr]:
        """Return the parts of the predicate about outer and about inner iterators."""
        parts: tuple[list[Expr], list[Expr]] = ([], [])
        for part in conjuncts(predicate):
            with_outer, with_inner = uses_var(part, outer), uses_var(part, self.inner)
            if with_outer and with_inner:
                raise IterMapError(f"predicate {part} is about outer and inner iterators")
            parts[1 if with_inner else 0].append(part)
        first, second = (ops.all(*own) if own else const(True, "bool") for own in parts)
        return first, second

    def _sum(self, args: Sequence[IterSplitExpr]) -> tuple[list[IterSplitExpr], list[IterSplitExpr]]:
        """Return the splits of the outer and of the inner sum."""
        outer: list[IterSplitExpr] = []
        inner: list[IterSplitExpr] = []
        for arg in args:
            high, low = self._split(arg)
            if high is not None and inner:
                raise IterMapError("an outer iterator is below an inner one")
            if high is not None:
                outer.append(high)
            if low is not None:
                inner.append(low)
        step = _extent(inner, self.analyzer)
        scaled = [replaced(arg, self.analyzer.simplify(arg.scale // step)) for arg in outer]
        if not all(self.analyzer.can_prove_equal(a.scale * step, b.scale) for a, b in zip(scaled, outer, strict=True)):
            raise IterMapError("inner iterators do not fill the steps of the outer ones")
        return scaled, inner

    @deep
    def _split(self, split: IterSplitExpr) -> tuple[IterSplitExpr | None, IterSplitExpr | None]:
        """Return the outer part of a split, with the scale that it has in the whole, and the inner one."""
        source = split.source.source
        if not isinstance(source, IterSumExpr):
            return (None, split) if uses_var(source, self.inner) else (split, None)
        if split.source.padded:
            raise IterMapError("values that do not fill their parts cannot be divided")
        outer, inner = self._sum(source.args)
        if not inner or not outer:
            return (split, None) if not inner else (None, split)
        step = _extent(inner, self.analyzer)
        high = IterMark(IterSumExpr(outer, const(0)), _extent(outer, self.analyzer))
        low = IterMark(IterSumExpr(inner, source.base), step)
        end = self.analyzer.simplify(split.lower_factor * split.extent)
        if self._divides(step, split.lower_factor):
            lower = self.analyzer.simplify(split.lower_factor // step)
            return IterSplitExpr(high, lower, split.extent, split.scale), None
        if self._divides(end, step):
            return None, IterSplitExpr(low, split.lower_factor, split.extent, split.scale)
        if not (self._divides(split.lower_factor, step) and self._divides(step, end)):
            raise IterMapError("a split goes across inner and outer iterators")
        below = self.analyzer.simplify(step // split.lower_factor)
        scale = self.analyzer.simplify(split.scale * below)
        return (
            IterSplitExpr(high, const(1), self.analyzer.simplify(end // step), scale),
            IterSplitExpr(low, split.lower_factor, below, split.scale),
        )

    def _divides(self, divisor: Expr, value: Expr) -> bool:
        return self.analyzer.can_prove_equal(value % divisor, 0)


def replaced(split: IterSplitExpr, scale: Expr) -> IterSplitExpr:
    """Return a split with another scale."""
    return IterSplitExpr(split.source, split.lower_factor, split.extent, scale)


def _extent(args: Sequence[IterSplitExpr], analyzer: Analyzer) -> Expr:
    """Return how many values a sum of mixed digits has; the first one is the highest."""
    if not args:
        return const(1)
    last = args[-1]
    if not analyzer.can_prove_equal(last.scale, 1):
        raise IterMapError("an index has a step")
    total: Expr = const(1)
    for arg in reversed(args):
        if not analyzer.can_prove_equal(arg.scale, total):
            raise IterMapError("digits of an index overlap")
        total = analyzer.simplify(total * arg.extent)
    return total
