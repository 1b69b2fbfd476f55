"""Schedules: the stages of a program in the order of their data flow, caches between them, factored reductions.

Tests: tests/vta/te/test_schedule.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from vta.te.auto_inline import AutoInlineBroadcast, AutoInlineElemWise, AutoInlineInjective
from vta.te.cache import cached_reader, cached_writer, read_cache
from vta.te.extern import ExternOp
from vta.te.group import Group, grouped, members_between
from vta.te.hybrid_op import HybridOp
from vta.te.lowering.index_range import check_indices
from vta.te.lowering.infer_bound import InferBound
from vta.te.operation import ComputeOp, Operation, PlaceholderOp
from vta.te.relations import Role, children_of
from vta.te.rfactor import factored
from vta.te.scans.scan_op import ScanOp
from vta.te.stage import Attach, AttachAt, ScheduleError, Stage
from vta.te.tensor import Tensor
from vta.tir.expr import IterVar

__all__ = [
    "AutoInlineBroadcast", "AutoInlineElemWise", "AutoInlineInjective", "InferBound", "Schedule", "ScheduleError",
    "Stage", "create_schedule",
]  # fmt: skip

_Named: TypeAlias = Tensor | Operation


class Schedule:
    """How a program is computed: ``s[tensor]`` is the stage that computes it.

    ``stages`` are in an order in which each comes after all that it reads. ``outputs`` are the operations that were
    asked for. Tensors keep their identity whatever happens to their stages.
    """

    def __init__(self, outputs: Sequence[Operation]) -> None:
        self.stages: list[Stage] = []
        self.groups: list[Group] = []
        self._stage_of: dict[Tensor, Stage] = {}
        self._outputs = tuple(dict.fromkeys(outputs))
        order = dataflow_order(self._outputs)
        states = frozenset(state for op in order if isinstance(op, ScanOp) for state in op.state)
        for op in order:
            if isinstance(op, ComputeOp) and op.reads_earlier_rows:
                check_indices(op.body, op.axis, op.name, states)
            self._append(Stage(op, op, self, is_output=op in self._outputs), len(self.stages))
            if isinstance(op, ComputeOp) and op.called is not None:
                self.stages[-1].use_intrinsic(op.called)

    @property
    def outputs(self) -> tuple[Operation, ...]:
        """The operations that the schedule was made for, as they are now."""
        return tuple(self[op].op for op in self._outputs)

    @property
    def stage_map(self) -> dict[Operation, Stage]:
        """The stage of every operation, as it was described and as it is now."""
        return {op: stage for stage in self.stages for op in (stage.origin_op, stage.op)}

    def _append(self, stage: Stage, position: int) -> None:
        self.stages.insert(position, stage)
        for tensor in stage.op.outputs:
            self._stage_of[tensor] = stage

    def __contains__(self, key: object) -> bool:
        return self._find(key) is not None

    def __getitem__(self, key: _Named) -> Stage:
        stage = self._find(key)
        if stage is None:
            what = f"{key.name!r}" if isinstance(key, Tensor | PlaceholderOp | ComputeOp) else repr(key)
            names = ", ".join(s.name for s in self.stages)
            reason = ", because none of its outputs needs it" if isinstance(key, Tensor | ComputeOp) else ""
            raise ScheduleError(f"no stage of this schedule computes {what}{reason}; its stages are: {names}")
        return stage

    def _find(self, key: object) -> Stage | None:
        match key:
            case Tensor():
                return self._stage_of.get(key)
            case PlaceholderOp() | ComputeOp() | ExternOp() | ScanOp() | HybridOp():
                return self._stage_of.get(key.outputs[0])
            case _:
                return None

    def create_group(
        self,
        outputs: Tensor | Sequence[Tensor],
        inputs: Tensor | Sequence[Tensor],
        include_inputs: bool = False,
    ) -> Group:
        """Return the group of the stages between ``inputs`` and ``outputs``, with the groups of none but such."""
        ends, begins = ([given] if isinstance(given, Tensor) else list(given) for given in (outputs, inputs))
        group = grouped(members_between(self, ends, begins, include_inputs=include_inputs))
        self.groups.append(group)
        return group

    def consumes(self, reader: Stage, producer: Stage) -> bool:
        """Whether ``reader`` reads ``producer``, directly or through other stages."""
        seen = {reader}
        pending = [reader]
        while pending:
            for tensor in pending.pop().op.input_tensors:
                stage = self._stage_of[tensor]
                if stage is producer:
                    return True
                if stage not in seen:
                    seen.add(stage)
                    pending.append(stage)
        return False

    def cache_read(self, tensor: Tensor, scope: str, readers: _Named | Sequence[_Named]) -> Tensor:
        """Let ``readers`` read ``tensor`` through a copy in memory ``scope``; return the copy."""
        producer = self[tensor]
        several = list(readers) if isinstance(readers, tuple | list) else [readers]
        stages = [self[reader] for reader in several]  # type: ignore[index]  # a single reader is in a list by now
        if not stages:
            raise ScheduleError(f"cache_read of {tensor.name!r}: no readers were given")
        for stage in stages:
            if not any(read is tensor for read in stage.op.input_tensors):
                raise ScheduleError(f"cache_read of {tensor.name!r}: stage {stage.name!r} does not read it")
        copy = read_cache(tensor, scope)
        for stage in stages:
            stage.op = cached_reader(stage.compute_op("cache_read"), tensor, copy.outputs[0])
        self._append(Stage(copy, copy, self, scope=scope), self.stages.index(producer) + 1)
        return copy.outputs[0]

    def cache_write(self, tensor: Tensor | Sequence[Tensor], scope: str) -> Tensor | tuple[Tensor, ...]:
        """Compute ``tensor`` (or all outputs of one operation) in memory ``scope`` first, then copy; return the cache.

        The cache takes the loops that the stage has now for its dimensions; the stage starts anew as a plain copy.
        """
        tensors = [tensor] if isinstance(tensor, Tensor) else list(tensor)
        stage = self._common_stage(tensors)
        op = stage.compute_op("cache_write")
        if stage.is_inlined:
            raise ScheduleError(f"stage {stage.name!r}: cache_write: it is inlined, so nothing of it is stored")
        if len(tensors) != op.num_outputs:
            raise ScheduleError(
                f"stage {stage.name!r}: cache_write: expected all {op.num_outputs} outputs, got {len(tensors)}"
            )
        self._check_unattached(stage, "cache_write")
        cache, copy = cached_writer(stage, scope)
        self._append(Stage(cache, cache, self, scope=scope), self.stages.index(stage))
        stage.op = copy
        stage.relations, stage.attrs, stage.leaf_iter_vars = [], {}, list(copy.axis)
        return cache.outputs[0] if isinstance(tensor, Tensor) else cache.outputs

    def _common_stage(self, tensors: list[Tensor]) -> Stage:
        if not tensors:
            raise ScheduleError("cache_write: no tensor was given")
        stage = self[tensors[0]]
        for tensor in tensors[1:]:
            if self[tensor] is not stage:
                raise ScheduleError(
                    f"cache_write: {tensors[0].name!r} and {tensor.name!r} do not come from one operation"
                )
        return stage

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Tensor | tuple[Tensor, ...]:
        """Let loop ``axis`` of a reduction become an axis of partial results, which are reduced in turn.

        Returns the partial results; they have the new axis at ``factor_axis`` of their shape.
        """
        stage = self[tensor]
        if stage.is_inlined:
            raise ScheduleError(f"stage {stage.name!r}: rfactor: it is inlined, so nothing of it is stored")
        made = factored(stage, axis, factor_axis)
        self._check_unattached(stage, "rfactor")
        roles = stage.roles()
        first = next(i for i, leaf in enumerate(stage.leaf_iter_vars) if roles[leaf] is Role.REDUCE)
        stage.op = made.whole
        stage.relations = [r for r in stage.relations if all(roles[child] is Role.DATA for child in children_of(r))]
        stage.leaf_iter_vars[first] = made.axis
        kept = [leaf is made.axis or roles[leaf] is Role.DATA for leaf in stage.leaf_iter_vars]
        stage.leaf_iter_vars = [leaf for leaf, keep in zip(stage.leaf_iter_vars, kept, strict=True) if keep]
        self._append(Stage(made.partial, made.partial, self), self.stages.index(stage))
        return made.partial.outputs if len(made.partial.outputs) > 1 else made.partial.outputs[0]

    def _check_unattached(self, stage: Stage, primitive: str) -> None:
        for other in self.stages:
            if isinstance(other.attach, AttachAt) and other.attach.stage is stage:
                raise ScheduleError(
                    f"stage {stage.name!r}: {primitive}: stage {other.name!r} is computed at its loop "
                    f"{other.attach.axis.name!r}; call {primitive} first"
                )

    def normalize(self) -> Schedule:
        """Return an independent copy: what is done to its stages leaves this schedule as it is."""
        copy = Schedule(())
        copy._outputs = self._outputs
        twins: dict[Stage, Stage] = {}
        for stage in self.stages:
            twins[stage] = replace(
                stage, schedule=copy, relations=list(stage.relations), leaf_iter_vars=list(stage.leaf_iter_vars),
                attrs={axis: replace(said, pragmas=list(said.pragmas)) for axis, said in stage.attrs.items()},
            )  # fmt: skip
            copy._append(twins[stage], len(copy.stages))
        for twin in twins.values():
            twin.attach = _twin_attach(twin.attach, twins)
        return copy


def _twin_attach(attach: Attach, twins: dict[Stage, Stage]) -> Attach:
    return AttachAt(twins[attach.stage], attach.axis) if isinstance(attach, AttachAt) else attach


def dataflow_order(outputs: Sequence[Operation]) -> list[Operation]:
    """Return ``outputs`` and all that they need, depth first in the order in which it is read."""
    order: dict[Operation, None] = {}
    for output in outputs:
        stack: list[tuple[Operation, int]] = [(output, 0)]
        while stack:
            op, position = stack.pop()
            if op in order:
                continue
            if position == len(op.input_tensors):
                order[op] = None
                continue
            stack.append((op, position + 1))
            stack.append((op.input_tensors[position].op, 0))
    return list(order)


def create_schedule(ops: _Named | Sequence[_Named]) -> Schedule:
    """Return the default schedule for one operation or several: every stage at the root, loops in the axes' order."""
    several = list(ops) if isinstance(ops, tuple | list) else [ops]
    if not several:
        raise ScheduleError("create_schedule: no operation was given")
    outputs: list[Operation] = []
    for item in several:
        match item:
            case Tensor():
                outputs.append(item.op)
            case PlaceholderOp() | ComputeOp() | ExternOp() | ScanOp() | HybridOp():
                outputs.append(item)
            case _:
                raise ScheduleError(f"create_schedule: expected an operation, for example C.op, got {item!r}")
    return Schedule(outputs)
