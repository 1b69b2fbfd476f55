"""Bound inference: which part of each tensor is needed where it is computed, and the loops that compute it.

Stages are visited from the outputs back. What a stage must compute at its place is the box around all that its readers
read while the loops inside that place run; the loops outside keep their variables. Boxes have constant extents
wherever there is a constant bound, and lie within the tensor where that can be proved. A box has no holes: for reads
with a stride it holds the elements between as well (``x[o + 4 * i]`` for i in 0 .. 31 takes 125 elements).
Tests: tests/vta/te/test_infer_bound.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vta.arith.bounds import Interval, eval_interval
from vta.arith.simplify import Analyzer
from vta.te.inline import inlined_bodies
from vta.te.iteration import Iteration, Loop, iterate, root_intervals
from vta.te.lowering.box import Box
from vta.te.lowering.reads import index_interval
from vta.te.operation import ComputeOp, domain, load_tensor, tensor_loads
from vta.te.relations import Fuse, Split, whole
from vta.te.stage import AttachAt, ScheduleError, Stage
from vta.tir.expr import Expr, IterVar, ProducerLoad, Range, Var, const
from vta.tir.traverse import uses_var

if TYPE_CHECKING:
    from vta.te.schedule import Schedule

__all__ = ["Bounds", "InferBound", "Placed", "infer_bounds"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A stage with everything that lowering needs to know.

    ``body`` has inlined stages in it. ``at`` is the loop of another stage that it is computed in, ``around`` all loops
    around it, the innermost first. ``iteration`` are its own loops; its region is what it computes.
    """

    stage: Stage
    op: ComputeOp
    body: tuple[Expr, ...]
    at: tuple[Stage, IterVar] | None
    around: tuple[Loop, ...]
    iteration: Iteration


@dataclass(frozen=True, slots=True)
class Bounds:
    """The stages in the order of their data flow, and an analyser that knows the range of every loop variable."""

    placed: dict[Stage, Placed]
    analyzer: Analyzer


