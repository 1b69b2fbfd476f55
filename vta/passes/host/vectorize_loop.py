"""Turn ``vectorize`` loops of the host into operations on vectors.

Before::

for (i, 0, 16) "vectorized" { A[o*16 + i] = B[o*16 + i] + 1 }

After::

A[ramp(o*16, 1, 16)] = B[ramp(o*16, 1, 16)] + broadcast(1, 16)

Vectors have at most 64 lanes: a longer loop becomes a loop over vectors, and a shorter vector for what is left.
A loop is taken as a whole or not at all. One stays an ordinary loop, which the host's compiler may still vectorise:
with an extent that is no constant, with elements that do not lie side by side in memory, with a condition or inner loop
that differs from lane to lane, with a call of a function, with a temporary of its own, or where one iteration may touch
what another one stores. So do the loops of ALU stages and other work of the accelerator, whose iterations are steps of
one instruction anyway.

Tests: tests/vta/passes/host/test_vectorize_loop.py.
"""

from __future__ import annotations

from dataclasses import replace

from isa.config import VTAConfig
from vta.arith.simplify import Analyzer
from vta.passes.fresh_definitions import with_fresh_definitions
from vta.passes.host.host_only import is_accelerator_scope, is_host_only
from vta.passes.host.lanes import lanes_are_private
from vta.passes.host.vectors import NotVectorError, has_vectors, vectorized
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, Ramp, Range, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import For, ForKind, Stmt, seq
from vta.tir.traverse import map_stmt_children, substitute

__all__ = ["vectorize_loop"]

_MOST_LANES = 64


def vectorize_loop(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` without vectorised loops."""
    return replace(func, body=_visit(func.body, Analyzer(), on_host=True))


@deep
def _visit(stmt: Stmt, analyzer: Analyzer, *, on_host: bool) -> Stmt:
    if isinstance(stmt, For):
        analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
    on_host = on_host and not is_accelerator_scope(stmt)
    stmt = map_stmt_children(stmt, lambda child: _visit(child, analyzer, on_host=on_host), lambda expr: expr)
    if not isinstance(stmt, For) or stmt.kind is not ForKind.VECTORIZED:
        return stmt
    serial = replace(stmt, kind=ForKind.SERIAL)
    if not (on_host and is_host_only(stmt)) or not isinstance(stmt.extent, IntImm) or has_vectors(stmt.body):
        return serial
    try:
        return _in_vectors(serial, stmt.extent.value, analyzer)
    except NotVectorError:
        return serial


def _in_vectors(loop: For, extent: int, analyzer: Analyzer) -> Stmt:
    """Return ``loop`` as statements on vectors; raises ``NotVectorError`` where it cannot be."""
    if extent <= 1:
        return seq([]) if extent <= 0 else substitute(loop.body, {loop.loop_var: loop.min})
    lanes = min(extent, _MOST_LANES)
    if not lanes_are_private(loop, lanes, analyzer):
        raise NotVectorError("an iteration may touch what another one stores")
    count, rest = divmod(extent, lanes)
    dtype = loop.loop_var.dtype
    chunk = Var(loop.loop_var.name, dtype)
    start: Expr = loop.min if count == 1 else loop.min + chunk * lanes
    body = _vector(loop, start, lanes, analyzer)
    whole = (
        body
        if count == 1
        else replace(loop, loop_var=chunk, min=const(0, dtype), extent=const(count, dtype), body=body)
    )
    if rest == 0:
        return whole
    tail = replace(loop, extent=const(rest, dtype))
    if rest > 1:
        return seq([whole, with_fresh_definitions(_vector(tail, loop.min + count * lanes, rest, analyzer))])
    return seq([whole, with_fresh_definitions(substitute(loop.body, {loop.loop_var: loop.min + count * lanes}))])


def _vector(loop: For, start: Expr, lanes: int, analyzer: Analyzer) -> Stmt:
    ramp = Ramp(analyzer.simplify(start), const(1, loop.loop_var.dtype), lanes)
    return vectorized(loop.body, loop.loop_var, ramp, analyzer)
