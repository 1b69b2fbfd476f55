"""Concatenations on the accelerator: the parts are made in their places, or a product with ones moves them there.

In the device's memory, blocks of channels follow each other. So where every part but the last one consists of whole
blocks, its tensor is a piece of the whole one, and nothing is left to do. Otherwise the parts lie one behind the other
all the same, each with a block of its own to begin with, and a convolution of 1x1 with ones moves their channels
together. Tests: tests/vta/relay/backend/test_joins.py.
"""

import numpy as np

from runtime.executor.operators.names import Op
from runtime.executor.operators.selection import ConcatenateAttrs
from vta.environment import Environment
from vta.relay.backend.heads import Layer, RefusedError
from vta.relay.backend.kernel import Join, Stacked
from vta.relay.ir.nodes import Call, Expr, Function, tensor_type
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls
from vta.relay.ops.call import call as make_call
from vta.relay.ops.rewrite import rewrite_function
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Epilogue
from vta.topi.core.layout import blocks

__all__ = ["VIEWS", "join_of", "with_parts_apart"]

VIEWS = (Op.RESHAPE, Op.SQUEEZE, Op.EXPAND_DIMS, Op.BATCH_FLATTEN)
"""Operators that may leave an activation as it lies on the device."""

_MOST_BLOCKS = 64
"""Products for each block of the result up to which channels are moved by them: the host moves bytes."""


def join_of(call: Call, env: Environment) -> Join | Layer:
    """Return how the accelerator does a concatenation; raises ``RefusedError`` saying why it does not."""
    attrs, kind = call.attrs, tensor_type(call)
    assert isinstance(attrs, ConcatenateAttrs)
    if kind.dtype != "int8" or kind.rank not in (2, 4):
        raise RefusedError(f"it joins to {kind}, and the accelerator joins int8 tensors of two or four dimensions")
    if attrs.axis % kind.rank != 1:
        raise RefusedError(f"it joins along axis {attrs.axis}, and the accelerator joins channels")
    if blocks(kind.shape[0], env.BATCH) > 1:
        raise RefusedError(f"it joins channels of {kind.shape[0]} images, and they lie together for {env.BATCH}")
    channels = [tensor_type(part).shape[1] for part in call.args]
    if all(count % env.BLOCK_OUT == 0 for count in channels[:-1]):
        return Join(call)
    return _moved(call, channels, env)


def _moved(call: Call, channels: list[int], env: Environment) -> Layer:
    """Return the convolution that moves the channels of a concatenation together."""
    kind, block = tensor_type(call), env.BLOCK_OUT
    if block != env.BLOCK_IN:
        raise RefusedError(f"its parts are no whole blocks, and data have blocks of {env.BLOCK_IN}, results of {block}")
    taken = [blocks(count, block) for count in channels]
    if sum(taken) > _MOST_BLOCKS:
        raise RefusedError(
            f"its parts are no whole blocks and have {sum(taken)} together; up to {_MOST_BLOCKS} are moved by products"
        )
    weights = np.zeros((kind.shape[1], sum(taken) * block, 1, 1), np.int8)
    row = first = 0
    for count, number in zip(channels, taken, strict=True):
        weights[np.arange(row, row + count), np.arange(first, first + count)] = 1
        row, first = row + count, first + number * block
    rows, columns = kind.shape[2:] if kind.rank == 4 else (1, 1)

    def make(epilogue: Epilogue) -> Conv2d:
        return Conv2d(kind.shape[0], weights.shape[1], rows, columns, kind.shape[1], (1, 1), epilogue=epilogue)

    return Layer(make, (Stacked(call.args), weights))


def with_parts_apart(function: Function, env: Environment) -> Function:
    """Return ``function`` with copies of what would have to lie in two places.

    before                          after
    %1 = concatenate((%x, %x))      %1 = copy(%x)
                                    %2 = concatenate((%x, %1))
    """
    joined = {call for call in calls(function) if call.callee is Op.CONCATENATE and _is_done(call, env)}
    if not joined:
        return function
    placed: set[Expr] = set()
    # Nodes are rebuilt from the leaves up: what is met here are the new ones, so concatenations are counted, not named.
    originals = iter([call for call in calls(function) if call.callee is Op.CONCATENATE])

    def apart(expr: Expr) -> Expr:
        if not isinstance(expr, Call) or expr.callee is not Op.CONCATENATE or next(originals) not in joined:
            return expr
        parts: list[Expr] = []
        for number, part in enumerate(expr.args):
            source = _owner(part)
            if source in placed:
                origins = tuple(Origin(f"{origin.name}.part{number}", "Copy") for origin in expr.origins[:1])
                parts.append(make_call(Op.COPY, (part,), None, origins))
            else:
                parts.append(part)
            placed.add(source)
        if all(a is b for a, b in zip(parts, expr.args, strict=True)):
            return expr
        return make_call(Op.CONCATENATE, parts, expr.attrs, expr.origins)

    return rewrite_function(function, apart)


def _is_done(call: Call, env: Environment) -> bool:
    try:
        join_of(call, env)
    except RefusedError:
        return False
    return True


def _owner(expr: Expr) -> Expr:
    """Return the expression whose memory another name is."""
    while isinstance(expr, Call) and expr.callee in VIEWS:
        expr = expr.args[0]
    return expr
