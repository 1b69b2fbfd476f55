"""Move multiplications by a constant for each channel into the weights of a convolution or dense layer.

Before::

    %0 = nn.conv2d(%x, const<float32[8, 3, 3, 3]>(#0));
    %1 = add(%0, const<float32[8, 1, 1]>(#1));
    %2 = nn.relu(%1);
    %3 = multiply(%2, const<float32[8, 1, 1]>(#2));

After, with ``#0`` times ``#2`` along O, and ``#1`` times ``#2``::

    %0 = nn.conv2d(%x, const<float32[8, 3, 3, 3]>(#0));
    %1 = add(%0, const<float32[8, 1, 1]>(#1));
    %2 = nn.relu(%1);

This is *backward*. *Forward*, a multiplication in front of a convolution goes into its input channels, and what is
added between is divided. A ReLU or a max pool on the way lets positive factors pass alone, and every node on the way
must have no other reader. Tests: tests/vta/relay/transform/test_fold_scale_axis.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.convolution import Conv2dAttrs, Conv2dTransposeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array
from vta.relay.ir.nodes import Call, Constant, Expr, Function, tensor_type
from vta.relay.ir.origin import merged
from vta.relay.ir.traverse import post_order, use_counts, users
from vta.relay.ops.call import with_args
from vta.relay.ops.rewrite import replace_nodes, with_body

__all__ = ["backward_fold_scale_axis", "fold_scale_axis", "forward_fold_scale_axis"]

_CHANNELS = 1
_POSITIVE_ONLY = (Op.RELU, Op.LEAKY_RELU, Op.PRELU, Op.MAX_POOL2D, Op.GLOBAL_MAX_POOL2D)
_LINEAR = (Op.AVG_POOL2D, Op.GLOBAL_AVG_POOL2D)


def fold_scale_axis(function: Function) -> Function:
    """Return ``function`` with multiplications folded backward, then those that are left, forward."""
    return forward_fold_scale_axis(backward_fold_scale_axis(function))


def backward_fold_scale_axis(function: Function) -> Function:
    """Return ``function`` with multiplications behind layers in their weights."""
    return _until_done(function, _backward)


def forward_fold_scale_axis(function: Function) -> Function:
    """Return ``function`` with multiplications in front of layers in their weights."""
    return _until_done(function, _forward)


def _until_done(function: Function, one: Callable[[Function, Call], Mapping[Expr, Expr] | None]) -> Function:
    """Fold one multiplication after the other; each makes new nodes."""
    while True:
        candidates = [expr for expr in post_order(function.body) if isinstance(expr, Call)]
        found = (one(function, expr) for expr in candidates if expr.callee is Op.MULTIPLY)
        change = next((each for each in found if each is not None), None)
        if change is None:
            return function
        function = with_body(function, replace_nodes(function.body, change))


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A multiplication: its data, and the factor of each channel."""

    data: Expr
    factors: Array


def _scaled(expr: Call) -> _Scaled | None:
    """Return the data and the factors of a multiplication by a constant along channels, None if it is another one."""
    for data, other in (expr.args, expr.args[::-1]):
        if isinstance(other, Constant) and not isinstance(data, Constant) and data.type == expr.type:
            factors = _along_channels(other.value, tensor_type(expr).shape)
            if factors is not None and tensor_type(expr).dtype.is_float:
                return _Scaled(data, factors)
    return None


def _along_channels(value: Array, shape: tuple[int, ...]) -> Array | None:
    """Return one number for each channel if that is what ``value`` broadcasts to, None otherwise."""
    if len(shape) < 2:
        return None
    wide = value.reshape((1,) * (len(shape) - value.ndim) + value.shape)
    if any(size != 1 for axis, size in enumerate(wide.shape) if axis != _CHANNELS):
        return None
    return np.broadcast_to(wide.reshape(-1), (shape[_CHANNELS],))


def _spread(factors: Array, rank: int) -> Array:
    """Return factors in a shape that broadcasts to data of ``rank`` dimensions."""
    return factors.reshape(-1, *(1,) * (rank - 2))


# --- backward --------------------------------------------------------------------------------------------------------


def _backward(function: Function, multiplication: Call) -> Mapping[Expr, Expr] | None:
    scaled = _scaled(multiplication)
    if scaled is None:
        return None
    counts = use_counts(function.body)
    path: list[Call] = []
    now = scaled.data
    while isinstance(now, Call) and counts[now] == 1:
        path.append(now)
        if _is_layer(now):
            return {multiplication: _rebuilt(path, scaled.factors, multiplication)}
        if not _passes(now, scaled.factors):
            return None
        now = now.args[_data_operand(now)]
    return None


def _is_layer(expr: Call) -> bool:
    """Whether ``expr`` has a constant weight along whose outputs factors can go."""
    if len(expr.args) != 2 or not isinstance(expr.args[1], Constant):
        return False
    match expr.attrs:
        case Conv2dTransposeAttrs():
            is_plain = (expr.attrs.data_layout, expr.attrs.kernel_layout) == ("NCHW", "IOHW")
            return expr.callee is Op.CONV2D_TRANSPOSE and is_plain
        case Conv2dAttrs():
            return expr.callee is Op.CONV2D and (expr.attrs.data_layout, expr.attrs.kernel_layout) == ("NCHW", "OIHW")
        case _:
            return expr.callee is Op.DENSE and tensor_type(expr).rank == 2


def _data_operand(expr: Call) -> int:
    """Return which operand of ``expr`` is not the constant."""
    return 1 if len(expr.args) == 2 and isinstance(expr.args[0], Constant) else 0


