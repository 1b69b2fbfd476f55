"""Whether the iterations of a loop keep out of each other's way, so that they may run side by side.

Every access to a buffer that the loop stores to must have an index ``base + stride*i + rest``, where ``base`` and
``stride`` are the same for all of them and ``rest`` lies between 0 and ``stride - 1``, apart from multiples of
``stride * lanes``. Then the address tells the iteration that uses it, whatever the loops inside do.
Tests: tests/vta/passes/host/test_vectorize_loop.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vta.arith.const_interval import ConstInterval
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.expr import BufferLoad, Expr, IntImm, Let, Range, Var
from vta.tir.stmt import BufferStore, For, LetStmt
from vta.tir.traverse import uses_var, walk

__all__ = ["lanes_are_private"]


def lanes_are_private(loop: For, lanes: int, analyzer: Analyzer) -> bool:
    """Whether no iteration of ``loop`` touches what another one of ``lanes`` consecutive ones stores.

    ``analyzer`` knows the variables around, and learns the loops inside. Buffers with different data do not overlap.
    """
    ranges: dict[Var, ConstInterval] = {}
    lets: set[Var] = set()
    accesses: dict[Var, list[tuple[Expr, ...]]] = {}
    stored: set[Var] = set()
    for node in walk(loop.body):
        match node:
            case For():
                analyzer.bind(node.loop_var, Range(node.min, node.extent))
                ranges[node.loop_var] = analyzer.const_bounds(node.loop_var)
            case LetStmt() | Let():
                lets.add(node.var)
            case BufferStore() | BufferLoad():
                accesses.setdefault(node.buffer.data, []).append(node.indices)
                if isinstance(node, BufferStore):
                    stored.add(node.buffer.data)
            case _:
                continue
    check = _LaneCheck(loop.loop_var, lanes, ranges, lets, analyzer)
    return all(check.is_private(accesses[data]) for data in stored)


@dataclass(frozen=True, slots=True)
class _Form:
    base: Expr
    stride: int


@dataclass(frozen=True, slots=True)
class _LaneCheck:
    var: Var
    lanes: int
    ranges: Mapping[Var, ConstInterval]
    lets: set[Var]
    analyzer: Analyzer

    def is_private(self, accesses: list[tuple[Expr, ...]]) -> bool:
        """Whether all of these indices of one buffer belong to one iteration each, the same for equal indices."""
        forms = [self._form(indices) for indices in accesses]
        first = forms[0]
        return first is not None and all(
            form is not None and form.stride == first.stride and self.analyzer.can_prove_equal(form.base, first.base)
            for form in forms
        )

    def _form(self, indices: tuple[Expr, ...]) -> _Form | None:
        if len(indices) != 1 or uses_var(indices[0], self.lets):
            return None
        if any(isinstance(node, BufferLoad | Let) for node in walk(indices[0])):
            return None
        form = detect_linear_equation(indices[0], [self.var, *self.ranges], self.analyzer)
        if form is None:
            return None
        stride, *factors, base = form
        if not isinstance(stride, IntImm) or stride.value <= 0:
            return None
        return _Form(base, stride.value) if self._stays_in(stride.value, factors) else None

    def _stays_in(self, stride: int, factors: list[Expr]) -> bool:
        """Whether the loops inside add less than ``stride``, apart from multiples of ``stride * lanes``."""
        low, high = 0, 0
        for c, bounds in zip(factors, self.ranges.values(), strict=True):
            if not isinstance(c, IntImm):
                return False
            if c.value % (stride * self.lanes) == 0:
                continue
            if bounds.lo is None or bounds.hi is None:
                return False
            ends = (c.value * bounds.lo, c.value * bounds.hi)
            low, high = low + min(ends), high + max(ends)
        return low >= 0 and high < stride
