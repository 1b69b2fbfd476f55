"""Compute convolutions and pools of other layouts in NCHW, which the accelerator's operators and most passes expect.

Before::

    %0 = nn.conv2d(%x, const<float32[3, 3, 4, 8]>(#0), data_layout="NHWC", kernel_layout="HWIO");

After::

    %0 = transpose(%x, axes=(0, 3, 1, 2));
    %1 = nn.conv2d(%0, const<float32[8, 4, 3, 3]>(#0));
    %2 = transpose(%1, axes=(0, 2, 3, 1));

What is computed element by element behind a layer is computed in front of its transpose, so that the layer keeps its
epilogue, and transposes that meet vanish. Layers in blocked layouts stay as they are.
Tests: tests/vta/relay/transform/test_plain_layouts.py.
"""

from dataclasses import replace

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.convolution import Conv2dAttrs, Conv2dTransposeAttrs
from runtime.executor.operators.layouts import Layout
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern
from runtime.executor.operators.pooling import GlobalPoolAttrs, Pool2dAttrs
from runtime.executor.operators.qnn.quantize import DequantizeAttrs
from runtime.executor.operators.rearrange import TransposeAttrs
from runtime.executor.operators.resize import Resize2dAttrs, UpsamplingAttrs
from runtime.executor.operators.table import operator
from vta.relay.ir.nodes import Call, Constant, Expr, Function, tensor_type
from vta.relay.ops.call import call
from vta.relay.ops.rewrite import rewrite_function

__all__ = ["plain_layouts"]

_IMAGES = "NCHW"


def plain_layouts(function: Function) -> Function:
    """Return ``function`` with all layers that have whole axes alone in NCHW; itself if they are."""
    return rewrite_function(function, _rewritten)


def _rewritten(expr: Expr) -> Expr:
    if not isinstance(expr, Call) or not isinstance(expr.callee, Op):
        return expr
    match expr.attrs:
        case Conv2dTransposeAttrs() as attrs:
            plain: Attrs = replace(attrs, data_layout=_IMAGES, kernel_layout="IOHW")
            return _moved(expr, attrs.data_layout, plain, (attrs.kernel_layout, "IOHW"))
        case Conv2dAttrs() as attrs:
            plain = replace(attrs, data_layout=_IMAGES, kernel_layout="OIHW")
            return _moved(expr, attrs.data_layout, plain, (attrs.kernel_layout, "OIHW"))
        case Pool2dAttrs() | GlobalPoolAttrs() | Resize2dAttrs() | UpsamplingAttrs() as attrs:
            return _moved(expr, attrs.layout, replace(attrs, layout=_IMAGES))
        case _:
            return _before_transpose(expr)


def _before_transpose(expr: Call) -> Expr:
    """Return ``transpose(op(x))`` for ``op(transpose(x))``, where every element is computed for itself."""
    assert isinstance(expr.callee, Op)
    moved = [each for each in expr.args if isinstance(each, Call) and each.callee is Op.TRANSPOSE]
    if not moved or operator(expr.callee).pattern > Pattern.BROADCAST or expr.callee is Op.BROADCAST_TO:
        return expr
    attrs = moved[0].attrs
    assert isinstance(attrs, TransposeAttrs)
    axes, rank = attrs.axes, tensor_type(moved[0]).rank
    if axes is None or rank != len(_IMAGES) or tensor_type(expr).rank != rank:
        return expr
    along = getattr(expr.attrs, "axis", None)
    args = [_operand(each, axes, is_along=along is not None and at > 0) for at, each in enumerate(expr.args)]
    known = [each for each in args if each is not None]
    if len(known) < len(args):
        return expr
    new = expr.attrs if along is None else replace(expr.attrs, axis=axes[along % rank])  # type: ignore[call-arg]  # it has
    return call(Op.TRANSPOSE, [call(expr.callee, known, new, expr.origins)], attrs, moved[0].origins)


def _operand(expr: Expr, axes: tuple[int, ...], *, is_along: bool) -> Expr | None:
    """Return what an operand is in front of a transpose; None if it cannot be there."""
    rank = tensor_type(expr).rank
    if is_along or rank == 0:  # values along an axis, and single ones, have no order of axes
        return expr if rank < 2 else None
    if isinstance(expr, Call) and expr.callee is Op.TRANSPOSE and expr.attrs == TransposeAttrs(axes):
        return expr.args[0]
    if isinstance(expr, Constant):
        wide = expr.value.reshape((1,) * (len(axes) - rank) + expr.value.shape)
        return Constant(np.ascontiguousarray(wide.transpose(np.argsort(axes))), expr.name)
    return None


def _moved(layer: Call, layout: str, attrs: Attrs, kernel: tuple[str, str] = ("", "")) -> Expr:
    """Return ``layer`` with plain ``attrs``, transposes around it, and its weight from one layout to the other."""
    if (layout, kernel[0]) == (_IMAGES, kernel[1]) or not _is_permutation(layout, _IMAGES):
        return layer
    if kernel[0] and not _is_permutation(*kernel):
        return layer
    assert isinstance(layer.callee, Op)
    args = [_transposed(layer.args[0], layout, _IMAGES, layer), *layer.args[1:]]
    if kernel[0]:
        args[1] = _transposed(args[1], *kernel, layer)
    return _transposed(call(layer.callee, args, attrs, layer.origins), _IMAGES, layout, layer)


def _is_permutation(layout: str, of: str) -> bool:
    return sorted(Layout.of(layout).plain) == sorted(of) and Layout.of(layout).rank == len(of)


def _transposed(expr: Expr, source: str, target: str, layer: Call) -> Expr:
    """Return ``expr`` in another layout; constants, and integers with scales, are moved at once."""
    if source == target:
        return expr
    axes = tuple(source.index(letter) for letter in target)
    match expr:
        case Call(callee=Op.TRANSPOSE, attrs=TransposeAttrs(axes=(*before,))) if [before[axis] for axis in axes] == [
            *range(len(axes))
        ]:
            return expr.args[0]
        case Constant():
            return Constant(np.ascontiguousarray(expr.value.transpose(axes)), expr.name)
        case Call(callee=Op.DEQUANTIZE, args=(Constant() as cells, *scales), attrs=DequantizeAttrs(axis=axis)):
            moved = _transposed(cells, source, target, layer)
            attrs = DequantizeAttrs(target.index(source[axis % len(source)]))
            return call(Op.DEQUANTIZE, [moved, *scales], attrs, expr.origins)
        case _:
            return call(Op.TRANSPOSE, [expr], TransposeAttrs(axes), layer.origins)
