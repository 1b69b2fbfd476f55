"""Primitives that change where elements lie: ``transform_layout``, ``reindex``.

Tests: tests/vta/tir/schedule/test_layouts.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from vta.arith.bounds import Interval, eval_interval
from vta.arith.iter_map import IterMapLevel, detect_iter_map
from vta.arith.simplify import Analyzer
from vta.tir.blocks import Access, block_reads, block_writes, blocks_in, is_opaque
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import BufferLoad, Expr, ExprLike, IntImm, IterVar, Let, PointerType, Range, Var, const, same
from vta.tir.func import PrimFunc
from vta.tir.index_map import IndexMap
from vta.tir.schedule.caching import inserted, require_made_before
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.flow import buffer_at, is_reduction, readers, writers
from vta.tir.schedule.tree import block_named, enclosing_block, fresh_name
from vta.tir.stmt import Block, BufferStore, For, LetStmt, Stmt
from vta.tir.traverse import map_expr, map_stmt, substitute, uses_var, walk

__all__ = ["accesses_of", "reindexed", "transformed"]


def accesses_of(block: Block, kind: object, primitive: str) -> list[Access]:
    """Return what a block reads or writes, as ``kind`` says."""
    match kind:
        case "read":
            return block_reads(block)
        case "write":
            return block_writes(block)
        case _:
            raise BlockScheduleError(f"{primitive}: a buffer is one of those that are 'read' or 'write', not {kind!r}")


def transformed(
    func: PrimFunc, name: str, index: int, kind: object, index_map: IndexMap | Callable[..., Sequence[ExprLike]]
) -> tuple[PrimFunc, IndexMap]:
    """Let the elements of a buffer lie where ``index_map`` puts them; every access goes there. Return the map, too."""
    primitive = "transform_layout"
    block = block_named(func, name)
    buffer = buffer_at(block, index, accesses_of(block, kind, primitive), primitive)
    for other in blocks_in(func.body):
        touched = [a.buffer for a in (*block_reads(other), *block_writes(other))]
        if buffer in touched and (other.writes is not None or is_opaque(other.body)):
            raise BlockScheduleError(f"{primitive}: block {other.name!r} gets {buffer.name!r} as memory, in its order")
    if buffer.strides or not (isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0):
        raise BlockScheduleError(f"{primitive}: {buffer.name!r} has strides or an offset of its own")
    mapping = index_map if isinstance(index_map, IndexMap) else IndexMap.from_func(index_map, len(buffer.shape))
    if len(mapping.initial_indices) != len(buffer.shape):
        raise BlockScheduleError(
            f"{primitive}: {buffer.name!r} has {len(buffer.shape)} dimensions, the map takes "
            f"{len(mapping.initial_indices)} indices"
        )
    moved = replace(buffer, shape=_shape(buffer, mapping))

    def redirect(expr: Expr) -> Expr:
        if isinstance(expr, BufferLoad) and expr.buffer is buffer:
            return BufferLoad(moved, tuple(mapping.map_indices(expr.indices)))
        return expr

    def change(stmt: Stmt) -> Stmt:
        match stmt:
            case BufferStore() if stmt.buffer is buffer:
                return replace(stmt, buffer=moved, indices=tuple(mapping.map_indices(stmt.indices)))
            case Block() if buffer in stmt.alloc_buffers:
                return replace(stmt, alloc_buffers=tuple(moved if b is buffer else b for b in stmt.alloc_buffers))
            case _:
                return stmt

    body = map_stmt(func.body, change, lambda expr: map_expr(redirect, expr))
    buffer_map = {param: moved if b is buffer else b for param, b in func.buffer_map.items()}
    return replace(func, body=body, buffer_map=buffer_map), mapping


def _shape(buffer: Buffer, mapping: IndexMap) -> tuple[Expr, ...]:
    """Return the shape after the map, which must be one to one."""
    ranges: dict[Var, Range] = {}
    sizes: dict[Var, Interval] = {}
    for var, size in zip(mapping.initial_indices, buffer.shape, strict=True):
        ranges[var] = Range(const(0, size.dtype), size)
        sizes[var] = Interval.of_range(ranges[var])
    errors = detect_iter_map(mapping.final_indices, ranges, True, IterMapLevel.Bijective).errors
    if errors:
        raise BlockScheduleError(
            f"transform_layout: {', '.join(map(str, mapping.final_indices))} is no one-to-one map of the elements of "
            f"{buffer.name!r}: {errors[0]}"
        )
    analyzer = Analyzer(ranges)
    found = [eval_interval(index, sizes, analyzer) for index in mapping.final_indices]
    assert all(interval.max is not None for interval in found), "a one-to-one map has bounds"
    return tuple(analyzer.simplify(interval.max + 1) for interval in found if interval.max is not None)


def reindexed(func: PrimFunc, name: str, index: int, kind: object) -> tuple[PrimFunc, str]:
    """Let a block access a buffer by its own axes, through a copy; return the name of the block that copies."""
    primitive = "reindex"
    block = block_named(func, name)
    accesses = accesses_of(block, kind, primitive)
    buffer = buffer_at(block, index, accesses, primitive)
    mine = [access for access in accesses if access.buffer is buffer]
    if any(not access.is_element or not same(access.indices, mine[0].indices) for access in mine):
        raise BlockScheduleError(f"{primitive}: block {name!r} accesses {buffer.name!r} at several places")
    if any(uses_var(index, _made_inside(block)) for index in mine[0].indices):
        raise BlockScheduleError(f"{primitive}: block {name!r} accesses {buffer.name!r} in loops of its own")
    writes = kind == "write"
    scope = enclosing_block(func, block)
    if writes and ([w for w in writers(scope, buffer) if w is not block] or readers(scope, buffer)):
        raise BlockScheduleError(f"{primitive}: another block uses {buffer.name!r}, which block {name!r} writes")
    if writes and not is_reduction(block) and any(read.buffer is buffer for read in block_reads(block)):
        raise BlockScheduleError(f"{primitive}: block {name!r} changes {buffer.name!r} in place")
    if not writes:
        require_made_before(func, block, buffer, primitive)
    axes = [axis for axis in block.iter_vars if any(uses_var(i, axis.var) for i in mine[0].indices)]
    for axis in axes:
        if axis.dom is None or not (isinstance(axis.dom.min, IntImm) and axis.dom.min.value == 0):
            raise BlockScheduleError(f"{primitive}: axis {axis.name!r} of block {name!r} does not begin at 0")
        if uses_var(axis.dom.extent, [other.var for other in block.iter_vars]):
            raise BlockScheduleError(f"{primitive}: how far axis {axis.name!r} of {name!r} goes depends on others")
    analyzer = Analyzer({axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None})
    for place, size in zip(mine[0].indices, buffer.shape, strict=True):
        if not (analyzer.can_prove(place >= 0) and analyzer.can_prove(place < size)):
            raise BlockScheduleError(
                f"{primitive}: block {name!r} accesses {buffer.name!r} at {place}, which its axes alone do not keep "
                f"within the {size} elements"
            )
    shape = tuple(axis.dom.extent for axis in axes if axis.dom is not None)
    called = f"{buffer.name}_reindex"
    data = Var(called, HANDLE, PointerType(buffer.dtype))
    copy = Buffer(called, data, buffer.dtype, shape or (const(1),))
    at = tuple(axis.var for axis in axes) or (const(0),)
    new = _accessing(block, buffer, copy, at)
    copy_name = fresh_name(func, called)
    nest = _copy_nest(copy_name, axes, mine[0].indices, buffer, copy, writes=writes)
    return inserted(func, block, new, nest, copy, before=not writes), copy_name


def _made_inside(block: Block) -> set[Var]:
    """Return the variables that get their values in the body of a block."""
    found: set[Var] = set()
    for node in walk(block.body):
        match node:
            case For(loop_var=var) | LetStmt(var=var) | Let(var=var):
                found.add(var)
            case Block():
                found.update(axis.var for axis in node.iter_vars)
            case _:
                continue
    return found


def _accessing(block: Block, buffer: Buffer, copy: Buffer, at: tuple[Expr, ...]) -> Block:
    def redirect(expr: Expr) -> Expr:
        return BufferLoad(copy, at) if isinstance(expr, BufferLoad) and expr.buffer is buffer else expr

    def change(stmt: Stmt) -> Stmt:
        match stmt:
            case BufferStore() if stmt.buffer is buffer:
                return replace(stmt, buffer=copy, indices=at)
            case _:
                return stmt

    changed = map_stmt(block, change, lambda expr: map_expr(redirect, expr))
    assert isinstance(changed, Block)
    return changed


def _copy_nest(
    name: str, axes: Sequence[IterVar], indices: Sequence[Expr], buffer: Buffer, copy: Buffer, *, writes: bool
) -> Stmt:
    """Return loops over ``axes`` around a block that copies between ``buffer[indices]`` and ``copy[axes]``."""
    own = [Var(f"v{i}", axis.var.dtype) for i, axis in enumerate(axes)]
    loops = [Var(f"ax{i}", axis.var.dtype) for i, axis in enumerate(axes)]
    names: dict[Var, Expr] = {axis.var: var for axis, var in zip(axes, own, strict=True)}
    there = tuple(substitute(index, names) for index in indices)
    here = tuple(own) or (const(0),)
    store = BufferStore(buffer, copy.load(*here), there) if writes else BufferStore(copy, buffer.load(*there), here)
    block_axes = tuple(IterVar(axis.dom, var) for axis, var in zip(axes, own, strict=True))
    body: Stmt = Block(name, block_axes, tuple(loops), store)
    for var, axis in zip(reversed(loops), reversed(axes), strict=True):
        assert axis.dom is not None
        body = For(var, const(0, var.dtype), axis.dom.extent, body)
    return body
