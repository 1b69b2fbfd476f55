"""Primitives on reductions: ``decompose_reduction`` and ``rfactor``.

Tests: tests/vta/tir/schedule/test_reductions.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vta.arith.block_regions import analyzer_for, touches
from vta.arith.facts import conjuncts
from vta.tir.blocks import blocks_in, reduce_axes
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import (
    Add,
    And,
    BufferLoad,
    Expr,
    IterKind,
    IterVar,
    Max,
    Min,
    Mul,
    PointerType,
    Range,
    Var,
    binary,
    const,
    same,
)
from vta.tir.func import PrimFunc
from vta.tir.regions import BufferRegion
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.flow import holds, only_output
from vta.tir.schedule.repetition import repeated_over
from vta.tir.schedule.tree import (
    block_named,
    chain_between,
    enclosing_block,
    fresh_name,
    loop_of,
    loops_around,
    path_to,
    replaced,
)
from vta.tir.stmt import Block, BufferStore, For, IfThenElse, Stmt, seq
from vta.tir.traverse import substitute, uses_var

__all__ = ["decomposed", "factored"]

_COMBINERS = (Add, Mul, Min, Max)


def _loops_from(func: PrimFunc, block: Block, var: Var, primitive: str) -> tuple[list[For], list[For]]:
    """Return the loops around ``block`` outside of loop ``var``, and from it on."""
    loop = loop_of(func, var)
    loops = loops_around(func, block)
    places = [i for i, other in enumerate(loops) if other is loop]
    if not places:
        raise BlockScheduleError(f"{primitive}: loop {var.name!r} is not around block {block.name!r}")
    return loops[: places[0]], loops[places[0] :]


def _require_all_inside(block: Block, outside: Sequence[For], inside: Sequence[For]) -> None:
    """Refuse a place for the start that does not come once, before all of the reduction.

    A loop may be a part of the reduction though no axis stands for it: that of one iteration, split without dividing,
    is left in the block's condition alone.
    """
    primitive = "decompose_reduction"
    for axis, value in reduce_axes(block):
        for loop in outside:
            if uses_var(value, loop.loop_var):
                raise BlockScheduleError(
                    f"{primitive}: axis {axis.name!r} is reduced over loop {loop.loop_var.name!r} outside of loop "
                    f"{inside[0].loop_var.name!r}; the start must come before all of the reduction"
                )
    data = [value for axis, value in zip(block.iter_vars, block.values, strict=True) if axis.kind is IterKind.DATA_PAR]
    walking = [loop.loop_var for loop in inside if any(uses_var(value, loop.loop_var) for value in data)]
    others = [loop.loop_var for loop in inside if loop.loop_var not in walking]
    idle = [loop.loop_var for loop in outside if not any(uses_var(value, loop.loop_var) for value in block.values)]
    for condition in conjuncts(block.predicate):
        if uses_var(condition, others) and uses_var(condition, walking):
            raise BlockScheduleError(f"{primitive}: condition {condition} is about outputs and the reduction together")
        for var in idle:
            if uses_var(condition, others) and uses_var(condition, var):
                raise BlockScheduleError(
                    f"{primitive}: condition {condition} is about loop {var.name!r} outside of loop "
                    f"{inside[0].loop_var.name!r}, and about the reduction; the start must come before all of it"
                )
    again = repeated_over(block, outside, inside)
    if again is not None:
        raise BlockScheduleError(
            f"{primitive}: loop {again.loop_var.name!r} may run block {block.name!r}, start and all, again for the "
            "same axes; take the start out inside of it"
        )


def _require_nothing_between(block: Block, top: For) -> None:
    """Refuse a start before loop ``top`` that a condition in it may skip, or that something sees too early."""
    primitive = "decompose_reduction"
    conditions = [node for node in path_to(top, block) if isinstance(node, IfThenElse)]
    if conditions:
        raise BlockScheduleError(
            f"{primitive}: block {block.name!r} runs only if {conditions[0].condition}, which is asked in loop "
            f"{top.loop_var.name!r}; make it the block's own condition"
        )
    buffer = only_output(block, primitive)
    for touch in touches(top, buffer):
        if touch.block is not None and holds(block, touch.block):
            return
        name = "a statement" if touch.block is None else f"block {touch.block.name!r}"
        raise BlockScheduleError(
            f"{primitive}: {name} uses {buffer.name!r} in loop {top.loop_var.name!r} before block {block.name!r} does"
        )


def decomposed(func: PrimFunc, name: str, var: Var) -> tuple[PrimFunc, str]:
    """Let a block of its own before loop ``var`` give the reduction ``name`` its start; return that block's name."""
    primitive = "decompose_reduction"
    block = block_named(func, name)
    if block.init is None:
        raise BlockScheduleError(
            f"{primitive}: block {name!r} has no start of its own: it is no reduction, or has lost it"
        )
    outside, inside = _loops_from(func, block, var, primitive)
    _require_all_inside(block, outside, inside)
    _require_nothing_between(block, inside[0])
    data = [(a, v) for a, v in zip(block.iter_vars, block.values, strict=True) if a.kind is IterKind.DATA_PAR]
    kept = [loop for loop in inside if any(uses_var(value, loop.loop_var) for _, value in data)]
    for loop in kept:
        for axis, value in reduce_axes(block):
            if uses_var(value, loop.loop_var):
                raise BlockScheduleError(
                    f"{primitive}: loop {loop.loop_var.name!r} walks over outputs and over the reduced axis "
                    f"{axis.name!r}; fuse them after the start was taken out"
                )
    new_vars = {loop.loop_var: Var(f"{loop.loop_var.name}_init", loop.loop_var.dtype) for loop in kept}
    dropped = [loop.loop_var for loop in inside if loop not in kept]
    conditions = [c for c in conjuncts(block.predicate) if not uses_var(c, dropped)]
    predicate: Expr = const(True, "bool")
    for condition in conditions:
        predicate = binary(And, predicate, condition)
    fresh = {axis.var: Var(axis.name, axis.var.dtype) for axis, _ in data}
    init_name = fresh_name(func, f"{name}_init")
    start = Block(
        name=init_name,
        iter_vars=tuple(IterVar(axis.dom, fresh[axis.var], axis.kind) for axis, _ in data),
        values=tuple(substitute(value, new_vars) for _, value in data),
        body=substitute(block.init, fresh),
        predicate=substitute(predicate, new_vars),
        origin=block.origin,
        reads=None if block.writes is None else (),
        writes=None if block.writes is None else _moved(block.writes, fresh),
    )
    nest: Stmt = start
    for loop in reversed(kept):
        nest = For(new_vars[loop.loop_var], loop.min, substitute(loop.extent, new_vars), nest, loop.kind)
    top = inside[0]
    update = replaced(replace(func, body=top), {id(block): replace(block, init=None)}).body
    return replaced(func, {id(top): seq([nest, update])}), init_name