@dataclass(slots=True)
class _Inference:
    schedule: Schedule
    bodies: dict[Stage, tuple[Expr, ...]]
    analyzer: Analyzer = field(default_factory=Analyzer)
    placed: dict[Stage, Placed] = field(default_factory=dict)
    readers: dict[Stage, list[tuple[Stage, ProducerLoad]]] = field(default_factory=dict)
    taken: set[Var] = field(default_factory=set)
    environments: dict[tuple[Stage, int], dict[Var, Interval]] = field(default_factory=dict)

    def collect_readers(self) -> None:
        for stage, body in self.bodies.items():
            for load in tensor_loads(body):
                self.readers.setdefault(self.schedule[load_tensor(load)], []).append((stage, load))

    def place(self, stage: Stage) -> None:
        op = stage.compute_op("lowering")
        at = _attach_point(stage)
        around: tuple[Loop, ...] = ()
        if at is not None:
            parent = self._parent(stage, at[0])
            position = parent.stage.leaf(at[1], f"compute_at of stage {stage.name!r}")
            around = (*reversed(parent.iteration.loops[: position + 1]), *parent.around)
        region = self._region(stage, op, at, around)
        iteration = iterate(stage, op, region, self.analyzer, self.taken)
        self.placed[stage] = Placed(stage, op, self.bodies[stage], at, around, iteration)

    def _parent(self, stage: Stage, parent: Stage) -> Placed:
        if parent not in self.placed:
            raise ScheduleError(
                f"stage {stage.name!r}: it is to be computed at stage {parent.name!r}, which is inlined "
                "and has no loops"
            )
        return self.placed[parent]

    def _region(
        self, stage: Stage, op: ComputeOp, at: tuple[Stage, IterVar] | None, around: Sequence[Loop]
    ) -> list[Range]:
        """Return the part of the output that is needed at ``at``, inside loops ``around``, dimension by dimension."""
        if stage.is_output:
            return [domain(axis) for axis in op.axis]
        box = Box(op.shape, self.analyzer)
        for reader, load in self.readers.get(stage, []):
            cut, relaxed = self._relaxed(stage, reader, at)
            environment = self._environment(reader, cut)
            for dim, index in enumerate(load.indices):
                box.add(dim, self._bounds_of(index, environment, relaxed))
        return box.ranges(around)

    def _relaxed(self, stage: Stage, reader: Stage, at: tuple[Stage, IterVar] | None) -> tuple[int, list[Loop]]:
        """Return how many of the reader's own loops stay fixed, and the loops inside ``at``, innermost first."""
        own = self.placed[reader].iteration.loops
        around = self.placed[reader].around
        if at is None:
            return 0, [*reversed(own), *around]
        parent, axis = at
        if parent is reader:
            cut = reader.leaf(axis, "compute_at") + 1
            return cut, list(reversed(own[cut:]))
        for i, loop in enumerate(around):
            if loop.axis is axis and loop.stage is parent:
                return 0, [*reversed(own), *around[:i]]
        raise ScheduleError(
            f"stage {stage.name!r}: it is computed at axis {axis.name!r} of stage {parent.name!r}, but stage "
            f"{reader.name!r}, which reads it, is not computed inside that loop; compute {reader.name!r} there too, or "
            f"{stage.name!r} further out"
        )

    def _environment(self, reader: Stage, cut: int) -> dict[Var, Interval]:
        """Return what each root axis of ``reader`` walks over while its first ``cut`` loops stand still."""
        key = (reader, cut)
        if key not in self.environments:
            self.environments[key] = root_intervals(self.placed[reader].iteration, cut, self.analyzer)
        return self.environments[key]

    def _bounds_of(self, index: Expr, environment: Mapping[Var, Interval], relaxed: list[Loop]) -> Interval:
        bounds = index_interval(index, environment, self.analyzer)
        return Interval(self._relax(bounds.min, relaxed, low=True), self._relax(bounds.max, relaxed, low=False))

    def _relax(self, bound: Expr | None, relaxed: list[Loop], *, low: bool) -> Expr | None:
        """Return the least (greatest) value of ``bound`` over the loops in ``relaxed``."""
        for loop in relaxed:
            if bound is None:
                return None
            if not loop.is_single and uses_var(bound, loop.var):
                interval = eval_interval(bound, {loop.var: whole(loop.extent)}, self.analyzer)
                bound = interval.min if low else interval.max
        return bound


def _attach_point(stage: Stage) -> tuple[Stage, IterVar] | None:
    """Return the loop that ``stage`` is computed in; an axis that was split or fused since means what became of it."""
    if not isinstance(stage.attach, AttachAt):
        return None
    axis = stage.attach.axis
    for relation in stage.attach.stage.relations:
        match relation:
            case Split(parent, _, inner) if parent is axis:
                axis = inner
            case Fuse(outer, inner, fused) if axis is outer or axis is inner:
                axis = fused
            case _:
                pass
    return stage.attach.stage, axis


def infer_bounds(schedule: Schedule) -> Bounds:
    """Return the loops and regions of every stage; raises ``ScheduleError`` where a stage cannot be computed."""
    inference = _Inference(schedule, inlined_bodies(schedule))
    inference.collect_readers()
    for stage in reversed(schedule.stages):
        if stage in inference.bodies:
            inference.place(stage)
    return Bounds(dict(reversed(inference.placed.items())), inference.analyzer)


def InferBound(schedule: Schedule) -> dict[IterVar, Range]:  # noqa: N802  # TVM's name
    """Return the range of every axis of every stage; axes made by splits and fusions start at zero."""
    result: dict[IterVar, Range] = {}
    for placed in infer_bounds(schedule).placed.values():
        iteration = placed.iteration
        for axis, extent in iteration.extents.items():
            result[axis] = Range(const(0), extent)
        result.update(iteration.region)
    return result
