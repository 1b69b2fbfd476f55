"""Refuse programs that touch elements outside of their buffers: ``tir.analysis.OOBChecker``.

Looks at one element after the other, where bounds show that it lies outside for every iteration, or for some of a
constant range. What is not known passes. Tests: tests/vta/passes/optional/test_oob_checker.py.
"""

from __future__ import annotations

from isa.errors import VTAError
from vta.arith.simplify import Analyzer
from vta.tir.expr import BufferLoad, IntImm, Range
from vta.tir.func import PrimFunc
from vta.tir.stmt import Block, BufferStore, For, IfThenElse
from vta.tir.traverse import TirNode, children

__all__ = ["OutOfBoundsError", "check_bounds"]


class OutOfBoundsError(VTAError, ValueError):
    """An element that a buffer does not have."""


def check_bounds(func: PrimFunc) -> None:
    """Raise ``OutOfBoundsError`` for an access that bounds show to be outside; those under conditions are let pass."""
    analyzer = Analyzer()
    stack: list[tuple[TirNode, bool]] = [(func.body, True)]
    while stack:
        node, always = stack.pop()
        match node:
            case For():
                analyzer.bind(node.loop_var, Range(node.min, node.extent))
            case Block():
                for axis, value in zip(node.iter_vars, node.values, strict=True):
                    analyzer.bind(axis.var, analyzer.const_bounds(value) if axis.dom is None else axis.dom)
                always = always and isinstance(node.predicate, IntImm)
            case IfThenElse():
                always = False
            case BufferLoad() | BufferStore() if always:
                _check(func, node, analyzer)
            case _:
                pass
        stack.extend((child, always) for child in children(node))


def _check(func: PrimFunc, access: BufferLoad | BufferStore, analyzer: Analyzer) -> None:
    for dim, (index, size) in enumerate(zip(access.indices, access.buffer.shape, strict=True)):
        if index.dtype.lanes > 1:
            continue
        bounds = analyzer.const_bounds(index)
        below = bounds.lo is not None and bounds.lo < 0
        above = isinstance(size, IntImm) and bounds.hi is not None and bounds.hi >= size.value
        if below or above or analyzer.can_prove(index >= size):
            raise OutOfBoundsError(
                f"function {func.name!r}: buffer {access.buffer.name!r} has {size} elements in dimension {dim}, and "
                f"index {index} is {bounds.lo} to {bounds.hi}"
            )
