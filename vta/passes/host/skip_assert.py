"""Leave out what the program asserts.

Before::

    assert((n == 8), "n must be 8")
    A[0] = n

After::

    A[0] = n

A condition that does something is still computed. Tests: tests/vta/passes/host/test_skip_assert.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.effects import has_effect
from vta.tir.func import PrimFunc
from vta.tir.stmt import AssertStmt, Evaluate, Stmt, seq
from vta.tir.traverse import map_stmt

__all__ = ["skip_assert"]


def skip_assert(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` without assertions."""
    return replace(func, body=map_stmt(func.body, _without))


def _without(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, AssertStmt):
        return stmt
    return seq([Evaluate(stmt.condition, stmt.origin), stmt.body]) if has_effect(stmt.condition) else stmt.body
