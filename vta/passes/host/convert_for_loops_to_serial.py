"""Let every loop run one iteration after the other.

Before::

    for (i, 0, 8) "parallel" { A[i] = 0 }

After::

    for (i, 0, 8) { A[i] = 0 }

Tests: tests/vta/passes/host/test_convert_for_loops_to_serial.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.func import PrimFunc
from vta.tir.stmt import For, ForKind, Stmt
from vta.tir.traverse import map_stmt

__all__ = ["convert_for_loops_to_serial"]


def convert_for_loops_to_serial(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # as every pass
    """Return ``func`` with serial loops where parallel ones were."""
    return replace(func, body=map_stmt(func.body, _serial))


def _serial(stmt: Stmt) -> Stmt:
    return replace(stmt, kind=ForKind.SERIAL) if isinstance(stmt, For) and stmt.kind is ForKind.PARALLEL else stmt
