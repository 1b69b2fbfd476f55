"""Turn ``vectorize`` loops into ordinary ones.

The loops that the accelerator runs have become instructions by now; what is left runs on the host, and the host's
compiler makes vector code of a plain loop where that pays.

Before::

    for (i, 0, 16) "vectorized" { A[i] = B[i] + 1 }

After::

    for (i, 0, 16) { A[i] = B[i] + 1 }

May import ``vta.tir``. Tests: tests/vta/passes/test_clean_up.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.func import PrimFunc
from vta.tir.stmt import For, ForKind, Stmt
from vta.tir.traverse import map_stmt

__all__ = ["vectorize_loop"]


def vectorize_loop(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` without vectorised loops."""

    def serial(stmt: Stmt) -> Stmt:
        vectorized = isinstance(stmt, For) and stmt.kind is ForKind.VECTORIZED
        return replace(stmt, kind=ForKind.SERIAL) if isinstance(stmt, For) and vectorized else stmt

    return replace(func, body=map_stmt(func.body, serial))
