"""``te.scan``: tensors whose rows follow from rows before, as in a running sum or a recurrent network.

Tests: tests/vta/te/test_scan.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isa.errors import VTAError
from isa.origin import Origin
from vta.te.operation import ComputeOp, PlaceholderOp
from vta.te.scans.scan_op import ScanOp
from vta.te.source import user_line
from vta.te.tensor import Tensor
from vta.tir.expr import Expr, ExprLike, IterVar, Range, Var, same

__all__ = ["ScanError", "scan"]


class ScanError(VTAError, ValueError):
    """Tensors that make no scan."""


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, ExprLike] | None = None,
) -> Tensor | list[Tensor]:
    """Return the tensors that begin with ``init`` and go on, row by row along dimension 0, with ``update``.

    ``update`` reads earlier rows of ``state_placeholder``, which has the shape of the result. Several states are given
    as lists, and come back as one. ``inputs`` are what else the rows depend on; they are found without.
    """
    inits, updates, states = (_several(given) for given in (init, update, state_placeholder))
    if not len(inits) == len(updates) == len(states):
        raise ScanError(
            f"scan {name!r}: expected as many inits as updates and states, got {len(inits)}, {len(updates)} and "
            f"{len(states)}"
        )
    rows = inits[0].shape[0] if inits and inits[0].shape else None
    if rows is None:
        raise ScanError(f"scan {name!r}: a state has at least one dimension, the one that the rows follow along")
    for first, step, state in zip(inits, updates, states, strict=True):
        _check(name, first, step, state, rows)
    if len({t.op for t in (*inits, *updates)}) != len(inits) + len(updates):
        raise ScanError(f"scan {name!r}: every init and every update is an operation of its own, with one output")
    axis = IterVar(Range(rows, updates[0].shape[0] - rows), Var(f"{name}.idx"))
    _several(() if inputs is None else inputs)
    op = ScanOp(name, tag, attrs or {}, axis, inits, updates, states, Origin(name, user_line()))
    return list(op.outputs) if len(op.outputs) > 1 else op.outputs[0]


def _several(given: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    items = tuple(given) if isinstance(given, Sequence) else (given,)
    for item in items:
        if not isinstance(item, Tensor):
            raise ScanError(f"scan: expected tensors, got {item!r}")
    return items


def _check(name: str, first: Tensor, step: Tensor, state: Tensor, rows: Expr) -> None:
    if not isinstance(state.op, PlaceholderOp):
        raise ScanError(f"scan {name!r}: the state {state.name!r} must be a te.placeholder, which the scan fills")
    for what, tensor in (("init", first), ("update", step)):
        if not isinstance(tensor.op, ComputeOp):
            raise ScanError(f"scan {name!r}: the {what} {tensor.name!r} must be a te.compute")
        if tensor.dtype != state.dtype:
            raise ScanError(f"scan {name!r}: the {what} {tensor.name!r} is {tensor.dtype}, its state {state.dtype}")
    if not same(step.shape, state.shape) or not same(first.shape, (rows, *state.shape[1:])):
        raise ScanError(
            f"scan {name!r}: the update {step.name!r} must have the shape of its state, and the init {first.name!r}, "
            "but for the number of rows, which is the same for all"
        )