def _moved(regions: tuple[BufferRegion, ...], names: Mapping[Var, Expr]) -> tuple[BufferRegion, ...]:
    """Return regions in terms of other axes."""
    return tuple(
        replace(r, region=tuple(Range(substitute(d.min, names), substitute(d.extent, names)) for d in r.region))
        for r in regions
    )


@dataclass(frozen=True, slots=True)
class _Reduction:
    """``store`` puts ``kind`` of the old value and ``source`` at the place where ``start`` was put."""

    store: BufferStore
    kind: type[Add | Mul | Min | Max]
    source: Expr
    start: Expr


def _reduction(block: Block, primitive: str) -> _Reduction:
    store, init = block.body, block.init
    if isinstance(store, BufferStore) and isinstance(init, BufferStore) and isinstance(store.value, _COMBINERS):
        value = store.value
        for old, source in ((value.a, value.b), (value.b, value.a)):
            mine = isinstance(old, BufferLoad) and old.buffer is store.buffer and same(old.indices, store.indices)
            if mine:
                return _Reduction(store, type(value), source, init.value)
    raise BlockScheduleError(
        f"{primitive}: block {block.name!r} is no sum, product, minimum or maximum of one value: expected an update "
        "C[i] = C[i] + x with a start"
    )


def factored(func: PrimFunc, var: Var, factor_axis: int) -> tuple[PrimFunc, str]:
    """Let loop ``var`` of a reduction be an axis of partial results; return the name of the block that makes them.

    The reduction itself then combines these. ``factor_axis`` is where the new axis stands in the partial results'
    shape; negative counts from the end.
    """
    primitive = "rfactor"
    loop = loop_of(func, var)
    below = list(blocks_in(loop))
    if len(below) != 1:
        raise BlockScheduleError(f"{primitive}: loop {var.name!r} has {len(below)} blocks in it, not one")
    block = below[0]
    reduction = _reduction(block, primitive)
    loops = loops_around(func, block)
    if chain_between(loops[0], loops[-1]) is None or loops[-1].body is not block:
        raise BlockScheduleError(f"{primitive}: the loops of block {block.name!r} hold other things, too")
    rank = len(reduction.store.indices)
    place = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
    if not 0 <= place <= rank:
        raise BlockScheduleError(f"{primitive}: factor_axis is {-rank - 1} to {rank}, not {factor_axis}")
    _require_reduction_loop(block, loop, loops, primitive)
    return _Factoring(func, block, loop, loops, reduction, place).done()


