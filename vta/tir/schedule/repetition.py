"""Whether a block runs again for the same values of its axes: what moves a start out of a sum must know.

``compute_at`` makes such blocks: a producer in a loop computes what one iteration of it reads, and the next iteration
may read some of that, too. Tests: tests/vta/tir/schedule/test_reductions.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta.arith.block_regions import analyzer_for
from vta.arith.facts import conjuncts
from vta.arith.iter_map import IterMapLevel, detect_iter_map
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.expr import Expr, IntImm, Not, Range, Var, const
from vta.tir.stmt import Block, For
from vta.tir.traverse import substitute, uses_var

__all__ = ["repeated_over"]


def repeated_over(block: Block, outside: Sequence[For], inside: Sequence[For]) -> For | None:
    """Return a loop of ``inside`` over which ``block`` may run again for the same axes, None if there is none.

    ``outside`` are the loops around those, which stand still. Where axes are sums of loops, in each the digits of a
    number, they tell the iterations apart; so do the maps of iterators that ``detect_iter_map`` knows.
    """
    free = [loop for loop in inside if not _runs_once(loop, block, [*outside, *inside])]
    analyzer = analyzer_for([*outside, *inside])
    told = {var for value in block.values for var in _digits(value, free, analyzer)}
    missing = [loop for loop in free if loop.loop_var not in told]
    if not missing:
        return None
    first: dict[Var, Expr] = {loop.loop_var: loop.min for loop in inside if loop not in free}
    domains = {loop.loop_var: Range(loop.min, loop.extent) for loop in free}
    values, predicate = [substitute(value, first) for value in block.values], substitute(block.predicate, first)
    return None if detect_iter_map(values, domains, predicate, IterMapLevel.Bijective).indices else missing[0]


def _runs_once(loop: For, block: Block, around: Sequence[For]) -> bool:
    """Whether the condition of ``block`` lets it run in the first iteration of ``loop`` alone."""
    if isinstance(loop.extent, IntImm) and loop.extent.value <= 1:
        return True
    parts = [part for part in conjuncts(block.predicate) if uses_var(part, loop.loop_var)]
    if not parts:
        return False
    analyzer = analyzer_for(around)
    one = const(1, loop.loop_var.dtype)
    analyzer.bind(loop.loop_var, Range(loop.min + one, loop.extent - one))
    return any(analyzer.can_prove(Not(part)) for part in parts)


def _digits(value: Expr, loops: Sequence[For], analyzer: Analyzer) -> list[Var]:
    """Return the variables of ``loops`` whose values ``value`` tells: all that are in it, or none."""
    used = [loop for loop in loops if uses_var(value, loop.loop_var)]
    form = detect_linear_equation(value, [loop.loop_var for loop in used], analyzer)
    if form is None:
        return []
    steps: list[tuple[int, For]] = []
    for coefficient, loop in zip(form, used, strict=False):
        if not isinstance(coefficient, IntImm) or coefficient.value == 0:
            return []
        steps.append((abs(coefficient.value), loop))
    reach: int | None = 0
    for step, loop in sorted(steps, key=lambda found: found[0]):
        if reach is None or step <= reach:
            return []
        reach = reach + step * (loop.extent.value - 1) if isinstance(loop.extent, IntImm) else None
    return [loop.loop_var for loop in used]
