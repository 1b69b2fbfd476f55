"""Recognising the pragmas that a schedule put on a loop.

May import ``vta.tir``. Tests: tests/vta/passes/test_skip_and_annotate.py.
"""

from vta.tir.expr import StringImm
from vta.tir.stmt import PRAGMA_PREFIX, AttrStmt

__all__ = ["is_pragma", "pragma_name"]

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
