"""Which elements of a buffer are touched in one iteration of a loop.

Tests: tests/vta/tir/schedule/test_moving.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta.arith.bounds import Interval, eval_interval
from vta.arith.facts import conjuncts
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.expr import BufferLoad, Expr, IntImm, Max, Min, Range, Var, binary, const, same
from vta.tir.stmt import Block, BufferStore, For
from vta.tir.traverse import substitute, uses_var

__all__ = ["region_of", "union", "why_not_all"]


def region_of(
    block: Block, access: BufferLoad | BufferStore, inside: Sequence[For], analyzer: Analyzer
) -> list[Interval]:
    """Return for each dimension what ``access`` touches while the loops ``inside`` run and the others stand still."""
    values = {axis.var: value for axis, value in zip(block.iter_vars, block.values, strict=True)}
    free: dict[Var, Interval] = {}
    for loop in inside:
        free[loop.loop_var] = Interval(loop.min, analyzer.simplify(loop.min + loop.extent - 1))
    return [eval_interval(substitute(index, values), free, analyzer) for index in access.indices]


def why_not_all(block: Block, store: BufferStore, inside: Sequence[For], analyzer: Analyzer) -> str | None:
    """Return why the loops ``inside`` leave out elements between the first and the last one that ``store`` reaches.

    None if they reach all of them that are in the domains of the block's axes.
    """
    pairs = list(zip(block.iter_vars, block.values, strict=True))
    values = {axis.var: value for axis, value in pairs}
    variables = [loop.loop_var for loop in inside]
    for index in store.indices:
        if not _is_dense(analyzer.simplify(substitute(index, values)), inside, analyzer):
            return f"the places {substitute(index, values)} have gaps"
    domains = [
        analyzer.simplify(value < axis.dom.min + axis.dom.extent) for axis, value in pairs if axis.dom is not None
    ]
    for condition in conjuncts(analyzer.simplify(block.predicate)):
        if uses_var(condition, variables) and not any(same(condition, known) for known in domains):
            return f"the condition {condition} leaves some out"
    return None


def _is_dense(index: Expr, inside: Sequence[For], analyzer: Analyzer) -> bool:
    """Whether ``index`` takes every integer from its first to its last value while the loops ``inside`` run."""
    used = [loop for loop in inside if uses_var(index, loop.loop_var)]
    form = detect_linear_equation(index, [loop.loop_var for loop in used], analyzer)
    if form is None:
        return False
    steps: list[tuple[int, int]] = []
    for coefficient, loop in zip(form, used, strict=False):
        if not isinstance(coefficient, IntImm) or not isinstance(loop.extent, IntImm):
            return len(used) == 1 and isinstance(coefficient, IntImm) and abs(coefficient.value) == 1
        steps.append((abs(coefficient.value), loop.extent.value))
    reach = 1
    for step, count in sorted(steps):
        if step > reach:
            return False
        reach += step * (count - 1)
    return True


def union(intervals: Sequence[Interval], size: Expr, analyzer: Analyzer) -> Range:
    """Return a range with a constant extent around ``intervals`` of a dimension of ``size``; all of it if need be."""
    whole = Range(const(0, size.dtype), size)
    low, high = intervals[0].min, intervals[0].max
    for interval in intervals[1:]:
        low = _outer(Min, low, interval.min, analyzer)
        high = _outer(Max, high, interval.max, analyzer)
    if low is None or high is None:
        return whole
    extent = analyzer.simplify(high - low + 1)
    if not isinstance(extent, IntImm):
        most = analyzer.const_bounds(extent).hi
        if most is None:
            return whole
        extent = const(most, size.dtype)
    assert isinstance(extent, IntImm)
    if isinstance(size, IntImm) and extent.value >= size.value:
        return whole
    return Range(low, extent)


def _outer(kind: type[Min | Max], a: Expr | None, b: Expr | None, analyzer: Analyzer) -> Expr | None:
    if a is None or b is None:
        return None
    if analyzer.can_prove(a <= b):
        return a if kind is Min else b
    if analyzer.can_prove(b <= a):
        return b if kind is Min else a
    return binary(kind, a, b)
