"""Primitives that make two blocks one: ``compute_inline`` and ``reverse_compute_inline``.

Tests: tests/vta/tir/schedule/test_inlining.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vta.arith.block_regions import analyzer_for
from vta.tir.blocks import as_element, block_reads
from vta.tir.buffer import Buffer
from vta.tir.expr import And, BufferLoad, Expr, IterVar, binary
from vta.tir.func import PrimFunc
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.flow import (
    is_reduction,
    only_output,
    plain_axes,
    readers,
    require_elements,
    require_no_later_writer,
    require_no_pads,
    require_temporary,
    writers,
)
from vta.tir.schedule.tree import block_named, enclosing_block, loops_around, replaced, without_statement
from vta.tir.stmt import Block, BufferStore, Stmt
from vta.tir.traverse import map_expr, map_stmt, substitute

__all__ = ["inlined", "reverse_inlined", "without_buffer"]


def _single_store(block: Block, primitive: str) -> BufferStore:
    if not isinstance(block.body, BufferStore) or is_reduction(block):
        raise BlockScheduleError(
            f"{primitive}: block {block.name!r} is no single assignment of independent elements; a reduction or a "
            "sequence stays a block of its own"
        )
    return block.body


def without_buffer(func: PrimFunc, buffer: Buffer) -> PrimFunc:
    """Return ``func`` without the allocation of a buffer that nobody uses any more."""

    def drop(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Block) and buffer in stmt.alloc_buffers:
            return replace(stmt, alloc_buffers=tuple(b for b in stmt.alloc_buffers if b is not buffer))
        return stmt

    return replace(func, body=map_stmt(func.body, drop))


def inlined(func: PrimFunc, name: str) -> PrimFunc:
    """Put the expression of block ``name`` wherever its output is read."""
    block = block_named(func, name)
    store = _single_store(block, "compute_inline")
    buffer = only_output(block, "compute_inline")
    scope = enclosing_block(func, block)
    require_temporary(func, block, buffer, "compute_inline")
    require_no_later_writer(scope, block, "compute_inline")
    axes = plain_axes(block, as_element(store))
    if axes is None:
        raise BlockScheduleError(
            f"compute_inline: block {name!r} stores at {', '.join(map(str, store.indices))}; expected one axis for "
            "each index, each once"
        )
    if not readers(scope, buffer):
        raise BlockScheduleError(f"compute_inline: no block reads {buffer.name!r}")
    for reader in readers(scope, buffer):
        require_elements(reader, buffer, "compute_inline")
    func = without_statement(func, block)

    def redirect(expr: Expr) -> Expr:
        if not isinstance(expr, BufferLoad) or expr.buffer is not buffer:
            return expr
        return substitute(store.value, {axis.var: index for axis, index in zip(axes, expr.indices, strict=True)})

    body = map_stmt(func.body, None, lambda expr: map_expr(redirect, expr))
    return without_buffer(replace(func, body=body), buffer)


def reverse_inlined(func: PrimFunc, name: str) -> PrimFunc:
    """Let the producer of block ``name`` compute what the block makes of it."""
    primitive = "reverse_compute_inline"
    block = block_named(func, name)
    store = _single_store(block, primitive)
    scope = enclosing_block(func, block)
    loads = [load for load in block_reads(block) if writers(scope, load.buffer)]
    if len({load.buffer for load in loads}) != 1:
        raise BlockScheduleError(f"{primitive}: block {name!r} reads {len({x.buffer for x in loads})} results, not one")
    buffer = loads[0].buffer
    producers = writers(scope, buffer)
    require_temporary(func, producers[0], buffer, primitive)
    produced = _single_store(producers[0], primitive)
    others = [reader.name for reader in readers(scope, buffer) if reader is not block]
    if others:
        raise BlockScheduleError(f"{primitive}: block {others[0]!r} reads {buffer.name!r}, too")
    axes = plain_axes(block, loads[0])
    same_place = all(plain_axes(block, load) == axes for load in loads)
    if axes is None or not same_place or len(axes) != len(block.iter_vars):
        raise BlockScheduleError(
            f"{primitive}: block {name!r} must read {buffer.name!r} at one place, at all its axes, each once"
        )
    require_no_pads(block, axes, buffer, primitive)
    values = {axis.var: index for axis, index in zip(axes, produced.indices, strict=True)}

    def redirect(expr: Expr) -> Expr:
        return produced.value if isinstance(expr, BufferLoad) and expr.buffer is buffer else expr

    value = map_expr(redirect, substitute(store.value, values))
    indices = tuple(substitute(index, values) for index in store.indices)
    predicate = _within(func, producers[0], [(axis, values[axis.var]) for axis in axes])
    new = replace(producers[0], body=BufferStore(store.buffer, value, indices, produced.origin), predicate=predicate)
    func = without_statement(func, block)
    return without_buffer(replaced(func, {id(producers[0]): new}), buffer)


def _within(func: PrimFunc, producer: Block, places: Sequence[tuple[IterVar, Expr]]) -> Expr:
    """Return the condition of ``producer``, and that what it stands at is in the domains of the consumer's axes."""
    analyzer = analyzer_for(loops_around(func, producer))
    of_loops = {axis.var: value for axis, value in zip(producer.iter_vars, producer.values, strict=True)}
    predicate = producer.predicate
    for axis, index in places:
        assert axis.dom is not None
        value = substitute(index, of_loops)
        for condition in (value >= axis.dom.min, value < axis.dom.min + axis.dom.extent):
            if not analyzer.can_prove(condition):
                predicate = binary(And, predicate, condition)
    return analyzer.simplify(predicate)
