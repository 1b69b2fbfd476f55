"""Give every ALU stage to the compute module, as a micro-op kernel of its own; leave out those marked ``skip_alu``.

Expects: element-wise loop nests under pragma ``alu``. The pragma stays: InjectALUIntrin matches it later.

Before::

    attr [IterVar(i0)] "pragma_alu" = 1;
    for (i1, 0, 16) { ... }

After::

    attr [IterVar(vta)] "coproc_scope" = 2;
    attr [IterVar(vta)] "coproc_uop_scope" = "VTAPushALUOp";
    attr [IterVar(i0)] "pragma_alu" = 1;
    for (i1, 0, 16) { ... }

Tests: tests/vta/passes/dma/test_skip_and_annotate.py and the rest of tests/vta/passes/alu.
"""

from dataclasses import replace

from isa.config import VTAConfig
from isa.instructions import Module
from vta.passes.coproc_axis import coproc_scope, find_coproc_axis, uop_scope
from vta.passes.pragma import pragma_name, sync_outside
from vta.tir.expr import IntImm
from vta.tir.func import PrimFunc
from vta.tir.scopes import ALU_SYMBOL
from vta.tir.stmt import AttrStmt, Evaluate, Stmt
from vta.tir.traverse import map_stmt

__all__ = ["ALU_PRAGMA", "SKIP_ALU", "annotate_alu_coproc_scope"]

ALU_PRAGMA = "alu"
SKIP_ALU = "skip_alu"


def annotate_alu_coproc_scope(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with its ALU stages marked as work of the compute module."""
    axis = find_coproc_axis(func.body)

    def annotate(stmt: Stmt) -> Stmt:
        match pragma_name(stmt):
            case name if name == ALU_PRAGMA:
                assert isinstance(stmt, AttrStmt)
                sync, stage = sync_outside(stmt)
                kernel = uop_scope(axis, ALU_SYMBOL, stage, stmt.origin)
                scope = coproc_scope(axis, Module.COMPUTE, kernel, stmt.origin)
                return scope if sync is None else replace(sync, body=scope)
            case name if name == SKIP_ALU:
                return Evaluate(IntImm(0), stmt.origin)
            case _:
                return stmt

    return replace(func, body=map_stmt(func.body, annotate))
