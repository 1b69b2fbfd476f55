"""Small functions that scripts for TVM's VTA take from elsewhere in TVM: caches of results, pads of pictures.

Tests: tests/vta/compat/test_small_names.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from isa.errors import VTAError
from vta.te.operation import Operation
from vta.te.schedule import Schedule

__all__ = ["PadError", "RelayPart", "get_pad_tuple2d", "memoize", "traverse_inline"]


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


@dataclass(frozen=True, slots=True)
class RelayPart:
    """``relay.backend.Runtime("cpp")`` and ``Executor("graph")``: a name and options, as a script says them."""

    name: str
    options: Mapping[str, object] | None = None


def traverse_inline(s: Schedule, final_op: Operation, callback: Callable[[Operation], None]) -> None:
    """Inline the element-wise stages that ``final_op`` needs, and call ``callback`` with each, inputs first."""
    done: set[Operation] = set()
    stack: list[tuple[Operation, bool]] = [(final_op, False)]
    while stack:
        op, ready = stack.pop()
        if ready:
            callback(op)
        elif op not in done:
            done.add(op)
            stack.append((op, True))
            if getattr(op, "tag", "").partition(",")[0] in _INLINED:
                if op not in s.outputs:
                    s[op].compute_inline()
                needed = [tensor.op for tensor in op.input_tensors if tensor.op.input_tensors]
                stack += [(each, False) for each in reversed(needed)]


_INLINED = ("elemwise", "broadcast")


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
