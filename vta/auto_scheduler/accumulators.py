"""Which accumulators a tile takes, and how many operations of the ALU it is.

Tests: tests/vta/auto_scheduler/test_accumulators.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from vta import te
from vta.auto_scheduler.products import extent_of
from vta.auto_scheduler.regions import Box
from vta.tir.expr import Add, Builtin, Call, Cast, Expr, IntImm, Max, Min, Mul, ProducerLoad, Reduce, Sub
from vta.tir.traverse import walk

__all__ = ["Taken", "taken"]

_COPY = 2
"""Operations that copy a number: times 0, plus the other one."""

_OPERATIONS = (Add, Sub, Mul, Max, Min)
_SHIFTS = (Builtin.SHIFT_RIGHT, Builtin.SHIFT_LEFT)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a tile takes: ``elements`` of the accumulator, ``operations`` of the ALU in so many ``stages``."""

    elements: int
    operations: int
    stages: int


def taken(
    computed: Sequence[te.Tensor],
    others: frozenset[te.Tensor],
    output: te.Tensor,
    boxes: Mapping[te.Tensor, Box],
    reduced: frozenset[te.Tensor] = frozenset(),
) -> Taken:
    """Return what the tensors ``computed`` take, in this order; ``others`` of them are not the ALU's.

    Those in ``reduced`` are reductions in the place of what they read. A stage writes over an operand that nobody reads
    afterwards, where both have the same places; memory is not used again in any other way.
    """
    last = {source: place for place, tensor in enumerate((*computed, output)) for source in tensor.op.input_tensors}
    elements = operations = stages = 0
    for place, tensor in enumerate(computed):
        count = prod(boxes[tensor][:-2])
        if tensor in others:
            elements += count
            continue
        op = tensor.op
        assert isinstance(op, te.ComputeOp)
        [body] = op.body
        stages += 1
        if isinstance(body, Reduce):
            taps = prod(map(extent_of, op.reduce_axis))
            if tensor in reduced:
                operations += count * (taps - 1)
                continue
            start = body.init or body.combiner.identity
            filled = all(isinstance(value, IntImm) and not value.value for value in start)
            elements += count
            operations += count * (taps * _operations_of_a_tap(body) + (1 if filled else _COPY))
            continue
        in_place = any(last[source] == place and boxes[source] == boxes[tensor] for source in _read_in_place(op, body))
        elements += 0 if in_place else count
        operations += count * (_operations(body) + (0 if in_place else _COPY))
    return Taken(elements, operations, stages)


def _operations_of_a_tap(body: Reduce) -> int:
    """Return the operations with one number of a window: more where something is done to it before."""
    before = _operations(body.source[0])
    return 1 + (before + _COPY if before else 0)


def _read_in_place(op: te.ComputeOp, body: Expr) -> list[te.Tensor]:
    """Return what is read at the place of the result alone."""
    at: dict[te.Tensor, bool] = {}
    for load in (node for node in walk(body) if isinstance(node, ProducerLoad)):
        assert isinstance(load.producer, te.Tensor)
        is_own = len(load.indices) == len(op.axis) and all(
            index is axis.var or (extent_of(axis) == 1 and isinstance(index, IntImm) and index.value == 0)
            for index, axis in zip(load.indices, op.axis, strict=True)
        )
        at[load.producer] = at.get(load.producer, True) and is_own
    return [tensor for tensor, is_own in at.items() if is_own]


def _operations(body: Expr) -> int:
    """Return the operations of an expression, those of its indices left out."""
    match body:
        case ProducerLoad() | IntImm():
            return 0
        case Cast(value=value):
            return _operations(value)
        case Add() | Sub() | Mul() | Max() | Min():
            return 1 + _operations(body.a) + _operations(body.b)
        case Call(op=op, args=args) if op in _SHIFTS:
            return 1 + sum(map(_operations, args))
        case _:
            return 1 + sum(isinstance(node, _OPERATIONS) for node in walk(body))
