"""The axis that marks a statement as the accelerator's: how ``coproc_scope`` attributes are made and recognised.

Every axis with thread tag "vta" is the same accelerator; there is no ambient singleton. Passes reuse the axis that a
function already has, so that the printed program names one. Tests: tests/vta/passes/test_coproc_axis.py.
"""

from isa.instructions import Module
from isa.origin import Origin
from vta.tir.dtype import INT32
from vta.tir.expr import IntImm, IterKind, IterVar, StringImm, Var
from vta.tir.stmt import AttrKey, AttrStmt, Stmt
from vta.tir.traverse import walk

__all__ = [
    "COPROC_TAG",
    "coproc_axis",
    "coproc_scope",
    "find_coproc_axis",
    "is_coproc_axis",
    "is_coproc_scope",
    "is_uop_scope",
    "uop_scope",
]

COPROC_TAG = "vta"
"""The thread tag, and the name, of the accelerator's axis."""


def coproc_axis() -> IterVar:
    """Return a new axis of the accelerator."""
    return IterVar(None, Var(COPROC_TAG, INT32), IterKind.THREAD_INDEX, COPROC_TAG)


def is_coproc_axis(node: object) -> bool:
    """Whether ``node`` is an axis of the accelerator."""
    return isinstance(node, IterVar) and node.thread_tag == COPROC_TAG


def find_coproc_axis(stmt: Stmt) -> IterVar:
    """Return the first accelerator axis that ``stmt`` uses, or a new one."""
    for node in walk(stmt):
        if isinstance(node, AttrStmt) and isinstance(node.node, IterVar) and is_coproc_axis(node.node):
            return node.node
    return coproc_axis()


def coproc_scope(axis: IterVar, queue: Module | int, body: Stmt, origin: Origin | None = None) -> AttrStmt:
    """Return ``body`` marked as executed by the module with id ``queue``."""
    return AttrStmt(axis, AttrKey.COPROC_SCOPE, IntImm(int(queue)), body, origin)


def uop_scope(axis: IterVar, symbol: str, body: Stmt, origin: Origin | None = None) -> AttrStmt:
    """Return ``body`` marked as one micro-op kernel that the runtime entry ``symbol`` records and pushes."""
    return AttrStmt(axis, AttrKey.COPROC_UOP_SCOPE, StringImm(symbol), body, origin)


def is_coproc_scope(stmt: object) -> bool:
    """Whether ``stmt`` is a ``coproc_scope`` attribute."""
    return isinstance(stmt, AttrStmt) and stmt.key == AttrKey.COPROC_SCOPE


def is_uop_scope(stmt: object) -> bool:
    """Whether ``stmt`` is a ``coproc_uop_scope`` attribute."""
    return isinstance(stmt, AttrStmt) and stmt.key == AttrKey.COPROC_UOP_SCOPE
