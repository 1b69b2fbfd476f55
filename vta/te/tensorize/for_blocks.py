"""A tensor intrinsic of ``te`` for ``tir.Schedule``: functions that describe it, and functions that do it.

A reduction is three: as a whole, one step of it (which a start goes with), and the start alone.
Tests: tests/vta/te/test_tensorize_blocks.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vta.te.lowering.prim_func import create_prim_func
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import IterKind, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import Block, For, Stmt
from vta.tir.tensor_intrin import TensorIntrin, buffers_of, nest_of

if TYPE_CHECKING:
    from vta.te.tensorize.intrin import TensorIntrin as TeIntrin

__all__ = ["ways"]


def ways(intrinsic: TeIntrin) -> list[TensorIntrin]:
    """Return the ways in which blocks can be ``intrinsic``: whole, step, start, of those that it has."""
    desc = create_prim_func([*intrinsic.inputs, *intrinsic.op.outputs])
    loops, block = nest_of(desc, intrinsic.name)
    name, buffers = intrinsic.name, intrinsic.buffers
    found: list[TensorIntrin] = []
    if intrinsic.body is not None:
        found.append(TensorIntrin(desc, _function(buffers, intrinsic.body), name))
    if block.init is None:
        return found
    start = None
    if intrinsic.reduce_init is not None:
        outputs = buffers_of(desc, name)[len(intrinsic.inputs) :]
        own = _function(outputs, _start(loops, block))
        start = TensorIntrin(own, _function(intrinsic.output_buffers, intrinsic.reduce_init), f"{name} start")
    if intrinsic.reduce_update is not None:
        step = replace(desc, body=_nested(loops, replace(block, init=None)))
        found.append(TensorIntrin(step, _function(buffers, intrinsic.reduce_update), f"{name} step", start))
    return [*found, start] if start is not None else found


def _function(buffers: Sequence[Buffer], body: Stmt) -> PrimFunc:
    handles = [Var(buffer.name, HANDLE) for buffer in buffers]
    return PrimFunc("main", tuple(handles), body, dict(zip(handles, buffers, strict=True)))


def _nested(loops: Sequence[For], block: Block) -> Stmt:
    body: Stmt = block
    for loop in reversed(loops):
        body = replace(loop, body=body)
    return body


def _start(loops: Sequence[For], block: Block) -> Stmt:
    """Return what gives the outputs their start: loops over these alone."""
    assert block.init is not None
    pairs = [(a, v) for a, v in zip(block.iter_vars, block.values, strict=True) if a.kind is IterKind.DATA_PAR]
    kept = [loop for loop in loops if any(value is loop.loop_var for _, value in pairs)]
    return _nested(kept, Block(block.name, tuple(a for a, _ in pairs), tuple(v for _, v in pairs), block.init))
