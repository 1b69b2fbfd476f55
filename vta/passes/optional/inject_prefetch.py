"""Drop hints of what is read soon, which processors find out by themselves.

Before and after::

    prefetch A[0:4]                B[i] = A[i]
    B[i] = A[i]

Lowering does it in StorageFlatten. Tests: tests/vta/passes/optional/test_rewrites.py.
"""

from __future__ import annotations

from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.expr import IntImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import Evaluate, Prefetch, Stmt
from vta.tir.traverse import map_stmt

__all__ = ["inject_prefetch"]


def inject_prefetch(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` without prefetches."""
    return replace(func, body=map_stmt(func.body, _without))


def _without(stmt: Stmt) -> Stmt:
    return Evaluate(IntImm(0), stmt.origin) if isinstance(stmt, Prefetch) else stmt