def _passes(expr: Call, factors: Array) -> bool:
    """Whether a multiplication may change places with ``expr``."""
    match expr.callee:
        case op if op in _POSITIVE_ONLY:
            return _is_plain(expr) and bool((factors > 0).all())
        case op if op in _LINEAR:
            return _is_plain(expr)
        case Op.BIAS_ADD:
            return isinstance(expr.args[1], Constant) and isinstance(expr.attrs, AxisAttrs) and expr.attrs.axis == 1
        case Op.ADD:
            return _addend(expr) is not None
        case _:
            return False


def _is_plain(expr: Call) -> bool:
    """Whether the channels of ``expr`` are axis 1."""
    return getattr(expr.attrs, "layout", "NCHW") == "NCHW" and getattr(expr.attrs, "axis", _CHANNELS) == _CHANNELS


def _addend(expr: Call) -> Array | None:
    """Return what a constant addend is for each channel, None if there is none."""
    place = 1 - _data_operand(expr)
    other = expr.args[place]
    if not isinstance(other, Constant) or expr.args[1 - place].type != expr.type:
        return None
    return _along_channels(other.value, tensor_type(expr).shape)


def _rebuilt(path: list[Call], factors: Array, multiplication: Call) -> Expr:
    """Return the nodes of ``path``, the layer last, with ``factors`` in them."""
    layer = path[-1]
    now: Expr = replace(
        with_args(layer, [layer.args[0], _with_outputs_scaled(layer, factors)]),
        origins=merged((layer.origins, multiplication.origins)),
    )
    for expr in reversed(path[:-1]):
        now = _again(expr, now, factors)
    return now


def _with_outputs_scaled(layer: Call, factors: Array) -> Constant:
    """Return the weight of a layer whose output channels are multiplied."""
    weight = layer.args[1]
    assert isinstance(weight, Constant)
    value = weight.value
    if isinstance(layer.attrs, Conv2dTransposeAttrs):
        groups = layer.attrs.groups
        split = value.reshape(groups, -1, *value.shape[1:])
        scaled = (split * factors.reshape(groups, 1, -1, 1, 1)).reshape(value.shape)
    else:
        scaled = value * factors.reshape(-1, *(1,) * (value.ndim - 1))
    return Constant(scaled.astype(value.dtype), weight.name)


def _again(expr: Call, data: Expr, factors: Array) -> Call:
    """Return ``expr`` of scaled ``data``; what it adds is scaled, too."""
    place = _data_operand(expr)
    args = list(expr.args)
    args[place] = data
    if expr.callee is Op.BIAS_ADD:
        bias = args[1]
        assert isinstance(bias, Constant)
        args[1] = Constant((bias.value * factors).astype(bias.value.dtype), bias.name)
    elif expr.callee is Op.ADD:
        addend = _addend(expr)
        assert addend is not None
        value = (addend * factors).astype(addend.dtype)
        args[1 - place] = Constant(_spread(value, tensor_type(expr).rank))
    return with_args(expr, args)


# --- forward ---------------------------------------------------------------------------------------------------------


def _forward(function: Function, multiplication: Call) -> Mapping[Expr, Expr] | None:
    scaled = _scaled(multiplication)
    if scaled is None or not np.isfinite(scaled.factors).all():
        return None
    readers = users([function.body])
    path: list[Call] = []
    now: Expr = multiplication
    while now is not function.body and len(readers[now]) == 1:
        reader = readers[now][0]
        if not isinstance(reader, Call) or (reader.args[0] is not now and not _is_sum_of(reader, now)):
            return None
        if _is_layer(reader) and _has_whole_inputs(reader):
            layer = _moved_into(reader, path, scaled, multiplication)
            return None if layer is None else {reader: layer}
        if not _passes(reader, scaled.factors) or (reader.callee in (Op.ADD, Op.BIAS_ADD) and 0 in scaled.factors):
            return None
        path.append(reader)
        now = reader
    return None


def _is_sum_of(expr: Call, data: Expr) -> bool:
    return expr.callee is Op.ADD and expr.args[_data_operand(expr)] is data


def _has_whole_inputs(layer: Call) -> bool:
    """Whether factors can go along the input channels of a layer's weight."""
    match layer.attrs:
        case Conv2dTransposeAttrs():
            return True
        case Conv2dAttrs():
            channels = tensor_type(layer.args[0]).shape[_CHANNELS]
            return layer.attrs.groups in (1, channels)
        case _:
            return True


def _moved_into(layer: Call, path: list[Call], scaled: _Scaled, multiplication: Call) -> Call | None:
    now = scaled.data
    with np.errstate(all="ignore"):
        inverse = 1 / scaled.factors
    for expr in path:
        now = _again(expr, now, inverse)
    new = with_args(layer, [now, _with_inputs_scaled(layer, scaled.factors)])
    return replace(new, origins=merged((multiplication.origins, layer.origins)))


def _with_inputs_scaled(layer: Call, factors: Array) -> Constant:
    """Return the weight of a layer whose input channels are multiplied."""
    weight = layer.args[1]
    assert isinstance(weight, Constant)
    value = weight.value
    match layer.attrs:
        case Conv2dTransposeAttrs():
            scaled = value * factors.reshape(-1, 1, 1, 1)
        case Conv2dAttrs() if layer.attrs.groups > 1:
            per_channel = value.shape[0] // layer.attrs.groups
            scaled = value * np.repeat(factors, per_channel).reshape(-1, 1, 1, 1)
        case _:
            scaled = value * factors.reshape(1, -1, *(1,) * (value.ndim - 2))
    return Constant(scaled.astype(value.dtype), weight.name)
