"""Graphs within graphs: ``If`` and ``Loop`` whose conditions are constant, written out.

Tests: tests/vta/relay/onnx/test_backend_cases.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import ExpandDimsAttrs
from runtime.executor.operators.selection import ConcatenateAttrs
from vta.relay.ir.nodes import Constant, Expr, tensor_type
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS", "MOST_ROUNDS"]

MOST_ROUNDS = 1024
"""Rounds of a loop that are written out."""


def _if(node: Node) -> Sequence[Expr]:
    condition = node.known(0)
    if condition is None or condition.size != 1:
        node.refuse("its condition is missing, or not one truth")
    taken, other = ("then_branch", "else_branch") if condition.reshape(-1)[0] else ("else_branch", "then_branch")
    node.ignore(other)
    return node.inner(taken, ())


def _loop(node: Node) -> Sequence[Expr]:
    limit, condition = node.known(0), node.known(1)
    rounds = None if limit is None else int(limit.reshape(-1)[0])
    goes_on = condition is None or bool(condition.reshape(-1)[0])
    carried: list[Expr] = [node.input(index) for index in range(2, len(node.inputs))]
    scanned: list[list[Expr]] = []
    number = 0
    while goes_on and (rounds is None or number < rounds):
        if number == MOST_ROUNDS:
            node.refuse(f"it has more than {MOST_ROUNDS} rounds, which are not written out")
        given = (Constant(np.array(number, np.int64)), Constant(np.array(True)), *carried)
        condition_after, *results = node.inner("body", given)
        carried, scans = results[: len(carried)], results[len(carried) :]
        scanned.append(list(scans))
        goes_on = bool(node.value_of(condition_after, "the condition after a round").reshape(-1)[0])
        number += 1
    if not scanned and len(node.outputs) > len(carried):
        node.refuse("it has no rounds, so the shapes of what it collects are not known")
    return [*carried, *(_stacked(node, rows) for rows in zip(*scanned, strict=True))]


def _stacked(node: Node, rows: Sequence[Expr]) -> Expr:
    """Return one value a round as one tensor, whose first axis counts the rounds."""
    wide = [node.call(Op.EXPAND_DIMS, (row,), ExpandDimsAttrs(0)) for row in rows]
    if len({tensor_type(each) for each in wide}) > 1:
        node.refuse("what it collects has another shape from round to round")
    return node.call(Op.CONCATENATE, wide, ConcatenateAttrs(0))


CONVERTERS: Mapping[str, Converter] = {"If": _if, "Loop": _loop}
