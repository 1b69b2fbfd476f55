"""Leave out the copies that are marked ``skip_dma_copy`` (a schedule's mock for timing the rest).

Before::

    attr [IterVar(i0)] "pragma_skip_dma_copy" = 1;
    for (i1, 0, 64) { ... A_buf[...] = A[...] ... }

After: nothing.

Tests: tests/vta/passes/dma/test_skip_and_annotate.py and the rest of tests/vta/passes/dma.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.passes.pragma import is_pragma
from vta.tir.expr import IntImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import Evaluate, Stmt
from vta.tir.traverse import map_stmt

__all__ = ["SKIP_COPY", "inject_skip_copy"]

SKIP_COPY = "skip_dma_copy"


def inject_skip_copy(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` without its skipped copies."""

    def skip(stmt: Stmt) -> Stmt:
        return Evaluate(IntImm(0), stmt.origin) if is_pragma(stmt, SKIP_COPY) else stmt

    return replace(func, body=map_stmt(func.body, skip))
