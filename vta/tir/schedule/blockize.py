"""``blockize``: the loops from one inwards, with the block in them, as one step of a block of their own.

Tests: tests/vta/tir/schedule/test_blockize.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vta.arith.block_regions import analyzer_for
from vta.arith.facts import conjuncts
from vta.arith.simplify import Analyzer
from vta.tir.expr import And, Expr, IntImm, IterKind, IterVar, Range, Var, binary, const
from vta.tir.func import PrimFunc
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.tree import fresh_name, loop_of, loops_around, only_blocks_below, replaced
from vta.tir.stmt import Block, For, ForKind, Stmt
from vta.tir.traverse import substitute, uses_var

__all__ = ["blockized"]


def blockized(func: PrimFunc, var: Var, primitive: str = "blockize") -> tuple[PrimFunc, str]:
    """Put loop ``var`` and those in it, with their block, into a new block; return its name.

    The new block has the axes of what is outside. A reduction's start goes with it, in loops of its own.
    """
    loop = loop_of(func, var)
    inner, block = _nest(loop, primitive)
    outer = loops_around(func, loop)
    if primitive == "blockize" and any(inside.kind is ForKind.THREAD_BINDING for inside in inner):
        raise BlockScheduleError(f"{primitive}: a loop in loop {var.name!r} is bound to a thread axis")
    made = _Blockizing(func, block, outer, inner, primitive).done()
    return replaced(func, {id(loop): made}), made.name


def _nest(loop: For, primitive: str) -> tuple[list[For], Block]:
    """Return ``loop`` and the loops in it, each the only thing in the one before, and the block in them."""
    loops: list[For] = [loop]
    while isinstance(loops[-1].body, For):
        loops.append(loops[-1].body)
    block = loops[-1].body
    if not isinstance(block, Block):
        names = ", ".join(repr(inner.name) for inner in only_blocks_below(loop.body)) or "none"
        raise BlockScheduleError(
            f"{primitive}: loop {loop.loop_var.name!r} must hold one block alone; the blocks in it: {names}"
        )
    return loops, block


@dataclass(frozen=True, slots=True)
class _Parts:
    """An axis as ``outer * size + inner``: the outer part's value, the inner one's, and how many values that has."""

    outer: Expr
    inner: Expr
    size: int


@dataclass(frozen=True, slots=True)
class _Blockizing:
    func: PrimFunc
    block: Block
    outer: Sequence[For]
    inner: Sequence[For]
    primitive: str

    def done(self) -> Block:
        """Return the new block."""
        block = self.block
        analyzer = analyzer_for([*self.outer, *self.inner])
        outer_axes: list[IterVar] = []
        outer_values: list[Expr] = []
        inner_axes: list[IterVar] = []
        inner_values: list[Expr] = []
        places: dict[Var, Expr] = {}
        for axis, value in zip(block.iter_vars, block.values, strict=True):
            parts = self._divided(axis, value, analyzer)
            count = self._steps(axis, parts, analyzer)
            dtype = axis.var.dtype
            step = Var(f"{axis.name}_o", dtype)
            outer_axes.append(IterVar(Range(const(0, dtype), count), step, axis.kind))
            outer_values.append(parts.outer)
            places[axis.var] = step
            if parts.size > 1:
                place = Var(f"{axis.name}_i", dtype)
                inner_axes.append(IterVar(Range(const(0, dtype), const(parts.size, dtype)), place, axis.kind))
                inner_values.append(parts.inner)
                places[axis.var] = analyzer.simplify(step * parts.size + place)
        outside, inside = self._conditions(analyzer)
        moved = substitute(replace(block, values=(), iter_vars=(), predicate=const(True, "bool")), places)
        assert isinstance(moved, Block)
        inner_block = replace(
            moved, iter_vars=tuple(inner_axes), values=tuple(inner_values), predicate=inside, init=None
        )
        body: Stmt = inner_block
        for loop in reversed(self.inner):
            body = replace(loop, body=body)
        name = fresh_name(self.func, f"{block.name}_o")
        init = None if block.init is None else self._start(substitute(block.init, places), inner_axes, inner_values)
        return Block(name, tuple(outer_axes), tuple(outer_values), body, init, outside, origin=block.origin)

    def _error(self, reason: str) -> BlockScheduleError:
        return BlockScheduleError(f"{self.primitive}: block {self.block.name!r}: {reason}")

    def _divided(self, axis: IterVar, value: Expr, analyzer: Analyzer) -> _Parts:
        """Return an axis' value in what the inner loops give and what is outside of them."""
        inner_vars = [loop.loop_var for loop in self.inner]
        base = analyzer.simplify(substitute(value, {loop.loop_var: loop.min for loop in self.inner}))
        rest = analyzer.simplify(value - base)
        around = [loop.loop_var for loop in self.outer]
        if uses_var(rest, around):
            raise self._error(
                f"axis {axis.name!r} stands for {value}, which is no sum of a part outside of loop "
                f"{inner_vars[0].name!r} and one inside"
            )
        bounds = analyzer.const_bounds(rest)
        if bounds.lo is None or bounds.hi is None:
            raise self._error(f"axis {axis.name!r}: what the inner loops give, {rest}, has no constant bounds")
        if bounds.lo < 0:
            raise self._error(f"axis {axis.name!r} runs backwards in the inner loops: {rest}")
        size = bounds.hi + 1
        step = analyzer.simplify(base // size)
        if not analyzer.can_prove_equal(step * size, base):
            raise self._error(
                f"axis {axis.name!r} begins at {base}, which is no multiple of the {size} values that the inner loops "
                "give it"
            )
        return _Parts(step, rest, size)

    def _steps(self, axis: IterVar, parts: _Parts, analyzer: Analyzer) -> Expr:
        """Return how many values the outer part has."""
        assert axis.dom is not None
        if not analyzer.can_prove_equal(axis.dom.min, const(0, axis.var.dtype)):
            raise self._error(f"axis {axis.name!r} begins at {axis.dom.min}, not at 0")
        if uses_var(axis.dom.extent, [other.var for other in self.block.iter_vars]):
            raise self._error(f"how far axis {axis.name!r} goes depends on others")
        return analyzer.simplify((axis.dom.extent + (parts.size - 1)) // parts.size)

    def _conditions(self, analyzer: Analyzer) -> tuple[Expr, Expr]:
        """Return the block's condition as one of what is outside and one of the inner loops."""
        inner_vars = [loop.loop_var for loop in self.inner]
        around = [loop.loop_var for loop in self.outer]
        outside, inside = const(True, "bool"), const(True, "bool")
        for part in conjuncts(analyzer.simplify(self.block.predicate)):
            if not uses_var(part, inner_vars):
                outside = binary(And, outside, part)
            elif not uses_var(part, around):
                inside = binary(And, inside, part)
            else:
                raise self._error(
                    f"the condition {part} is about loops inside and outside together; split by a factor that divides"
                )
        return analyzer.simplify(outside), analyzer.simplify(inside)

    def _start(self, init: Stmt, axes: Sequence[IterVar], values: Sequence[Expr]) -> Stmt:
        """Return loops over the outputs around a block that gives them their start."""
        block = self.block
        pairs = [(a, v) for a, v in zip(axes, values, strict=True) if a.kind is IterKind.DATA_PAR]
        reduced = [v for a, v in zip(axes, values, strict=True) if a.kind is not IterKind.DATA_PAR]
        kept = [loop for loop in self.inner if any(uses_var(value, loop.loop_var) for _, value in pairs)]
        for loop in kept:
            if any(uses_var(value, loop.loop_var) for value in reduced):
                raise self._error(
                    f"loop {loop.loop_var.name!r} walks over outputs and reduces; take the start out before "
                    "(decompose_reduction), or fuse them afterwards"
                )
        new_loops: dict[Var, Expr] = {
            loop.loop_var: Var(f"{loop.loop_var.name}_init", loop.loop_var.dtype) for loop in kept
        }
        new_axes: dict[Var, Expr] = {axis.var: Var(f"{axis.name}_init", axis.var.dtype) for axis, _ in pairs}
        inside = [self.inner[i].loop_var for i in range(len(self.inner)) if self.inner[i] not in kept]
        analyzer = analyzer_for(self.inner)
        _, condition = self._conditions(analyzer_for([*self.outer, *self.inner]))
        if not (isinstance(condition, IntImm) and condition.value) and uses_var(condition, inside):
            raise self._error(f"the condition {condition} is about the reduction; take the start out before")
        body: Stmt = Block(
            fresh_name(self.func, f"{block.name}_init"),
            tuple(IterVar(axis.dom, _var(new_axes[axis.var]), axis.kind) for axis, _ in pairs),
            tuple(substitute(value, new_loops) for _, value in pairs),
            substitute(init, new_axes),
            predicate=substitute(analyzer.simplify(condition), new_loops),
            origin=block.origin,
        )
        for loop in reversed(kept):
            body = For(_var(new_loops[loop.loop_var]), loop.min, substitute(loop.extent, new_loops), body)
        return body


def _var(expr: Expr) -> Var:
    assert isinstance(expr, Var)
    return expr
