"""The loops of one stage: their variables and extents, and the place in the tensor that they stand for.

Tests: tests/vta/te/test_infer_bound.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vta.arith.bounds import Interval, eval_interval
from vta.arith.simplify import Analyzer
from vta.te.gpu_threads import is_gpu_thread
from vta.te.operation import ComputeOp, domain
from vta.te.relations import Relation, children_of, ends, extents_down, intervals_up, parents_of, values_up, whole
from vta.te.stage import ScheduleError, Stage
from vta.tir.expr import Expr, IntImm, IterVar, Max, Range, Var, binary, const
from vta.tir.traverse import substitute, uses_var

__all__ = ["Iteration", "Loop", "iterate", "root_intervals"]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """The loop of leaf ``axis``: ``var`` from 0 to ``extent - 1``."""

    stage: Stage
    axis: IterVar
    var: Var
    extent: Expr
    is_thread: bool

    @property
    def is_single(self) -> bool:
        """Whether it is left out because it has one trip; a thread's never is."""
        return not self.is_thread and isinstance(self.extent, IntImm) and self.extent.value == 1

    @property
    def value(self) -> Expr:
        """What the axis stands for inside: the variable, or zero."""
        return const(0) if self.is_single else self.var


@dataclass(frozen=True, slots=True)
class Iteration:
    """What a stage's loops walk over.

    ``region`` is the range of each root axis, ``extents`` the extent of every axis, ``values`` the value of every axis
    in terms of the loop variables, counted from zero; ``positions`` the element that each root variable stands for.
    ``exact`` are the reduction axes whose range follows the loops outside of theirs; others that depend on axes walk
    over everything that occurs.
    """

    relations: Sequence[Relation]
    region: Mapping[IterVar, Range]
    extents: Mapping[IterVar, Expr]
    loops: tuple[Loop, ...]
    values: Mapping[IterVar, Expr]
    positions: Mapping[Var, Expr]
    exact: frozenset[IterVar]


def iterate(stage: Stage, op: ComputeOp, output: Sequence[Range], analyzer: Analyzer, taken: set[Var]) -> Iteration:
    """Return the loops that compute region ``output``, and tell ``analyzer`` their ranges.

    A loop's variable is its axis' own, unless that stands for something else (a root axis that does not start at zero)
    or is in ``taken`` already.
    """
    exact = [axis for axis in op.reduce_axis if _follows_its_bounds(axis, stage, op)]
    region = dict(zip(op.axis, output, strict=True))
    for axis in op.reduce_axis:
        covering = _covering(domain(axis), region, analyzer)
        if covering is None and axis not in exact:
            raise _unknown_range(stage, axis)
        region[axis] = covering or domain(axis)
    extents: dict[IterVar, Expr] = {axis: dom.extent for axis, dom in region.items()}
    extents_down(stage.relations, extents, analyzer)
    variables = {axis: _loop_var(stage, axis, region, taken) for axis in stage.leaf_iter_vars}
    threads = {axis for axis in stage.leaf_iter_vars if stage.thread_of(axis) is not None}
    values: dict[IterVar, Expr] = {
        axis: variables[axis] if axis in threads or not _is_one(extents[axis]) else const(0)
        for axis in stage.leaf_iter_vars if axis not in exact
    }  # fmt: skip
    values_up(stage.relations, extents, values)
    positions = {axis.var: values[axis] + dom.min for axis, dom in region.items() if axis not in exact}
    for axis in exact:
        dom = domain(axis)
        region[axis] = Range(substitute(dom.min, positions), analyzer.simplify(substitute(dom.extent, positions)))
        extents[axis] = region[axis].extent
        values[axis] = const(0) if _is_one(extents[axis]) else variables[axis]
        positions[axis.var] = values[axis] + region[axis].min
    loops = tuple(Loop(stage, axis, variables[axis], extents[axis], axis in threads) for axis in stage.leaf_iter_vars)
    for loop in loops:
        if not loop.is_single:
            analyzer.bind(loop.var, Range(const(0), loop.extent))
    return Iteration(stage.relations, region, extents, loops, values, positions, frozenset(exact))


def root_intervals(iteration: Iteration, cut: int, analyzer: Analyzer) -> dict[Var, Interval]:
    """Return what each root variable walks over while the first ``cut`` loops stand still and the others run."""
    intervals: dict[IterVar, Interval] = {}
    for i, loop in enumerate(iteration.loops):
        intervals[loop.axis] = Interval.point(iteration.values[loop.axis]) if i < cut else whole(loop.extent)
    intervals_up(iteration.relations, iteration.extents, intervals, analyzer)
    result: dict[Var, Interval] = {}
    for axis, region in iteration.region.items():
        low, high = ends(intervals[axis])
        first = analyzer.simplify(low + region.min)
        result[axis.var] = Interval(first, first if low is high else analyzer.simplify(high + region.min))
    return result


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, IntImm) and extent.value == 1


def _loop_var(stage: Stage, axis: IterVar, region: Mapping[IterVar, Range], taken: set[Var]) -> Var:
    thread = stage.thread_of(axis)
    own = axis.var if thread is None else thread.var
    starts_at_zero = axis not in region or (isinstance(region[axis].min, IntImm) and region[axis].min == 0)
    if (own in taken and not is_gpu_thread(thread)) or not starts_at_zero:
        own = Var(own.name)
    taken.add(own)
    return own


def _covering(dom: Range, region: Mapping[IterVar, Range], analyzer: Analyzer) -> Range | None:
    """Return the range that contains ``dom`` for all values of the axes of ``region``; None if that is not known."""
    axes = {axis.var: Interval.of_range(range_) for axis, range_ in region.items()}
    if not (uses_var(dom.min, axes) or uses_var(dom.extent, axes)):
        return dom
    low = eval_interval(dom.min, axes, analyzer).min
    high = eval_interval(dom.min + dom.extent - 1, axes, analyzer).max
    for var in reversed(list(axes)):
        env = {var: axes[var]}
        low = None if low is None else eval_interval(low, env, analyzer).min
        high = None if high is None else eval_interval(high, env, analyzer).max
    if low is None or high is None:
        return None
    return Range(low, binary(Max, analyzer.simplify(high - low + 1), 0))


def _unknown_range(stage: Stage, axis: IterVar) -> ScheduleError:
    dom = domain(axis)
    return ScheduleError(
        f"stage {stage.name!r}: reduction axis {axis.name!r}: no constant bounds are known for its range, from "
        f"{dom.min} to {dom.min + dom.extent}; leave its loop unsplit, inside the loops of the axes that it depends on"
    )


def _follows_its_bounds(axis: IterVar, stage: Stage, op: ComputeOp) -> bool:
    """Whether the domain of ``axis`` depends on other axes, all of whose loops are outside its own loop."""
    dom = domain(axis)
    needed = [a for a in (*op.axis, *op.reduce_axis) if uses_var(dom.min, a.var) or uses_var(dom.extent, a.var)]
    leaves = stage.leaf_iter_vars
    if not needed or not any(leaf is axis for leaf in leaves):
        return False
    below = set(needed)
    for relation in stage.relations:
        if any(parent in below for parent in parents_of(relation)):
            below.update(children_of(relation))
    own = next(i for i, leaf in enumerate(leaves) if leaf is axis)
    return not any(leaf in below for leaf in leaves[own:])
