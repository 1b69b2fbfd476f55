"""Primitives that put a copy between blocks: ``cache_read`` and ``cache_write``; and ``set_scope``.

Tests: tests/vta/tir/schedule/test_caching.py.
"""

from __future__ import annotations

from dataclasses import replace

from vta.tir.blocks import block_reads, block_writes, blocks_in
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import BufferLoad, Expr, IterVar, PointerType, Range, Var, const
from vta.tir.func import PrimFunc
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.flow import buffer_at, holds, is_reduction, readers, writers
from vta.tir.schedule.tree import block_named, enclosing_block, fresh_name, loops_around, replaced
from vta.tir.stmt import Block, BufferStore, For, SeqStmt, Stmt, seq
from vta.tir.traverse import map_expr, map_stmt, substitute

__all__ = ["cache_read", "cache_write", "copy_nest", "inserted", "require_made_before", "with_scope"]


def _copy_of(buffer: Buffer, scope: str) -> Buffer:
    memory = scope or "global"
    name = f"{buffer.name}_{memory.replace('.', '_')}"
    return Buffer(name, Var(name, HANDLE, PointerType(buffer.dtype, memory)), buffer.dtype, buffer.shape, scope=memory)


def copy_nest(name: str, source: Buffer, target: Buffer) -> Stmt:
    """Return the loops and the block that copy a buffer, element by element."""
    loops = [Var(f"ax{i}", extent.dtype) for i, extent in enumerate(source.shape)]
    axes = tuple(
        IterVar(Range(const(0, extent.dtype), extent), Var(f"v{i}", extent.dtype))
        for i, extent in enumerate(source.shape)
    )
    indices = [axis.var for axis in axes]
    body: Stmt = Block(name, axes, tuple(loops), BufferStore(target, source.load(*indices), tuple(indices)))
    for var, extent in zip(reversed(loops), reversed(source.shape), strict=True):
        body = For(var, const(0, extent.dtype), extent, body)
    return body


def inserted(func: PrimFunc, block: Block, new: Block, nest: Stmt, buffer: Buffer, *, before: bool) -> PrimFunc:
    """Return ``func`` with ``new`` for ``block`` and ``nest`` before or after what it is in, and with ``buffer``."""
    outer = enclosing_block(func, block)
    parts: list[Stmt] = list(outer.body.stmts) if isinstance(outer.body, SeqStmt) else [outer.body]
    place = next(i for i, part in enumerate(parts) if holds(part, block))
    if not before:
        target = block_writes(block)[0].buffer
        for reader in readers(outer, target):
            if reader is not block and holds(parts[place], reader):
                raise BlockScheduleError(
                    f"cache_write: block {reader.name!r} reads {target.name!r} inside the loops of block {block.name!r}"
                )
    changed = replaced(replace(func, body=parts[place]), {id(block): new}).body
    parts[place : place + 1] = [nest, changed] if before else [changed, nest]
    bigger = replace(outer, body=seq(parts), alloc_buffers=(*outer.alloc_buffers, buffer))
    return replaced(func, {id(outer): bigger})


def cache_read(func: PrimFunc, name: str, index: int, scope: str) -> tuple[PrimFunc, str]:
    """Let block ``name`` read its buffer number ``index`` through a copy in memory ``scope``."""
    block = block_named(func, name)
    buffer = buffer_at(block, index, block_reads(block), "cache_read")
    require_made_before(func, block, buffer, "cache_read")
    copy = _copy_of(buffer, scope)
    copy_name = fresh_name(func, copy.name)
    new = _reading(block, buffer, copy)
    return inserted(func, block, new, copy_nest(copy_name, buffer, copy), copy, before=True), copy_name


def _reading(block: Block, buffer: Buffer, copy: Buffer) -> Block:
    """Return ``block`` reading ``copy`` where it read ``buffer``."""
    if _gets_memory(block, buffer):
        if any(write.buffer is buffer for write in block_writes(block)):
            raise BlockScheduleError(f"cache_read: block {block.name!r} reads and writes {buffer.name!r} as memory")
        _require_same_memory(block, buffer, copy.scope, "cache_read")
        changed = substitute(block, {}, buffers={buffer: copy})
        assert isinstance(changed, Block)
        return changed

    def redirect(expr: Expr) -> Expr:
        return BufferLoad(copy, expr.indices) if isinstance(expr, BufferLoad) and expr.buffer is buffer else expr

    body = map_stmt(block.body, None, lambda expr: map_expr(redirect, expr))
    return replace(block, body=body)


