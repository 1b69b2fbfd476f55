"""Lowering: a schedule becomes a function of loops, stores and allocations.

For ``B = compute((10,), lambda i: A[i] + 1)``, split by 4::

    realize(B, [0:10]) {
      for (i.outer, 0, 3) {
        for (i.inner, 0, 4) {
          if (likely(((i.inner + (i.outer*4)) < 10))) {
            B[(i.inner + (i.outer*4))] = (A[(i.inner + (i.outer*4))] + 1)

Tests: tests/vta/te/test_lower.py, test_lower_random.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from isa.errors import VTAError
from vta.te.extern import ExternOp
from vta.te.hybrid_op import HybridOp
from vta.te.iteration import Loop
from vta.te.lowering.body import StageBody
from vta.te.lowering.infer_bound import Bounds, Placed, infer_bounds
from vta.te.lowering.nest import wrap_loop
from vta.te.lowering.own_loops import scheduled_body
from vta.te.operation import ComputeOp, PlaceholderOp
from vta.te.relations import Role
from vta.te.scans.scan_op import ScanOp
from vta.te.schedule import Schedule
from vta.te.stage import ScheduleError, Stage
from vta.te.tensor import Tensor
from vta.te.tensorize.replace import tensorized
from vta.tir.buffer import Buffer, is_global
from vta.tir.deep import deep
from vta.tir.dtype import HANDLE
from vta.tir.expr import Builtin, Call, IntImm, IterVar, PointerType, Range, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrKey, AttrStmt, BufferRealize, Evaluate, Stmt, seq
from vta.tir.traverse import free_vars

__all__ = ["Argument", "LowerError", "ScheduleOps", "add_parameter", "function_of", "schedule_to_func"]

Argument: TypeAlias = Tensor | Var | Buffer


class LowerError(VTAError, ValueError):
    """A schedule and arguments that do not make a function."""


def schedule_to_func(
    schedule: Schedule, args: Sequence[Argument], name: str, binds: Mapping[Tensor, Buffer] | None = None
) -> PrimFunc:
    """Return the function ``name`` of ``args`` that computes what ``schedule`` says.

    ``args`` are tensors (inputs and outputs), variables, and buffers that ``binds`` gives to tensors. Raises
    ``LowerError`` for unusable arguments, ``ScheduleError`` and ``TensorizeError`` for schedules that cannot be done.
    """
    bounds = infer_bounds(schedule)
    params, buffers = _parameters(args, binds or {})
    _check_outputs(schedule, buffers)
    _share_states(schedule, buffers)
    for stage in schedule.stages:
        _declare(stage, buffers)
    body = _ScheduleLowering(bounds, buffers, _attached(bounds), _parts_of_scans(schedule, bounds)).program()
    return function_of(name, params, body)


def function_of(name: str, params: Mapping[Var, Buffer | None], body: Stmt) -> PrimFunc:
    """Return the function of a schedule's program; raises ``LowerError`` for a variable that nothing defines."""
    _check_variables(body, params, name)
    buffer_map = {var: buffer for var, buffer in params.items() if buffer is not None}
    attrs: dict[str, str | int | bool] = {"from_legacy_te_schedule": True, "global_symbol": name, "tir.noalias": True}
    return PrimFunc(name, tuple(params), body, buffer_map, attrs)


def ScheduleOps(  # noqa: N802  # TVM's name
    schedule: Schedule,
    bounds: Mapping[IterVar, Range] | None = None,  # noqa: ARG001  # inferred anew: a schedule has one set of bounds
    debug_keep_trivial_loop: bool = False,
) -> Stmt:
    """Return the loops of a schedule with a buffer for every tensor, before anything says what the arguments are.

    ``bounds`` may be what ``InferBound`` gave for the same schedule. ``SchedulePostProcToPrimFunc`` makes a function.
    Raises ``LowerError`` for ``debug_keep_trivial_loop``: loops of one iteration are none.
    """
    if debug_keep_trivial_loop:
        raise LowerError("ScheduleOps: loops of one iteration are not kept; leave debug_keep_trivial_loop out")
    placed = infer_bounds(schedule)
    buffers: dict[Tensor, Buffer] = {}
    _share_states(schedule, buffers)
    for stage in schedule.stages:
        if isinstance(stage.op, PlaceholderOp):
            for tensor in stage.op.outputs:
                buffers.setdefault(tensor, _new_buffer(tensor, "global"))
        _declare(stage, buffers)
    return _ScheduleLowering(placed, buffers, _attached(placed), _parts_of_scans(schedule, placed)).program()


