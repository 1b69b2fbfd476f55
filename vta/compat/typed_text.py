"""``str(expression)`` with the type of each variable where it first appears, while TVM is answered for.

Messages of this toolchain keep names alone. Tests: tests/vta/compat/test_typed_text.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vta.tir.expr import Node
from vta.tir.printer import to_text

__all__ = ["typed_text"]


def _typed(node: Node) -> str:
    return to_text(node.asexpr(), typed=True)


@contextmanager
def typed_text() -> Iterator[None]:
    """Let ``str`` of an expression say types inside."""
    plain = Node.__str__
    Node.__str__ = _typed  # type: ignore[method-assign]
    try:
        yield
    finally:
        Node.__str__ = plain  # type: ignore[method-assign]