def _gets_memory(block: Block, buffer: Buffer) -> bool:
    """Whether an intrinsic in ``block`` gets ``buffer`` as memory."""
    accesses = (*block_reads(block), *block_writes(block))
    said = [inner for inner in blocks_in(block) if inner.reads is not None or inner.writes is not None]
    return bool(said) and any(access.buffer is buffer for access in accesses)


def _require_same_memory(block: Block, buffer: Buffer, scope: str, primitive: str) -> None:
    if (buffer.scope or "global") != (scope or "global"):
        raise BlockScheduleError(
            f"{primitive}: block {block.name!r} gets {buffer.name!r} as memory {buffer.scope or 'global'!r}, which the "
            f"intrinsic in it expects, not {scope!r}; {primitive} before tensorize"
        )


def require_made_before(func: PrimFunc, block: Block, buffer: Buffer, primitive: str) -> None:
    """Refuse a buffer that is made in the loops of ``block``: before these there is nothing to copy yet."""
    loops = loops_around(func, block)
    for writer in writers(enclosing_block(func, block), buffer):
        if loops and holds(loops[0], writer):
            raise BlockScheduleError(
                f"{primitive}: block {writer.name!r} makes {buffer.name!r} inside the loops of block {block.name!r}; "
                f"call {primitive} first"
            )


def cache_write(func: PrimFunc, name: str, index: int, scope: str) -> tuple[PrimFunc, str]:
    """Let block ``name`` write its buffer number ``index`` in memory ``scope``, and copy that afterwards."""
    block = block_named(func, name)
    buffer = buffer_at(block, index, block_writes(block), "cache_write")
    around = enclosing_block(func, block)
    if around is not func.body and buffer not in around.alloc_buffers:
        raise BlockScheduleError(
            f"cache_write: block {name!r} is in block {around.name!r}, and {buffer.name!r} is more than what that "
            f"makes; call cache_write first, or of block {around.name!r}"
        )
    others = [writer.name for writer in writers(around, buffer) if writer is not block]
    if others:
        raise BlockScheduleError(
            f"cache_write: block {others[0]!r} writes {buffer.name!r}, too; call cache_write first"
        )
    if not is_reduction(block) and any(load.buffer is buffer for load in block_reads(block)):
        raise BlockScheduleError(f"cache_write: block {name!r} changes {buffer.name!r} in place")
    copy = _copy_of(buffer, scope)
    copy_name = fresh_name(func, copy.name)
    if _gets_memory(block, buffer):
        _require_same_memory(block, buffer, copy.scope, "cache_write")
    new = substitute(block, {}, buffers={buffer: copy})
    assert isinstance(new, Block)
    return inserted(func, block, new, copy_nest(copy_name, copy, buffer), copy, before=False), copy_name


def with_scope(func: PrimFunc, name: str, index: int, scope: str) -> PrimFunc:
    """Keep buffer number ``index`` of those that block ``name`` writes in memory ``scope``."""
    block = block_named(func, name)
    buffer = buffer_at(block, index, block_writes(block), "set_scope")
    if any(buffer is argument for argument in func.buffer_map.values()):
        raise BlockScheduleError(f"set_scope: {buffer.name!r} is an argument of the function, which is in DRAM")
    memory = scope or "global"
    for other in blocks_in(func.body):
        if other.writes is not None and _gets_memory(other, buffer):
            _require_same_memory(other, buffer, memory, "set_scope")
    data = Var(buffer.name, HANDLE, PointerType(buffer.dtype, memory))
    moved = replace(buffer, data=data, scope=memory)
    body = substitute(func.body, {buffer.data: data}, buffers={buffer: moved})
    return replace(func, body=_reallocated(body, buffer, moved))


def _reallocated(body: Stmt, old: Buffer, new: Buffer) -> Stmt:
    def change(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Block) or old not in stmt.alloc_buffers:
            return stmt
        return replace(stmt, alloc_buffers=tuple(new if b is old else b for b in stmt.alloc_buffers))

    return map_stmt(body, change)
