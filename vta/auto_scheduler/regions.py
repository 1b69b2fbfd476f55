"""Which part of every tensor a tile of a result reads, and on which dimensions of the result that part depends.

Tests: tests/vta/auto_scheduler/test_regions.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from vta import te
from vta.arith.bounds import Interval, eval_interval
from vta.arith.linear import detect_linear_equation
from vta.auto_scheduler.products import extent_of
from vta.tir.expr import Add, Expr, IntImm, Max, Min, ProducerLoad, Reduce, Var, same
from vta.tir.traverse import walk
from vta.topi.core.fused import producers_first
from vta.topi.core.sizes import sizes

__all__ = ["Box", "Regions"]

Box = tuple[int, ...]

_ALL = 1 << 31


def _is_neutral(body: Reduce) -> bool:
    """Whether a reduction has no condition, and begins with its neutral element."""
    start = body.init or body.combiner.identity
    return (
        isinstance(body.condition, IntImm)
        and bool(body.condition.value)
        and isinstance(body.combiner.result[0], Add | Max | Min)
        and same(tuple(start), body.combiner.identity)
    )


@dataclass(frozen=True, slots=True)
class _Index:
    """One index of a read: ``steps`` by loop if it is their sum, else only what its bounds say."""

    expr: Expr
    vars: tuple[Var, ...]
    steps: Mapping[Var, int] | None

    @staticmethod
    def of(expr: Expr, loops: tuple[Var, ...]) -> "_Index":
        used = {node for node in walk(expr) if isinstance(node, Var)}
        found = tuple(var for var in loops if var in used)
        linear = detect_linear_equation(expr, found)
        numbers = None if linear is None else [each.value for each in linear[:-1] if isinstance(each, IntImm)]
        if numbers is None or len(numbers) != len(found):
            return _Index(expr, found, None)
        return _Index(expr, found, dict(zip(found, map(abs, numbers), strict=True)))

    def width(self, loops: Mapping[Var, int]) -> int:
        """Return from how many neighbouring places it is, if ``loops`` have so many iterations."""
        if self.steps is not None:
            return 1 + sum(step * (loops[var] - 1) for var, step in self.steps.items())
        ranges = {var: Interval(IntImm(0), IntImm(loops[var] - 1)) for var in self.vars}
        found = eval_interval(self.expr, ranges)
        match found.min, found.max:
            case IntImm(value=low), IntImm(value=high):
                return high - low + 1
            case _:
                return _ALL


@dataclass(frozen=True, slots=True)
class _Read:
    source: te.Tensor
    indices: tuple[_Index, ...]


class Regions:
    """What is read for a part of ``output``, at the beginning of all."""

    def __init__(self, output: te.Tensor) -> None:
        self.output = output
        self._order = producers_first(output)

    @cached_property
    def _reads(self) -> dict[te.Tensor, tuple[_Read, ...]]:
        found: dict[te.Tensor, tuple[_Read, ...]] = {}
        for tensor in self._order:
            op = tensor.op
            if not isinstance(op, te.ComputeOp):
                continue
            loops = tuple(axis.var for axis in (*op.axis, *op.reduce_axis))
            reads = []
            for load in (node for body in op.body for node in walk(body) if isinstance(node, ProducerLoad)):
                assert isinstance(load.producer, te.Tensor)
                reads.append(_Read(load.producer, tuple(_Index.of(index, loops) for index in load.indices)))
            found[tensor] = tuple(reads)
        return found

    def boxes(self, box: Box, sums: Mapping[Var, int] | None = None) -> dict[te.Tensor, Box]:
        """Return how much of each tensor a ``box`` of the output reads: pads are counted.

        Axes that are summed over have all iterations, or those that ``sums`` says. An index that is not the loops' sum,
        or whose bounds are not known, reads all of its dimension.
        """
        found = {self.output: box}
        for tensor in reversed(self._order):
            op = tensor.op
            if tensor not in found or not isinstance(op, te.ComputeOp):
                continue
            loops = {axis.var: size for axis, size in zip(op.axis, found[tensor], strict=True)}
            loops |= {axis.var: extent_of(axis) for axis in op.reduce_axis}
            if sums:
                loops |= {var: size for var, size in sums.items() if var in loops}
            for read in self._reads[tensor]:
                extents = sizes(read.source)
                wide = tuple(
                    min(index.width(loops), extent) for index, extent in zip(read.indices, extents, strict=True)
                )
                old = found.get(read.source, wide)
                found[read.source] = tuple(map(max, old, wide))
        return found

    def apart(self, tensor: te.Tensor) -> te.Tensor | None:
        """Return what ``tensor`` reduces if each number of it is in one window at most, and nothing else is read.

        The reduction begins with its neutral element, and has no condition.
        """
        op = tensor.op
        if not isinstance(op, te.ComputeOp) or not op.reduce_axis or len(self._reads[tensor]) != 1:
            return None
        [body], [read] = op.body, self._reads[tensor]
        if not isinstance(body, Reduce) or not isinstance(body.source[0], ProducerLoad) or not _is_neutral(body):
            return None
        sizes_of = {axis.var: extent_of(axis) for axis in (*op.axis, *op.reduce_axis)}
        once: set[Var] = set()
        for index in read.indices:
            if index.steps is None or once & set(index.steps):
                return None
            reach = 0
            for step, size in sorted((step, sizes_of[var]) for var, step in index.steps.items() if sizes_of[var] > 1):
                if step <= reach:
                    return None
                reach += step * (size - 1)
            once |= set(index.steps)
        return read.source if all(var in once or size == 1 for var, size in sizes_of.items()) else None

    def dimensions(self) -> dict[te.Tensor, frozenset[int]]:
        """Return of each tensor on which of the output's dimensions it depends where it is read."""
        found: dict[te.Tensor, list[frozenset[int]]] = {
            self.output: [frozenset((place,)) for place in range(self.output.ndim)]
        }
        for tensor in reversed(self._order):
            op = tensor.op
            if tensor not in found or not isinstance(op, te.ComputeOp):
                continue
            of = {axis.var: places for axis, places in zip(op.axis, found[tensor], strict=True)}
            for read in self._reads[tensor]:
                new = [frozenset().union(*(of.get(var, frozenset()) for var in index.vars)) for index in read.indices]
                old = found.setdefault(read.source, new)
                found[read.source] = [a | b for a, b in zip(old, new, strict=True)]
        return {tensor: frozenset().union(*places) for tensor, places in found.items()}