def _parameters(
    args: Sequence[Argument], binds: Mapping[Tensor, Buffer]
) -> tuple[dict[Var, Buffer | None], dict[Tensor, Buffer]]:
    """Return the parameters with their buffers, and the buffer of every tensor among the arguments."""
    params: dict[Var, Buffer | None] = {}
    buffers = dict(binds)
    for arg in args:
        match arg:
            case Tensor():
                buffer = buffers.get(arg) or _new_buffer(arg, "global")
                buffers[arg] = buffer
            case Buffer():
                buffer = arg
            case Var():
                add_parameter(params, arg, None)
                continue
            case _:
                raise LowerError(f"arguments are tensors, buffers and variables, not {arg!r}")
        if any(other is buffer for other in params.values()):
            raise LowerError(f"argument {buffer.name!r} is given twice")
        add_parameter(params, Var(buffer.name, HANDLE), buffer)
    return params, buffers


def add_parameter(params: dict[Var, Buffer | None], var: Var, buffer: Buffer | None) -> None:
    """Add a parameter, which raises ``LowerError`` if it is there."""
    if var in params:
        raise LowerError(f"argument {var.name!r} is given twice")
    params[var] = buffer


def _new_buffer(tensor: Tensor, scope: str) -> Buffer:
    memory = scope or "global"
    data = Var(tensor.name, HANDLE, PointerType(tensor.dtype, memory))
    return Buffer(tensor.name, data, tensor.dtype, tensor.shape, scope=memory)


def _check_outputs(schedule: Schedule, buffers: Mapping[Tensor, Buffer]) -> None:
    """Check where the outputs of stages are kept. To an argument whose stage is inlined nothing is stored."""
    for stage in schedule.stages:
        given = [tensor for tensor in stage.op.outputs if tensor in buffers]
        if given and not is_global(stage.scope):
            raise LowerError(f"argument {stage.name!r}: arguments are in DRAM, but its scope is {stage.scope!r}")


def _share_states(schedule: Schedule, buffers: dict[Tensor, Buffer]) -> None:
    """Give init, update and state of a scan the memory of its output."""
    for stage in schedule.stages:
        op = stage.op
        if isinstance(op, ScanOp):
            for own, *others in zip(op.outputs, op.init, op.update, op.state, strict=True):
                memory = buffers.setdefault(own, _new_buffer(own, stage.scope))
                for other in others:
                    if other in buffers:
                        raise LowerError(f"argument {other.name!r}: it is a part of scan {op.name!r}; give that")
                    buffers[other] = memory


def _declare(stage: Stage, buffers: dict[Tensor, Buffer]) -> None:
    """Make buffers for the outputs of ``stage`` that are no arguments."""
    if stage.is_inlined:
        return
    for tensor in stage.op.outputs:
        if tensor in buffers:
            continue
        if isinstance(stage.op, PlaceholderOp):
            raise LowerError(f"tensor {tensor.name!r} is an input of the schedule, but not among the arguments")
        buffers[tensor] = _new_buffer(tensor, stage.scope)


def _check_variables(body: Stmt, params: Mapping[Var, Buffer | None], name: str) -> None:
    known = set(params)
    for buffer in params.values():
        if buffer is not None:
            known.add(buffer.data)
            known.update(v for e in (*buffer.shape, *buffer.strides, buffer.elem_offset) for v in free_vars(e))
    unknown = [var.name for var in free_vars(body) if var not in known]
    if unknown:
        raise LowerError(
            f"function {name!r} uses variables that nothing defines: {', '.join(unknown)}; a reduction axis must be "
            "reduced over where it is used, a size must be among the arguments or in the shape of one"
        )


_Attached: TypeAlias = dict[tuple[Stage, IterVar] | None, list[Placed]]


def _attached(bounds: Bounds) -> _Attached:
    """Return the stages that are computed at each loop, and at the root (None), in the order of their data flow."""
    result: _Attached = {}
    for placed in bounds.placed.values():
        result.setdefault(placed.at, []).append(placed)
    return result


