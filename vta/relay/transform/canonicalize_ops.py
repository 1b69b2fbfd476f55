"""Write the same thing in one way, and leave out what changes nothing.

Before::

    %0 = nn.bias_add(%x, %b);
    %1 = nn.batch_flatten(%0);
    %2 = reshape(%1, newshape=(1, 16, 4));
    %3 = transpose(transpose(%2, axes=(0, 2, 1)), axes=(0, 2, 1));
    %4 = cast(%3, dtype="float32");

After::

    %0 = add(%x, expand_dims(%b, axis=1, num_newaxis=2));
    %1 = reshape(%0, newshape=(1, 16, 4));

``nn.bias_add`` becomes ``add``; squeezes, new axes and flattening become ``reshape``; reshapes, transposes and layout
transformations behind each other become one or none; casts, pads, slices, copies and the like that change nothing go,
and so do additions of 0 and products with 1. Tests: tests/vta/relay/transform/test_canonicalize_ops.py.
"""

from dataclasses import replace

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.layouts import LayoutAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import ExpandDimsAttrs, ReshapeAttrs, TransposeAttrs
from vta.relay.ir.nodes import Call, Constant, Expr, Function, tensor_type
from vta.relay.ir.origin import Origin, merged
from vta.relay.ops.call import call
from vta.relay.ops.rewrite import rewrite_function

__all__ = ["canonicalize_ops"]

_RESHAPES = (Op.RESHAPE, Op.SQUEEZE, Op.EXPAND_DIMS, Op.BATCH_FLATTEN)
_MAY_CHANGE_NOTHING = (
    Op.COPY, Op.CAST, Op.TILE, Op.BROADCAST_TO, Op.PAD, Op.STRIDED_SLICE, Op.CONCATENATE, Op.UPSAMPLING,
)  # fmt: skip
"""Operators that give their first input back if the result has its type (a slice that does not go backwards)."""

_NEUTRAL = {Op.ADD: 0, Op.SUBTRACT: 0, Op.MULTIPLY: 1, Op.DIVIDE: 1}


def canonicalize_ops(function: Function) -> Function:
    """Return ``function`` in canonical form."""
    return rewrite_function(function, _canonical)


def _canonical(expr: Expr) -> Expr:
    if not isinstance(expr, Call):
        return expr
    match expr.callee:
        case Op.BIAS_ADD:
            return _added(expr)
        case op if op in _RESHAPES:
            return _reshaped(expr)
        case Op.TRANSPOSE:
            return _transposed(expr)
        case Op.LAYOUT_TRANSFORM:
            return _laid_out(expr)
        case op if op in _MAY_CHANGE_NOTHING:
            return expr.args[0] if _changes_nothing(expr) else expr
        case op if op in _NEUTRAL:
            return _without_neutral(expr)
        case _:
            return expr


def _added(expr: Call) -> Expr:
    assert isinstance(expr.attrs, AxisAttrs)
    data, bias = expr.args
    rank = tensor_type(data).rank
    behind = rank - expr.attrs.axis % rank - 1
    spread = call(Op.EXPAND_DIMS, [bias], ExpandDimsAttrs(1, behind), expr.origins) if behind else bias
    return call(Op.ADD, [data, _canonical(spread)], origins=expr.origins)


def _reshaped(expr: Call) -> Expr:
    """Return one ``reshape`` with the sizes written out, of what was not reshaped before."""
    data, origins = expr.args[0], expr.origins
    shape = tensor_type(expr).shape
    if isinstance(data, Call) and data.callee in _RESHAPES:
        origins = merged((data.origins, origins))
        data = data.args[0]
    if tensor_type(data).shape == shape:
        return data
    if expr.callee is Op.RESHAPE and data is expr.args[0] and expr.attrs == ReshapeAttrs(shape):
        return expr
    if 0 in shape:
        return expr  # a size of 0 means another thing in newshape
    return call(Op.RESHAPE, [data], ReshapeAttrs(shape), origins)


def _order(expr: Call) -> tuple[int, ...]:
    assert isinstance(expr.attrs, TransposeAttrs)
    rank = tensor_type(expr).rank
    axes = expr.attrs.axes
    return tuple(reversed(range(rank))) if axes is None else tuple(axis % rank for axis in axes)


def _transposed(expr: Call) -> Expr:
    data, order, origins = expr.args[0], _order(expr), expr.origins
    if isinstance(data, Call) and data.callee is Op.TRANSPOSE:
        before = _order(data)
        order, origins = tuple(before[axis] for axis in order), merged((data.origins, origins))
        data = data.args[0]
    if order == tuple(range(len(order))):
        return data
    return _same_or_new(expr, data, TransposeAttrs(order), origins)


def _laid_out(expr: Call) -> Expr:
    assert isinstance(expr.attrs, LayoutAttrs)
    data, attrs, origins = expr.args[0], expr.attrs, expr.origins
    if isinstance(data, Call) and isinstance(data.attrs, LayoutAttrs):
        attrs, origins = LayoutAttrs(data.attrs.src_layout, attrs.dst_layout), merged((data.origins, origins))
        data = data.args[0]
    return data if attrs.src_layout == attrs.dst_layout else _same_or_new(expr, data, attrs, origins)


def _same_or_new(expr: Call, data: Expr, attrs: Attrs, origins: tuple[Origin, ...]) -> Call:
    """Return ``expr`` if it reads ``data`` with ``attrs`` already, otherwise the same operator that does."""
    if data is expr.args[0] and attrs == expr.attrs:
        return expr
    assert isinstance(expr.callee, Op)
    return replace(call(expr.callee, [data], attrs), origins=origins)


def _changes_nothing(expr: Call) -> bool:
    """Whether an operator that gives its first input back, if it has the result's type, does so here."""
    if expr.type != expr.args[0].type or (expr.callee is Op.CONCATENATE and len(expr.args) > 1):
        return False
    strides = getattr(expr.attrs, "strides", None) if expr.callee is Op.STRIDED_SLICE else None
    return strides is None or min(strides) > 0


def _without_neutral(expr: Call) -> Expr:
    """Return the other operand where one changes nothing; of a difference or quotient, only the second may."""
    assert isinstance(expr.callee, Op)
    neutral, (lhs, rhs) = _NEUTRAL[expr.callee], expr.args
    if _is_all(rhs, neutral) and lhs.type == expr.type:
        return lhs
    is_commutative = expr.callee in (Op.ADD, Op.MULTIPLY)
    return rhs if is_commutative and _is_all(lhs, neutral) and rhs.type == expr.type else expr


def _is_all(expr: Expr, number: int) -> bool:
    return isinstance(expr, Constant) and bool(np.all(expr.value == number))
