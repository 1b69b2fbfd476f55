"""The zero point of what a layer without pads reads becomes part of the bias that follows.

    before                                              after
    %1 = qnn.conv2d(%0, w, input_zero_point=-128)       %1 = qnn.conv2d(%0, w)
    %2 = qnn.rescale(%1, bias, ...)                     %2 = qnn.rescale(%1, bias + 128 * sum(w), ...)

The sums less a zero point differ from those of the cells by the same number everywhere in a channel, and a bias costs
nothing. At pads they would not: there, nothing is taken off. Tests: tests/vta/relay/integer/test_zero_points.py.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.products import QnnConv2dAttrs, QnnDenseAttrs
from vta.relay.integer.scaling import along
from vta.relay.integer.weights import known
from vta.relay.ir.nodes import Call, Expr, Function, tensor_type
from vta.relay.ir.traverse import children, post_order, use_counts
from vta.relay.ops.rewrite import with_body, with_children

__all__ = ["fold_zero_points"]

_MOST = 1 << 30
"""Of sums without a zero point, and of biases with it."""


def fold_zero_points(function: Function) -> Function:
    """Return ``function`` with such zero points in biases, where only requantisations read the layer."""
    biases = _foldable(function)
    new: dict[Expr, Expr] = {}
    for expr in post_order(function.body):
        rebuilt = with_children(expr, tuple([new[child] for child in children(expr)]))
        if isinstance(rebuilt, Call) and isinstance(expr, Call):
            if expr in biases:
                rebuilt = replace(rebuilt, attrs=replace(rebuilt.attrs, input_zero_point=0))  # type: ignore[call-arg]
            elif expr.callee is Op.RESCALE and expr.args[0] in biases:
                rebuilt = _with_bias(rebuilt, biases[expr.args[0]])
        new[expr] = rebuilt
    return with_body(function, new[function.body])


def _foldable(function: Function) -> dict[Expr, npt.NDArray[np.int64]]:
    """Return the layers whose zero point can be folded, and what it adds to each channel."""
    counts = use_counts(function.body)
    readers: dict[Expr, list[Call]] = {}
    for expr in post_order(function.body):
        if isinstance(expr, Call) and expr.callee is Op.RESCALE:
            readers.setdefault(expr.args[0], []).append(expr)
    found = {}
    for expr, reading in readers.items():
        added = _added(expr)
        if added is not None and len(reading) == counts[expr] and all(_takes(each, added) for each in reading):
            found[expr] = added
    return found


def _added(expr: Expr) -> npt.NDArray[np.int64] | None:
    """Return what the zero point adds to each channel of a layer's sums; None for what is no such layer."""
    if not isinstance(expr, Call):
        return None
    match expr.attrs:
        case QnnConv2dAttrs(data_layout="NCHW", kernel_layout="OIHW") if not any(expr.attrs.padding):
            pass
        case QnnDenseAttrs():
            pass
        case _:
            return None
    weights = known(expr.args[1])
    zero = expr.attrs.input_zero_point
    if not zero or any(expr.attrs.kernel_zero_point) or weights is None or weights[0].size << 14 > _MOST:
        return None
    added: npt.NDArray[np.int64] = -zero * weights.reshape(len(weights), -1).sum(axis=1, dtype=np.int64)
    return added


def _takes(rescale: Call, added: npt.NDArray[np.int64]) -> bool:
    bias = known(rescale.args[1])
    return bias is not None and bool((np.abs(bias.reshape(-1).astype(np.int64) + added) < _MOST).all())


def _with_bias(rescale: Call, added: npt.NDArray[np.int64]) -> Call:
    bias = known(rescale.args[1])
    assert bias is not None
    table = along(bias.reshape(-1).astype(np.int64) + added, 1, tensor_type(rescale.args[0]).rank)
    return replace(rescale, args=(rescale.args[0], table, *rescale.args[2:]))
