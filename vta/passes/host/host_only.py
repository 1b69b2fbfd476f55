"""Which statements are the host's alone: passes that copy or reorder loops leave the accelerator's work as it is.

A micro-op kernel is recorded once for each place in the program, and the order of instructions is what the tokens were
planned for; so neither is duplicated. Tests: tests/vta/passes/host/test_host_only.py.
"""

from vta.passes.alu.annotate_alu_coproc_scope import ALU_PRAGMA
from vta.passes.coproc_axis import is_coproc_scope, is_uop_scope
from vta.passes.pragma import is_pragma
from vta.tir.expr import Builtin, Call
from vta.tir.stmt import AttrKey, AttrStmt, Stmt
from vta.tir.traverse import TirNode, walk

__all__ = ["is_accelerator_scope", "is_host_only"]


def is_accelerator_scope(stmt: object) -> bool:
    """Whether ``stmt`` marks what is below it as the accelerator's work."""
    return is_coproc_scope(stmt) or is_uop_scope(stmt) or is_pragma(stmt, ALU_PRAGMA)


def is_host_only(stmt: Stmt) -> bool:
    """Whether nothing below ``stmt`` is the accelerator's work, a call of a function, or a thread to be injected."""
    return not any(map(_is_foreign, walk(stmt)))


def _is_foreign(node: TirNode) -> bool:
    match node:
        case Call(op=op):
            return op is Builtin.CALL_EXTERN or op.is_ordered
        case AttrStmt(key=AttrKey.VIRTUAL_THREAD | AttrKey.THREAD_EXTENT):
            return True
        case AttrStmt():
            return is_accelerator_scope(node)
        case _:
            return False
