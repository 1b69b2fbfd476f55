"""Small functions that scripts for TVM's VTA take from elsewhere in TVM: caches of results, pads of pictures.

Tests: tests/vta/compat/test_small_names.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from isa.errors import VTAError

__all__ = ["PadError", "get_pad_tuple2d", "memoize"]


class PadError(VTAError, ValueError):
    """Pads that are none."""


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # noqa: ARG001
    """Return a decorator that computes a function once for the same arguments; nothing is kept in files."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        results: dict[object, Any] = {}

        @wraps(function)
        def remembered(*arguments: Any) -> Any:
            if arguments not in results:
                results[arguments] = function(*arguments)
            return results[arguments]

        return remembered

    return decorate


def get_pad_tuple2d(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Return the pads (top, left, bottom, right) of one number, of (rows, columns), or of all four."""
    match [padding] if isinstance(padding, int) else list(padding):
        case [both]:
            return both, both, both, both
        case [rows, columns]:
            return rows, columns, rows, columns
        case [top, left, bottom, right]:
            return top, left, bottom, right
        case other:
            raise PadError(f"get_pad_tuple2d: expected one, two or four numbers, got {other}")