def _require_reduction_loop(block: Block, loop: For, loops: Sequence[For], primitive: str) -> None:
    pairs = list(zip(block.iter_vars, block.values, strict=True))
    if not any(uses_var(value, loop.loop_var) for _, value in reduce_axes(block)):
        raise BlockScheduleError(f"{primitive}: block {block.name!r} does not reduce over loop {loop.loop_var.name!r}")
    for other in loops:
        data = any(axis.kind is IterKind.DATA_PAR and uses_var(value, other.loop_var) for axis, value in pairs)
        if data and any(uses_var(value, other.loop_var) for _, value in reduce_axes(block)):
            raise BlockScheduleError(
                f"{primitive}: loop {other.loop_var.name!r} walks over outputs and over the reduction; fuse them "
                "afterwards"
            )
    others = [axis.var for axis in block.iter_vars] + [other.loop_var for other in loops if other is not loop]
    if uses_var(loop.extent, others):
        raise BlockScheduleError(f"{primitive}: how often loop {loop.loop_var.name!r} runs depends on others")


@dataclass(frozen=True, slots=True)
class _Factoring:
    func: PrimFunc
    block: Block
    loop: For
    loops: list[For]
    reduction: _Reduction
    place: int

    def done(self) -> tuple[PrimFunc, str]:
        """Return the function with both blocks, and the first one's name."""
        partial_name = fresh_name(self.func, f"{self.block.name}_rf")
        buffer = self._partial_buffer()
        func, block, loops = self.func, self.block, self.loops
        outer = enclosing_block(func, block)
        nest: Stmt = self._partial_block(partial_name, buffer)
        for loop in reversed(loops):
            nest = replace(loop, body=nest)
        both = seq([nest, self._whole_nest(buffer)])
        func = replaced(func, {id(loops[0]): both})
        outer = block_named(func, outer.name)
        bigger = replace(outer, alloc_buffers=(*outer.alloc_buffers, buffer))
        return replaced(func, {id(outer): bigger}), partial_name

    def _partial_buffer(self) -> Buffer:
        old = self.reduction.store.buffer
        shape = [*old.shape]
        shape.insert(self.place, self.loop.extent)
        name = f"{old.name}_rf"
        return Buffer(name, Var(name, HANDLE, PointerType(old.dtype)), old.dtype, tuple(shape))

    def _placed(self, indices: tuple[Expr, ...], new: Expr) -> tuple[Expr, ...]:
        result = [*indices]
        result.insert(self.place, new)
        return tuple(result)

    def _partial_block(self, name: str, buffer: Buffer) -> Block:
        block, loop = self.block, self.loop
        axes: list[IterVar] = []
        values: list[Expr] = []
        inside: dict[Var, Expr] = {}
        for axis, value in zip(block.iter_vars, block.values, strict=True):
            if axis.kind is IterKind.DATA_PAR:
                axes.append(IterVar(axis.dom, Var(axis.name, axis.var.dtype), axis.kind))
                values.append(value)
                inside[axis.var] = axes[-1].var
        of_loop: dict[Var, Expr] = {}
        for other in self.loops:
            if any(uses_var(value, other.loop_var) for _, value in reduce_axes(block)):
                kind = IterKind.DATA_PAR if other is loop else IterKind.COMM_REDUCE
                axes.append(IterVar(Range(other.min, other.extent), Var(f"v{other.loop_var.name}"), kind))
                values.append(other.loop_var)
                of_loop[other.loop_var] = axes[-1].var
        inside.update({axis.var: substitute(value, of_loop) for axis, value in reduce_axes(block)})
        self._require_start(axes, values)
        factor = of_loop[loop.loop_var]
        indices = self._placed(tuple(substitute(i, inside) for i in self.reduction.store.indices), factor)
        old = BufferLoad(buffer, indices)
        update = binary(self.reduction.kind, old, substitute(self.reduction.source, inside))
        start = BufferStore(buffer, self.reduction.start, indices)
        has_more = any(axis.kind is IterKind.COMM_REDUCE for axis in axes)
        body = BufferStore(buffer, update, indices, self.reduction.store.origin)
        if not has_more:
            body = BufferStore(buffer, substitute(self.reduction.source, inside), indices, self.reduction.store.origin)
        return Block(
            name, tuple(axes), tuple(values), body, start if has_more else None, block.predicate, (), block.origin
        )

    def _require_start(self, axes: list[IterVar], values: list[Expr]) -> None:
        """Refuse partial results of which one gets nothing: the condition must hold where the reduction begins."""
        first = {
            value: axis.dom.min
            for axis, value in zip(axes, values, strict=True)
            if axis.kind is IterKind.COMM_REDUCE and axis.dom is not None and isinstance(value, Var)
        }
        if not analyzer_for(self.loops).can_prove(substitute(self.block.predicate, first)):
            raise BlockScheduleError(
                f"rfactor: loop {self.loop.loop_var.name!r} has iterations in which block {self.block.name!r} adds "
                "nothing; split it so that each has some"
            )

    def _whole_nest(self, buffer: Buffer) -> Stmt:
        block, reduction = self.block, self.reduction
        axes = [axis for axis in block.iter_vars if axis.kind is IterKind.DATA_PAR]
        dtype = self.loop.loop_var.dtype
        factor = IterVar(Range(const(0, dtype), self.loop.extent), Var("vf", dtype), IterKind.COMM_REDUCE)
        indices = reduction.store.indices
        partial = BufferLoad(buffer, self._placed(indices, factor.var))
        update = binary(reduction.kind, BufferLoad(reduction.store.buffer, indices), partial)
        loops = [Var(f"ax{i}", axis.var.dtype) for i, axis in enumerate([*axes, factor])]
        store = BufferStore(reduction.store.buffer, update, indices, reduction.store.origin)
        body: Stmt = Block(block.name, (*axes, factor), tuple(loops), store, block.init, origin=block.origin)
        for var, axis in zip(reversed(loops), reversed([*axes, factor]), strict=True):
            assert axis.dom is not None
            body = For(var, axis.dom.min, axis.dom.extent, body)
        return body
