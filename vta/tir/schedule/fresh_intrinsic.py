"""The statements of an intrinsic for one place of a program: variables, buffers and blocks of their own.

Tests: tests/vta/tir/schedule/test_tensorize.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from vta.tir.buffer import Buffer
from vta.tir.expr import BufferLoad, Expr, IterVar, Var
from vta.tir.func import PrimFunc
from vta.tir.schedule.tree import fresh_name
from vta.tir.stmt import Allocate, Block, BufferStore, For, LetStmt, Stmt
from vta.tir.tensor_intrin import TensorIntrin, buffers_of
from vta.tir.traverse import map_stmt, substitute, walk

__all__ = ["fresh_intrinsic"]


def fresh_intrinsic(func: PrimFunc, intrinsic: TensorIntrin) -> tuple[Stmt, list[Buffer]]:
    """Return the statements and buffers of an intrinsic with definitions of their own, for a place in ``func``."""
    body = intrinsic.impl.body
    if isinstance(body, Block) and not body.iter_vars and body.init is None and not body.alloc_buffers:
        body = body.body
    views = buffers_of(intrinsic.impl, intrinsic.name)
    renamed: dict[Var, Expr] = {}
    for var in _defined(body, views):
        renamed.setdefault(var, Var(var.name, var.dtype, var.pointer))
    buffers: dict[Buffer, Buffer] = {}
    seen: Iterable[Buffer] = [*views, *_buffers_in(body)]
    for buffer in seen:
        if buffer not in buffers and buffer.data in renamed:
            buffers[buffer] = _with_variables(buffer, renamed)
    changed = substitute(body, renamed, buffers=buffers)
    blocks = {b.name: fresh_name(func, b.name) for b in walk(changed) if isinstance(b, Block)}
    if blocks:
        changed = _renamed_blocks(changed, blocks, renamed, buffers)
    return changed, [buffers[view] for view in views]


def _defined(body: Stmt, views: Sequence[Buffer]) -> Iterable[Var]:
    for view in views:
        yield view.data
        yield from (e for e in (view.elem_offset, *view.strides, *view.shape) if isinstance(e, Var))
    for node in walk(body):
        match node:
            case For(loop_var=var) | LetStmt(var=var) | Allocate(buffer_var=var):
                yield var
            case Block():
                yield from (axis.var for axis in node.iter_vars)
                yield from (buffer.data for buffer in node.alloc_buffers)
            case _:
                continue


def _buffers_in(body: Stmt) -> Iterable[Buffer]:
    for node in walk(body):
        match node:
            case BufferLoad() | BufferStore():
                yield node.buffer
            case Block():
                yield from node.alloc_buffers
                yield from (part.buffer for part in (*(node.reads or ()), *(node.writes or ())))
            case _:
                continue


def _with_variables(buffer: Buffer, renamed: Mapping[Var, Expr]) -> Buffer:
    data = renamed[buffer.data]
    assert isinstance(data, Var)
    offset = substitute(buffer.elem_offset, renamed)
    strides = tuple(substitute(stride, renamed) for stride in buffer.strides)
    shape = tuple(substitute(size, renamed) for size in buffer.shape)
    return replace(buffer, data=data, elem_offset=offset, strides=strides, shape=shape)


def _renamed_blocks(
    body: Stmt, names: Mapping[str, str], renamed: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer]
) -> Stmt:
    def change(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Block):
            return stmt
        axes = []
        for axis in stmt.iter_vars:
            var = renamed.get(axis.var, axis.var)
            assert isinstance(var, Var)
            axes.append(IterVar(axis.dom, var, axis.kind))
        own = tuple(buffers.get(buffer, buffer) for buffer in stmt.alloc_buffers)
        return replace(stmt, name=names[stmt.name], iter_vars=tuple(axes), alloc_buffers=own)

    return map_stmt(body, change)
