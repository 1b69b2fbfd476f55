"""Unroll the loops that the schedule marked ``unroll``, and those that a pragma lets this pass choose.

Before::

for (i, 0, 3) "unroll" { A[i] = B[i]*2 }

After::

    A[0] = B[0]*2
    A[1] = B[1]*2
    A[2] = B[2]*2

Below ``pragma_auto_unroll_max_step`` = n, every loop goes that becomes at most n stores and calls, with at most
``pragma_auto_unroll_max_depth`` (8) loops in each other inside of it; ``pragma_unroll_explicit`` = 0 beside it leaves
that to the host's compiler, and marks the loop alone. ``pragma_auto_unroll_max_extent`` = n writes out every loop of at
most n iterations.

Loops without a constant extent, loops that would become more than 8192 stores and calls, and loops of ALU stages (whose
iterations are steps of one micro-op kernel anyway) become ordinary loops. Variables that the body defines get a new one
in each copy. Tests: tests/vta/passes/generic/test_clean_up.py and
tests/vta/passes/generic/test_unroll_limits.py.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from isa.config import VTAConfig
from vta.arith.simplify import simplify
from vta.passes.alu.annotate_alu_coproc_scope import ALU_PRAGMA
from vta.passes.fresh_definitions import instances
from vta.passes.host.host_only import is_accelerator_scope
from vta.passes.pragma import is_pragma
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrStmt, BufferStore, Evaluate, For, ForKind, Stmt, seq
from vta.tir.traverse import children, map_stmt, map_stmt_children, walk

__all__ = ["unroll_loop"]

_MAX_STEP = "auto_unroll_max_step"
_MAX_DEPTH = "auto_unroll_max_depth"
_MAX_EXTENT = "auto_unroll_max_extent"
_EXPLICIT = "unroll_explicit"
_MOST_STEPS = 8192


def unroll_loop(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with its ``unroll`` loops written out."""
    return replace(func, body=_unroll(func.body, _Choice()))


@dataclass(frozen=True, slots=True)
class _Choice:
    """What pragmas around say: serial loops of up to ``max_step`` steps are unrolled, if ``explicit``."""

    max_step: int = 0
    max_depth: int = 8
    max_extent: int = 0
    explicit: bool = True


@deep
def _unroll(stmt: Stmt, choice: _Choice) -> Stmt:
    match stmt:
        case AttrStmt() if is_pragma(stmt, ALU_PRAGMA):
            return map_stmt(stmt, _as_serial)
        case AttrStmt(value=IntImm(value=steps)) if is_pragma(stmt, _MAX_STEP):
            return _unroll(stmt.body, replace(choice, max_step=steps))
        case AttrStmt(value=IntImm(value=depth)) if is_pragma(stmt, _MAX_DEPTH):
            return _unroll(stmt.body, replace(choice, max_depth=depth))
        case AttrStmt(value=IntImm(value=extent)) if is_pragma(stmt, _MAX_EXTENT):
            return _unroll(stmt.body, replace(choice, max_extent=extent))
        case AttrStmt(value=IntImm(value=flag)) if is_pragma(stmt, _EXPLICIT):
            return _unroll(stmt.body, replace(choice, explicit=bool(flag)))
        case AttrStmt() if is_accelerator_scope(stmt):
            choice = _Choice()
        case _:
            pass
    before = stmt
    stmt = map_stmt_children(stmt, lambda child: _unroll(child, choice), lambda expr: expr)
    if not isinstance(stmt, For):
        return stmt
    if not isinstance(stmt.extent, IntImm):
        stmt = replace(stmt, extent=simplify(stmt.extent))
    match stmt.kind:
        case ForKind.UNROLLED:
            return _written_out(stmt) if _has_few_steps(stmt, _MOST_STEPS) else _as_serial(stmt)
        case ForKind.SERIAL if isinstance(stmt.extent, IntImm) and stmt.extent.value <= choice.max_extent:
            return _written_out(stmt)
        case ForKind.SERIAL if choice.max_step > 0 and _depth(before) <= 1 + choice.max_depth:
            if not _has_few_steps(stmt, choice.max_step):
                return stmt
            return _written_out(stmt) if choice.explicit else replace(stmt, kind=ForKind.UNROLLED)
        case ForKind.SERIAL | ForKind.PARALLEL | ForKind.VECTORIZED | ForKind.THREAD_BINDING:
            return stmt
        case _:
            assert_never(stmt.kind)


def _depth(stmt: Stmt) -> int:
    """Return how many loops are in each other in ``stmt``, itself among them."""
    deepest, stack = 0, [(stmt, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, Stmt):
            depth += isinstance(node, For)
            deepest = max(deepest, depth)
            stack += [(child, depth) for child in children(node) if isinstance(child, Stmt)]
    return deepest


def _has_few_steps(loop: For, most: int) -> bool:
    """Whether ``loop`` has a constant extent and becomes at most ``most`` stores and calls."""
    if not isinstance(loop.extent, IntImm):
        return False
    inside = sum(isinstance(node, BufferStore | Evaluate) for node in walk(loop.body))
    return loop.extent.value * inside <= most


def _written_out(loop: For) -> Stmt:
    assert isinstance(loop.extent, IntImm)
    if loop.extent.value <= 0:
        return Evaluate(IntImm(0), loop.origin)
    values: list[Expr] = [loop.min + i for i in range(loop.extent.value)]
    return seq(instances(loop.body, loop.loop_var, values))


def _as_serial(stmt: Stmt) -> Stmt:
    match stmt:
        case For(kind=ForKind.UNROLLED):
            return replace(stmt, kind=ForKind.SERIAL)
        case _:
            return stmt