@dataclass(slots=True)
class _ScheduleLowering:
    bounds: Bounds
    buffers: dict[Tensor, Buffer]
    attached: _Attached
    parts: dict[Stage, tuple[Tensor, ...]]
    """The stages of scans, and the tensors whose memory begins to exist with each: all with the first one."""

    def program(self) -> Stmt:
        return self._before(Evaluate(IntImm(0)), self.attached.get(None, []))

    def _before(self, body: Stmt, producers: Sequence[Placed]) -> Stmt:
        """Return ``producers`` and then ``body``, with memory for what they produce."""
        for placed in reversed(producers):
            body = self._realized(placed, seq([self._producer(placed), body]))
        return body

    def _producer(self, placed: Placed) -> Stmt:
        body = self._stage(placed)
        if placed.stage.double_buffered:
            for tensor in placed.op.outputs:
                node = self.buffers[tensor]
                body = AttrStmt(node, AttrKey.DOUBLE_BUFFER, const(1), body, placed.op.origin)
        return body

    def _realized(self, placed: Placed, body: Stmt) -> Stmt:
        origin = placed.op.origin
        if not isinstance(placed.op, ComputeOp) or placed.stage in self.parts:
            for tensor in self.parts.get(placed.stage, placed.op.outputs):
                body = BufferRealize(self.buffers[tensor], _everything(tensor), body, origin=origin)
            return body
        bounds = tuple(placed.iteration.region[axis] for axis in placed.op.axis)
        for tensor in placed.op.outputs:
            body = BufferRealize(self.buffers[tensor], bounds, body, origin=origin)
            for dim, axis in enumerate(placed.op.axis):
                attrs = placed.stage.attrs.get(axis)
                if attrs is not None and attrs.align is not None:
                    value = Call(HANDLE, Builtin.TUPLE, (const(dim), *(const(n) for n in attrs.align)))
                    body = AttrStmt(self.buffers[tensor], AttrKey.STORAGE_ALIGN, value, body, origin)
        return body

    def _loops(self, placed: Placed, loops: Sequence[Loop], body: Stmt) -> Stmt:
        """Return ``body`` in ``loops``, with the stages that are computed in them."""
        for loop in reversed(loops):
            body = self._before(body, self.attached.get((loop.stage, loop.axis), []))
            body = wrap_loop(loop, body, placed.op.origin)
        return body

    @deep
    def _stage(self, placed: Placed) -> Stmt:
        loops = placed.iteration.loops
        if isinstance(placed.op, ExternOp):
            return placed.op.statement(self.buffers)
        if isinstance(placed.op, HybridOp):
            scripted = placed.op.statement(scheduled_body(placed.stage, placed.op), self.buffers)
            return AttrStmt(None, "extern_scope", const(0), scripted, placed.op.origin)
        if isinstance(placed.op, ScanOp):
            return self._loops(placed, loops, Evaluate(IntImm(0)))
        inside = [i for i, loop in enumerate(loops) if _is_tensorized(loop)]
        end = inside[0] if inside else len(loops)
        body = StageBody(placed, self.buffers)
        roles = placed.stage.roles()
        common = next((i for i, loop in enumerate(loops[:end]) if Role.REDUCE in roles[loop.axis]), end)
        origin = placed.op.origin
        if inside:
            self._check_inside(placed, loops[end:])
            parts = tensorized(body, end, common, self.bounds.analyzer)
        else:
            parts = body.statements(self.bounds.analyzer, common)
        update = self._loops(placed, loops[common:end], parts.update)
        if parts.init is None:
            return self._loops(placed, loops[:common], update)
        init = parts.init
        for loop in reversed(parts.init_loops):
            init = wrap_loop(loop, init, origin)
        return self._loops(placed, loops[:common], seq([init, update]))

    def _check_inside(self, placed: Placed, loops: Sequence[Loop]) -> None:
        """Check that nothing was said about ``loops`` but the intrinsic that replaces them, the first loop's."""
        for i, loop in enumerate(loops):
            attrs = loop.stage.attrs.get(loop.axis)
            if attrs is not None and (attrs.pragmas or (i > 0 and attrs.said)):
                raise ScheduleError(
                    f"stage {placed.stage.name!r}: axis {loop.axis.name!r} carries {attrs.said}, but is inside of the "
                    f"tensorised axis {loops[0].axis.name!r}, where there are no loops any more"
                )
            for other in self.attached.get((loop.stage, loop.axis), []):
                raise ScheduleError(
                    f"stage {other.stage.name!r}: it is to be computed at axis {loop.axis.name!r} of stage "
                    f"{placed.stage.name!r}, but that is inside of the tensorised axis {loops[0].axis.name!r}; "
                    "compute it further out"
                )


def _everything(tensor: Tensor) -> tuple[Range, ...]:
    return tuple(Range(const(0), size) for size in tensor.shape)


def _parts_of_scans(schedule: Schedule, bounds: Bounds) -> dict[Stage, tuple[Tensor, ...]]:
    result: dict[Stage, tuple[Tensor, ...]] = {}
    for stage in schedule.stages:
        if isinstance(stage.op, ScanOp):
            inits = [schedule[t] for t in stage.op.init]
            result.update(dict.fromkeys([schedule[t] for t in stage.op.update], ()))
            result[stage] = ()
            first = next(placed for placed in bounds.placed if any(placed is own for own in inits))
            result.update(dict.fromkeys(inits, ()))
            result[first] = stage.op.outputs
    return result


def _is_tensorized(loop: Loop) -> bool:
    attrs = loop.stage.attrs.get(loop.axis)
    return attrs is not None and attrs.intrinsic is not None
