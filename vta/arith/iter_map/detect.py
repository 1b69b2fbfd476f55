"""Which indices are maps of iterators, and whether they are independent of each other.

``[x*20 + y*5 + z // 2, z % 2]`` with 4 values of y and 10 of z is a map: the indices are fused and split digits of x, y
and z. ``[x, x]`` is none, for its indices depend on each other. Tests: tests/vta/arith/iter_map/test_detect.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vta.arith.facts import conjuncts
from vta.arith.iter_map.nodes import (
    IterMapError,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
)
from vta.arith.iter_map.rewrite import Rewriter
from vta.arith.iter_map.to_expr import normalize_iter_map_to_expr, source_expr
from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.deep import deep
from vta.tir.expr import EQ, GE, GT, LE, LT, Expr, ExprLike, IntImm, Range, Var, const, convert
from vta.tir.traverse import uses_var

__all__ = ["detect_iter_map", "iter_map_simplify", "rewriter_for"]


def detect_iter_map(
    indices: Sequence[ExprLike],
    input_iters: Mapping[Var, Range],
    predicate: ExprLike = True,
    check_level: IterMapLevel | int | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Return the form of every index, at most one split and a base each; none, with the reasons, where there is none.

    ``predicate`` limits sums of iterators that indices have, too. Iterators of one value are constants, unless
    ``simplify_trivial_iterators`` is False.
    """
    level = IterMapLevel.of(check_level)
    try:
        rewriter = rewriter_for(input_iters, predicate, level, trivial=simplify_trivial_iterators)
        found = [rewriter.fuse(rewriter.sum_of(convert(index))) for index in indices]
        if level is not IterMapLevel.NoCheck:
            _Check(rewriter, level).indices(found)
    except IterMapError as error:
        return IterMapResult((), (str(error),))
    return IterMapResult(tuple(found), (), _padding(rewriter, found))


