"""A function for sizes that are known: ``func.specialize({a: tir.decl_buffer((128, 64)), n: 16})``.

Tests: tests/vta/tir/test_specialize.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vta.tir.buffer import Buffer
from vta.tir.expr import Binary, Compare, Expr, ExprLike, IntImm, IterVar, Range, Var, binary, cast_to, convert, same
from vta.tir.func import FunctionError, PrimFunc
from vta.tir.stmt import Block, BufferRealize, BufferStore, Stmt
from vta.tir.traverse import map_expr, map_stmt, substitute, walk

__all__ = ["specialized"]


def specialized(func: PrimFunc, param_map: Mapping[Var, Buffer | ExprLike]) -> PrimFunc:
    """Return ``func`` with the sizes of given buffers, and without the variables that have values.

    Raises ``FunctionError`` for what is no parameter, and for a buffer that does not fit.
    """
    values: dict[Var, Expr] = {}
    gone: set[Var] = set()
    for param, given in param_map.items():
        if param not in func.params:
            raise FunctionError(f"specialize: function {func.name!r} has no parameter {param.name!r}")
        if param in func.buffer_map:
            _match(param, func.buffer_map[param], given, values)
        elif isinstance(given, Buffer):
            raise FunctionError(f"specialize: parameter {param.name!r} is a number, not a buffer")
        else:
            values[param] = cast_to(convert(given), param.dtype)
            gone.add(param)
    known = {node.buffer for node in walk(func.body) if isinstance(node, BufferStore | BufferRealize)}
    known |= {node.buffer for node in walk(func.body) if hasattr(node, "buffer")}
    known |= {b for node in walk(func.body) if isinstance(node, Block) for b in node.alloc_buffers}
    buffers = {buffer: _settled(buffer, values) for buffer in (*func.buffer_map.values(), *known)}
    body = map_stmt(substitute(func.body, values, buffers=buffers), lambda s: _block(s, values, buffers), _folded)
    params = tuple(param for param in func.params if param not in gone)
    return replace(func, params=params, body=body, buffer_map={p: buffers[b] for p, b in func.buffer_map.items()})


def _match(param: Var, own: Buffer, given: object, values: dict[Var, Expr]) -> None:
    """Take the values of ``own``'s sizes from those of the given buffer."""
    if not isinstance(given, Buffer):
        raise FunctionError(f"specialize: parameter {param.name!r} is a buffer; give one, not {given!r}")
    if given.dtype != own.dtype or len(given.shape) != len(own.shape):
        raise FunctionError(
            f"specialize: buffer {own.name!r} holds {own.dtype} in {len(own.shape)} dimensions, the given one "
            f"{given.dtype} in {len(given.shape)}"
        )
    pairs = [*zip(own.shape, given.shape, strict=True), *zip(own.strides, given.strides, strict=False)]
    for mine, new in [*pairs, (own.elem_offset, given.elem_offset)]:
        if isinstance(mine, Var):
            if mine in values and not same(values[mine], new):
                raise FunctionError(f"specialize: size {mine.name!r} is {values[mine]} and {new} at once")
            values[mine] = new
        elif isinstance(mine, IntImm) and not same(mine, new):
            raise FunctionError(f"specialize: buffer {own.name!r} has a size of {mine}, the given one {new}")


def _folded(expr: Expr) -> Expr:
    """Return ``expr`` with what is a constant now as one."""

    def fold(node: Expr) -> Expr:
        if isinstance(node, Binary | Compare) and isinstance(node.a, IntImm) and isinstance(node.b, IntImm):
            return binary(type(node), node.a, node.b)
        return node

    return map_expr(fold, expr)


def _all(exprs: Sequence[Expr], values: Mapping[Var, Expr]) -> tuple[Expr, ...]:
    return tuple(_folded(substitute(expr, values)) for expr in exprs)


def _settled(buffer: Buffer, values: Mapping[Var, Expr]) -> Buffer:
    shape, strides = _all(buffer.shape, values), _all(buffer.strides, values)
    [offset] = _all([buffer.elem_offset], values)
    if all(same(x, y) for x, y in ((shape, buffer.shape), (strides, buffer.strides), (offset, buffer.elem_offset))):
        return buffer
    return replace(buffer, shape=shape, strides=strides, elem_offset=offset)


def _block(stmt: Stmt, values: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer]) -> Stmt:
    if not isinstance(stmt, Block):
        return stmt
    axes = tuple(_axis(axis, values) for axis in stmt.iter_vars)
    return replace(stmt, iter_vars=axes, alloc_buffers=tuple(buffers[b] for b in stmt.alloc_buffers))


def _axis(axis: IterVar, values: Mapping[Var, Expr]) -> IterVar:
    if axis.dom is None:
        return axis
    low, extent = _all([axis.dom.min, axis.dom.extent], values)
    return axis if low is axis.dom.min and extent is axis.dom.extent else replace(axis, dom=Range(low, extent))
