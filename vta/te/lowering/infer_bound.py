"""Bound inference: which part of each tensor is needed where it is computed, and the loops that compute it.

Stages are visited from the outputs back. What a stage must compute at its place is the box around all that its readers
read while the loops inside that place run; the loops outside keep their variables. Boxes have constant extents
wherever there is a constant bound, and lie within the tensor where that can be proved. A box has no holes: for reads
with a stride it holds the elements between as well (``x[o + 4 * i]`` for i in 0 .. 31 takes 125 elements).
Tests: tests/vta/te/test_infer_bound.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vta.arith.bounds import Interval, eval_interval
from vta.arith.simplify import Analyzer
from vta.te.extern import ExternOp
from vta.te.gpu_threads import is_gpu_thread, shares
from vta.te.hybrid_op import HybridOp
from vta.te.inline import inlined_bodies
from vta.te.iteration import Iteration, Loop, iterate, root_intervals
from vta.te.lowering.box import Box
from vta.te.lowering.own_loops import own_iteration
from vta.te.lowering.reads import index_interval
from vta.te.operation import ComputeOp, PlaceholderOp, domain, load_tensor, tensor_loads
from vta.te.relations import Fuse, Split, whole
from vta.te.scans.scan_op import ScanOp
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
    op: ComputeOp | ExternOp | ScanOp | HybridOp
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
    needed_whole: dict[Stage, Stage] = field(default_factory=dict)
    """Stages of which a statement of ``te.extern`` reads everything, and that statement's stage."""

    steps: dict[Stage, Stage] = field(default_factory=dict)
    """The stages that compute a row of a scan anew each time, and the scan's stage."""

    def collect_readers(self) -> None:
        for stage, body in self.bodies.items():
            if isinstance(stage.op, ExternOp | HybridOp):
                self.needed_whole.update({self.schedule[t]: stage for t in stage.op.input_tensors})
                self._check_changes(stage)
            if isinstance(stage.op, ScanOp):
                self.needed_whole.update({self.schedule[t]: stage for t in stage.op.init})
                self.steps.update(dict.fromkeys(_steps(self.schedule, stage.op), stage))
            for load in tensor_loads(body):
                self.readers.setdefault(self.schedule[load_tensor(load)], []).append((stage, load))

    def _check_changes(self, stage: Stage) -> None:
        """Refuse a script that changes an input which another stage reads: before or after, nobody said."""
        changes = stage.op.changes if isinstance(stage.op, HybridOp) else ()
        for other in self.schedule.stages:
            for tensor in other.op.input_tensors if other is not stage else ():
                if tensor in changes:
                    raise ScheduleError(
                        f"stage {stage.name!r}: it changes its input {tensor.name!r}, which stage {other.name!r} "
                        "reads, too; store to a tensor of its own instead"
                    )

    def place(self, stage: Stage) -> None:
        op = stage.op
        assert not isinstance(op, PlaceholderOp), "placeholders have no body"
        at = _attach_point(stage)
        if at is None and stage in self.steps:
            scan = self.steps[stage]
            at = scan, scan.leaf_iter_vars[0]
        around: tuple[Loop, ...] = ()
        if at is not None:
            parent = self._parent(stage, at[0])
            position = parent.stage.leaf(at[1], f"compute_at of stage {stage.name!r}", of_scan=True)
            around = (*reversed(parent.iteration.loops[: position + 1]), *parent.around)
        if isinstance(op, ComputeOp):
            region = self._region(stage, op, at, around)
            iteration = iterate(stage, op, region, self.analyzer, self.taken)
        else:
            iteration = _own_loops(stage, op, self.analyzer, self.taken)
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
        reader_of_all = self.needed_whole.get(stage)
        if reader_of_all is not None and at is not None:
            raise ScheduleError(
                f"stage {stage.name!r}: compute_at: stage {reader_of_all.name!r} reads all of it; compute it at the "
                "root"
            )
        if stage.is_output or reader_of_all is not None:
            return [domain(axis) for axis in op.axis]
        scan = self.steps.get(stage)
        if scan is not None and isinstance(scan.op, ScanOp) and any(stage is self.schedule[t] for t in scan.op.update):
            (position,) = self.placed[scan].iteration.positions.values()
            return [Range(position, const(1)), *(domain(axis) for axis in op.axis[1:])]
        box = Box(op.shape, self.analyzer)
        for reader, load in self.readers.get(stage, []):
            cut, relaxed = self._relaxed(stage, reader, at)
            relaxed += self._shared_threads(stage, reader, cut, relaxed, around)
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

    def _shared_threads(
        self, stage: Stage, reader: Stage, cut: int, relaxed: Sequence[Loop], around: Sequence[Loop]
    ) -> list[Loop]:
        """Return the loops of GPU threads that stand still for the reader, but share what ``stage`` computes."""
        threads = [loop.stage.thread_of(loop.axis) for loop in around]
        tags = [thread.thread_tag for thread in threads if thread is not None and is_gpu_thread(thread)]
        if not tags:
            return []
        inside = 1 if any(tag.startswith("threadIdx") for tag in tags) else 0
        placed = self.placed[reader]
        still = [*reversed(placed.iteration.loops[:cut]), *placed.around]
        return [
            loop for loop in still
            if not any(loop is other for other in relaxed)
            and (thread := loop.stage.thread_of(loop.axis)) is not None and shares(stage.scope, thread, inside)
        ]  # fmt: skip

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


def _steps(schedule: Schedule, op: ScanOp) -> Iterator[Stage]:
    """Yield the stages that a scan's updates need and that read its states: those of one row."""
    reads_state: dict[Stage, bool] = {}
    for stage in schedule.stages:
        own = any(t in op.state for t in stage.op.input_tensors)
        reads_state[stage] = own or any(reads_state[schedule[t]] for t in stage.op.input_tensors)
    updates = [schedule[t] for t in op.update]
    for stage in schedule.stages:
        is_update = any(stage is update for update in updates)
        if is_update or (reads_state[stage] and any(schedule.consumes(update, stage) for update in updates)):
            yield stage


def _own_loops(stage: Stage, op: ExternOp | HybridOp | ScanOp, analyzer: Analyzer, taken: set[Var]) -> Iteration:
    """Return the loop over a scan's rows; statements of ``te.extern`` and hybrid scripts bring their own."""
    if isinstance(op, HybridOp):
        return own_iteration(stage, op, analyzer)
    if isinstance(op, ExternOp):
        return Iteration((), {}, {}, (), {}, {}, frozenset())
    axis, dom = op.scan_axis, domain(op.scan_axis)
    taken.add(axis.var)
    loop = Loop(stage, axis, axis.var, dom.extent, is_thread=False)
    if not loop.is_single:
        analyzer.bind(loop.var, Range(const(0), dom.extent))
    row = loop.value + dom.min
    return Iteration((), {axis: dom}, {axis: dom.extent}, (loop,), {axis: loop.value}, {axis.var: row}, frozenset())


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