def iter_map_simplify(
    indices: Sequence[ExprLike],
    input_iters: Mapping[Var, Range],
    predicate: ExprLike = True,
    check_level: IterMapLevel | int | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[Expr]:
    """Return the indices as maps of iterators say them; as they are, simplified, where they are no map."""
    found = detect_iter_map(indices, input_iters, predicate, check_level, simplify_trivial_iterators)
    analyzer = Analyzer(dict(input_iters))
    if not found.indices:
        return [analyzer.simplify(index) for index in indices]
    return [analyzer.simplify(normalize_iter_map_to_expr(index)) for index in found.indices]


def rewriter_for(
    input_iters: Mapping[Var, Range], predicate: ExprLike, level: IterMapLevel, *, trivial: bool
) -> Rewriter:
    """Return what reads indices of the iterators where the predicate holds; raises ``IterMapError``."""
    analyzer = Analyzer()
    for var, dom in input_iters.items():
        if uses_var(dom.min, input_iters) or uses_var(dom.extent, input_iters):
            raise IterMapError(f"the range of {var.name!r} depends on another iterator")
        analyzer.bind(var, dom)
    conditions = [part for part in conjuncts(convert(predicate)) if not analyzer.can_prove(part)]
    ranges = {var: (dom.min, analyzer.simplify(dom.min + dom.extent)) for var, dom in input_iters.items()}
    sums: list[Expr] = []
    first = Rewriter({var: _whole(var, low, end) for var, (low, end) in ranges.items()}, analyzer)
    for condition in conditions:
        total, low, end = _limit(condition, first)
        alone = _alone(total, input_iters)
        if alone is None:
            sums.append(condition)
        else:
            (begin, before), shift = ranges[alone], input_iters[alone].min
            ranges[alone] = (
                begin if low is None else analyzer.simplify(ops.max(begin, low + shift)),
                before if end is None else analyzer.simplify(ops.min(before, end + shift)),
            )
    iters = {var: _whole(var, low, end, trivial=trivial) for var, (low, end) in ranges.items()}
    result = Rewriter(iters, analyzer, bijective=level is IterMapLevel.Bijective)
    for condition in sums:
        result.limit(*_limit(condition, result))
    return result


def _whole(var: Var, low: Expr, end: Expr, *, trivial: bool = True) -> IterSumExpr:
    """Return an iterator from ``low`` to ``end - 1`` as a sum."""
    extent = Analyzer().simplify(end - low)
    if isinstance(extent, IntImm) and extent.value <= 0:
        raise IterMapError(f"iterator {var.name!r} has no values")
    if trivial and isinstance(extent, IntImm) and extent.value == 1:
        return IterSumExpr((), low)
    at_zero = isinstance(low, IntImm) and low.value == 0
    mark = IterMark(var if at_zero else var - low, extent)
    return IterSumExpr((IterSplitExpr(mark, const(1, var.dtype), extent, const(1, var.dtype)),), low)


def _alone(total: IterSumExpr, input_iters: Mapping[Var, Range]) -> Var | None:
    """Return the iterator that a sum is, from its beginning on."""
    if len(total.args) != 1:
        return None
    mark, arg = total.args[0].source, total.args[0]
    if isinstance(mark.source, IterSumExpr) or arg.extent is not mark.extent or not _is_one(arg.scale):
        return None
    return next((var for var in input_iters if uses_var(mark.source, var)), None)


def _is_one(expr: Expr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 1


def _limit(condition: Expr, rewriter: Rewriter) -> tuple[IterSumExpr, Expr | None, Expr | None]:
    """Return a sum without a base, and the begin and end that a condition gives to it."""
    match condition:
        case LT(a=a, b=b) | GT(a=b, b=a):
            kind, extra = "<", 0
        case LE(a=a, b=b) | GE(a=b, b=a):
            kind, extra = "<", 1
        case EQ(a=a, b=b):
            kind, extra = "==", 1
        case _:
            raise IterMapError(f"predicate {condition} is no comparison of sums of iterators")
    total = rewriter.sum_of(a - b)
    if not total.args:
        raise IterMapError(f"predicate {condition} is not about the iterators")
    signs = {rewriter.analyzer.can_prove(arg.scale > 0) for arg in total.args}
    below = {rewriter.analyzer.can_prove(arg.scale < 0) for arg in total.args}
    limit = rewriter.analyzer.simplify(extra - total.base)  # total < limit
    if signs == {True}:
        bare = IterSumExpr(total.args, const(0, limit.dtype))
        return bare, (rewriter.analyzer.simplify(limit - 1) if kind == "==" else None), limit
    if below != {True}:
        raise IterMapError(f"predicate {condition} has iterators that run against each other")
    zero = IterSumExpr((), const(0, limit.dtype))
    turned = rewriter.added(zero, IterSumExpr(total.args, zero.base), const(-1, limit.dtype))
    low = rewriter.analyzer.simplify(1 - limit)  # -turned < limit
    return turned, low, (rewriter.analyzer.simplify(low + 1) if kind == "==" else None)


@dataclass(slots=True)
class _Check:
    rewriter: Rewriter
    level: IterMapLevel
    used: dict[IterMark, list[IterSplitExpr]] = field(default_factory=dict)

    def indices(self, found: Iterable[IterSumExpr]) -> None:
        """Raise ``IterMapError`` unless the indices are independent of each other, and what the level asks for."""
        for total in found:
            for arg in total.args:
                self._use(arg)
        for mark, splits in self.used.items():
            self._digits(mark, splits)
        limited = {split.source for split, _, mark in self.rewriter.limits if mark not in self.used}
        for mark in self._below(limited):
            if mark in self.used:
                raise IterMapError("a predicate is about iterators that indices do not have in that sum")
        if self.level is IterMapLevel.Bijective:
            self._everything()

    @deep
    def _use(self, split: IterSplitExpr) -> None:
        mark = split.source
        if mark in self.used:
            self.used[mark].append(split)
            return
        self.used[mark] = [split]
        if isinstance(mark.source, IterSumExpr):
            for arg in mark.source.args:
                self._use(arg)

    def _below(self, marks: Iterable[IterMark]) -> set[IterMark]:
        found: set[IterMark] = set()
        work = list(marks)
        while work:
            mark = work.pop()
            found.add(mark)
            if isinstance(mark.source, IterSumExpr):
                work += [arg.source for arg in mark.source.args]
        return found

    def _digits(self, mark: IterMark, splits: list[IterSplitExpr]) -> None:
        """Check that splits of one mark are different digits of it."""
        rewriter = self.rewriter
        name = source_expr(mark)
        if mark.padded:
            self._padded(mark, splits)
            return
        constant = all(isinstance(s.lower_factor, IntImm) and isinstance(s.extent, IntImm) for s in splits)
        left = sorted(splits, key=lambda s: s.lower_factor.value if isinstance(s.lower_factor, IntImm) else 0)
        reach: Expr = const(1, mark.extent.dtype)
        while left:
            at = 0
            if not constant:
                wanted = reach
                at = next((i for i, s in enumerate(left) if rewriter.equal(s.lower_factor, wanted)), 0)
            split = left.pop(at)
            gap = rewriter.equal(split.lower_factor % reach, const(0, reach.dtype))
            if not (rewriter.equal(split.lower_factor, reach) or (gap and self.level is not IterMapLevel.Bijective)):
                raise IterMapError(f"indices have {name} in several ways, or not all of it")
            reach = rewriter.analyzer.simplify(split.lower_factor * split.extent)
        whole = rewriter.equal(mark.extent % reach, const(0, reach.dtype))
        if not (rewriter.equal(reach, mark.extent) or (whole and self.level is not IterMapLevel.Bijective)):
            raise IterMapError(f"indices have {name} in several ways, or not all of it")

    def _padded(self, mark: IterMark, splits: list[IterSplitExpr]) -> None:
        """Check the one split of a mark some of whose values do not occur: all of the split's values must."""
        rewriter = self.rewriter
        low, end = next((low, end) for known, low, end in rewriter.padded if known is mark)
        (split, *others) = splits
        reach = split.lower_factor * split.extent
        is_top = rewriter.equal(reach, mark.extent)
        certain = is_top or rewriter.analyzer.can_prove(reach <= end - low)
        if others or not certain or self.level is IterMapLevel.Bijective:
            raise IterMapError(f"the values of {source_expr(mark)} do not fill {mark.extent} places")

    def _everything(self) -> None:
        for total in self.rewriter.iters.values():
            for arg in total.args:
                if arg.source not in self.used:
                    raise IterMapError(f"no index has iterator {source_expr(arg.source)}")


def _padding(rewriter: Rewriter, found: Sequence[IterSumExpr]) -> Expr:
    """Return where padded marks that indices have are outside of the values that occur."""
    check = _Check(rewriter, IterMapLevel.NoCheck)
    for total in found:
        for arg in total.args:
            check._use(arg)
    conditions: list[Expr] = []
    for mark, low, end in rewriter.padded:
        if mark in check.used:
            value = source_expr(mark)
            if not rewriter.equal(low, const(0, low.dtype)):
                conditions.append(value < low)
            if not rewriter.equal(end, mark.extent):
                conditions.append(value >= end)
    return ops.any(*conditions) if conditions else const(False, "bool")
