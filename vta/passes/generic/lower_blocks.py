"""Blocks become plain statements, and what is said about loops becomes attributes.

Axes are replaced by what they stand for, starts of reductions run under a condition, memory is realised. A loop that is
bound to a thread axis becomes that axis, one of one iteration its body; a pragma of a loop or block
(``annotate(loop, "pragma_...", value)``) stands around it. Other annotations were for schedules and end here. For a
block over ``v_i``::

    for (i, 0, 4) "thread_binding" "cthread" {      attr [IterVar(i, (nullptr), "ThreadIndex", "cthread")]
      block "B" {                                     "virtual_thread" = 4;
        IterVar(v_i, [0:4], "DataPar", "") = i      B[i] = (A[i] + 1)
        B[v_i] = (A[v_i] + 1)

Tests: tests/vta/passes/generic/test_lower_blocks.py.
"""

from collections.abc import Mapping
from dataclasses import replace

from isa.config import VTAConfig
from isa.origin import Origin
from vta.passes.errors import PassError
from vta.tir.blocks import block_as_loops
from vta.tir.expr import FloatImm, IntImm, IterKind, IterVar, StringImm, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import PRAGMA_PREFIX, Annotation, AttrKey, AttrStmt, Block, For, Stmt
from vta.tir.traverse import map_stmt, substitute, walk

__all__ = ["lower_blocks"]

_GPU = ("blockIdx.", "threadIdx.")


class LowerBlocksError(PassError):
    """Something said about a loop or block that no attribute can say."""


def lower_blocks(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` without blocks, annotations, and loops bound to threads."""
    if not any(isinstance(node, Block) for node in walk(func.body)):
        return func
    return replace(func, body=map_stmt(func.body, _lowered))


def _lowered(stmt: Stmt) -> Stmt:
    match stmt:
        case Block():
            about = IterVar(None, Var(stmt.name), IterKind.OPAQUE)
            return _with_pragmas(block_as_loops(stmt), about, stmt.annotations, stmt.origin)
        case For() if stmt.thread:
            key = AttrKey.THREAD_EXTENT if stmt.thread.startswith(_GPU) else AttrKey.VIRTUAL_THREAD
            axis = IterVar(None, stmt.loop_var, IterKind.THREAD_INDEX, stmt.thread)
            bound = AttrStmt(axis, key, stmt.extent, stmt.body, stmt.origin)
            return _with_pragmas(bound, axis, stmt.annotations, stmt.origin)
        case For() if isinstance(stmt.extent, IntImm) and stmt.extent.value == 1:
            body = substitute(stmt.body, {stmt.loop_var: stmt.min})
            return _with_pragmas(body, IterVar(None, stmt.loop_var), stmt.annotations, stmt.origin)
        case For() if stmt.annotations:
            axis = IterVar(None, stmt.loop_var)
            return _with_pragmas(replace(stmt, annotations={}), axis, stmt.annotations, stmt.origin)
        case _:
            return stmt


def _with_pragmas(stmt: Stmt, about: IterVar, notes: Mapping[str, Annotation], origin: Origin | None) -> Stmt:
    for key, value in reversed(list(notes.items())):
        if key.startswith(PRAGMA_PREFIX):
            stmt = AttrStmt(about, key, _value(key, value, origin), stmt, origin)
    return stmt


def _value(key: str, value: Annotation, origin: Origin | None) -> IntImm | FloatImm | StringImm:
    match value:
        case str():
            return StringImm(value)
        case int():
            return IntImm(int(value))
        case float():
            return FloatImm(value)
        case _:
            raise LowerBlocksError(f"annotation {key!r}", expected="one number or text", got=repr(value), origin=origin)
