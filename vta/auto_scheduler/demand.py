"""What a tile of a result takes, found from the definition: which part of every tensor it reads, and what it computes.

Tests: tests/vta/auto_scheduler/test_demand.py.
"""

from collections.abc import Callable
from math import prod

from vta import te
from vta.arith.bounds import Interval, eval_interval
from vta.environment import Environment
from vta.tir.expr import Expr, IntImm, IterVar, ProducerLoad, Var
from vta.tir.traverse import walk
from vta.topi.alu.alu_operator import element_bytes
from vta.topi.alu.alu_schedule import AluStages
from vta.topi.alu.alu_tiles import Demand, Inner, TransferCost, transfer
from vta.topi.core.fused import producers_first
from vta.topi.core.sizes import sizes

__all__ = ["boxes_of", "demand_of"]

Box = tuple[int, ...]


def boxes_of(output: te.Tensor, box: Box) -> dict[te.Tensor, Box]:
    """Return how much of each tensor a ``box`` of ``output`` reads, at the beginning of all: pads are counted.

    An index that is not the loops' sum, or whose bounds are not known, reads all of its dimension.
    """
    found = {output: box}
    for tensor in reversed(producers_first(output)):
        op = tensor.op
        if tensor not in found or not isinstance(op, te.ComputeOp):
            continue
        loops = {axis.var: size for axis, size in zip(op.axis, found[tensor], strict=True)}
        loops |= {axis.var: _extent(axis) for axis in op.reduce_axis}
        ranges = {var: Interval(IntImm(0), IntImm(size - 1)) for var, size in loops.items()}
        for load in (node for body in op.body for node in walk(body) if isinstance(node, ProducerLoad)):
            source = load.producer
            assert isinstance(source, te.Tensor)
            read = tuple(
                min(_width(index, ranges), extent) for index, extent in zip(load.indices, sizes(source), strict=True)
            )
            old = found.get(source, read)
            found[source] = tuple(max(pair) for pair in zip(old, read, strict=True))
    return found


def _extent(axis: IterVar) -> int:
    assert axis.dom is not None
    assert isinstance(axis.dom.extent, IntImm)
    return axis.dom.extent.value


def _width(index: Expr, ranges: dict[Var, Interval]) -> int:
    found = eval_interval(index, ranges)
    match found.min, found.max:
        case IntImm(value=low), IntImm(value=high):
            return high - low + 1
        case _:
            return 1 << 31


def demand_of(output: te.Tensor, stages: AluStages, env: Environment) -> Callable[[Inner], Demand]:
    """Return what says of a tile of the packed ``output`` what it takes, computed in ``stages``."""
    whole = sizes(output)[4:]
    order = producers_first(output)

    def demand(inner: Inner) -> Demand:
        boxes = boxes_of(output, (*inner, *whole))
        load, elements, operations = TransferCost(), 0, 0
        for tensor in order:
            if isinstance(tensor.op, te.PlaceholderOp):
                load += transfer(boxes[tensor][:4], sizes(tensor)[:4], element_bytes(env, str(tensor.dtype)))
        for tensor in (*stages.loads, *stages.direct):
            elements += prod(boxes[tensor][:4])
        for tensor in (*stages.reductions, *stages.elementwise):
            op = tensor.op
            assert isinstance(op, te.ComputeOp)
            count = prod(boxes[tensor][:4])
            elements += count
            operations += count * prod(_extent(axis) for axis in op.reduce_axis)
        return Demand(
            elements=elements,
            load=load,
            operations=operations,
            kernels=len(stages.reductions) + len(stages.elementwise),
            temporaries=1,
        )

    return demand
