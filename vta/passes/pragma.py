"""Recognising the pragmas that a schedule put on a loop.

Tests: tests/vta/passes/dma/test_skip_and_annotate.py.
"""

from dataclasses import replace

from vta.tir.deep import deep
from vta.tir.expr import StringImm
from vta.tir.stmt import PRAGMA_PREFIX, AttrStmt

__all__ = ["SYNC_PRAGMA", "is_pragma", "pragma_name", "sync_outside"]

SYNC_PRAGMA = "coproc_sync"
"""The pragma after whose statement the host waits for the accelerator."""

_SCOPE = PRAGMA_PREFIX + "scope"


def pragma_name(stmt: object) -> str | None:
    """Return the name of the pragma that ``stmt`` is, or None.

    ``attr "pragma_NAME" = value`` and ``attr "pragma_scope" = "NAME"`` are both pragma NAME.
    """
    if not isinstance(stmt, AttrStmt) or not stmt.key.startswith(PRAGMA_PREFIX):
        return None
    if stmt.key == _SCOPE and isinstance(stmt.value, StringImm):
        return stmt.value.value
    return stmt.key.removeprefix(PRAGMA_PREFIX)


def is_pragma(stmt: object, name: str) -> bool:
    """Whether ``stmt`` is pragma ``name``."""
    return pragma_name(stmt) == name


@deep
def sync_outside(pragma: AttrStmt) -> tuple[AttrStmt | None, AttrStmt]:
    """Split a pragma that stands around ``coproc_sync`` on the same loop: (the sync, the pragma around the loop alone).

    The order in which a schedule named the two does not matter: the host waits after the whole of what the other one
    becomes. Without a sync, (None, ``pragma``).
    """
    inner = pragma.body
    if isinstance(inner, AttrStmt) and pragma_name(inner) is not None:
        sync, rest = (inner, inner.body) if is_pragma(inner, SYNC_PRAGMA) else sync_outside(inner)
        if sync is not None:
            return sync, replace(pragma, body=rest)
    return None, pragma
