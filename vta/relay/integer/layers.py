"""Layers on integers: convolutions, products, sums, averages. Each is int32 sums with a scale, or cells with one.

Tests: tests/vta/relay/integer/test_convert.py, tests/vta/relay/integer/test_patterns.py.
"""

from dataclasses import replace
from math import inf, lcm, prod

import numpy as np

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.convolution import Conv2dAttrs, Conv2dTransposeAttrs
from runtime.executor.operators.elementwise import ClipAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.pooling import AvgPool2dAttrs, window_counts, window_sums
from runtime.executor.operators.products import BatchMatmulAttrs
from runtime.executor.operators.qnn.products import (
    QnnBatchMatmulAttrs,
    QnnConv2dAttrs,
    QnnConv2dTransposeAttrs,
    QnnDenseAttrs,
    QnnMulAttrs,
)
from runtime.executor.operators.qnn.quantize import DequantizeAttrs
from runtime.executor.operators.qnn.tables import QnnPool2dAttrs
from runtime.executor.operators.rearrange import AxesAttrs, ReshapeAttrs
from runtime.executor.operators.reduction import ReduceAttrs
from runtime.executor.operators.windows import Window
from vta.relay.integer.values import Cells, Reals, Sums, Table, Term, Value
from vta.relay.integer.weights import Weights, bias_of, known, weights_of
from vta.relay.ir.nodes import Call, Constant, Expr, constant, tensor_type
from vta.relay.ir.origin import Origin, merged
from vta.relay.ops.call import call

__all__ = [
    "added", "average_pool", "batch_matmul", "bias_add", "conv2d", "conv2d_transpose", "dense", "divide",
    "global_average_pool", "matmul", "mean", "multiply", "of_cells", "of_sums", "sums_of",
]  # fmt: skip


def of_cells(cells: Cells, origins: tuple[Origin, ...]) -> Value:
    """Return a value that is real numbers as cells."""
    scale, zero = constant(cells.scale, "float32"), constant(cells.zero, "int8")
    return Value(lambda: call(Op.DEQUANTIZE, (cells.expr, scale, zero), DequantizeAttrs(0), origins), cells=cells)


def of_sums(sums: Sums, origins: tuple[Origin, ...], table: Table | None = None) -> Value:
    """Return a value that is real numbers as sums, and perhaps as a function of cells too."""
    return Value(lambda: _real(sums, origins), sums=sums, table=table)


def sums_of(value: Value) -> Sums | None:
    """Return what is known of a value as sums: cells are a sum of one."""
    if value.sums is None and value.cells is not None:
        return Sums(None, (value.cells,), 1)
    return value.sums


def _real(sums: Sums, origins: tuple[Origin, ...]) -> Expr:
    """Return the real numbers of sums."""
    parts: list[Expr] = []
    if sums.term is not None:
        scale = Constant(np.asarray(sums.term.scale if sums.term.scale.size > 1 else sums.term.scale[0], np.float32))
        zero = Constant(np.zeros(scale.type.shape, np.int32))
        parts.append(call(Op.DEQUANTIZE, (sums.term.expr, scale, zero), DequantizeAttrs(sums.axis), origins))
    parts += [of_cells(cells, origins).expr for cells in sums.cells]
    result = parts[0]
    for part in parts[1:]:
        result = call(Op.ADD, (result, part), None, origins)
    if sums.offset.any():
        result = _offset(result, sums, origins)
    if sums.is_limited:
        result = call(Op.CLIP, (result,), ClipAttrs(sums.low, sums.high), origins)
    return result


def _offset(result: Expr, sums: Sums, origins: tuple[Origin, ...]) -> Expr:
    offset = sums.offset.astype(np.float32)
    if offset.size == 1:
        return call(Op.ADD, (result, Constant(offset.reshape(()))), None, origins)
    return call(Op.BIAS_ADD, (result, Constant(offset)), AxisAttrs(sums.axis), origins)


# --- layers with weights ------------------------------------------------------------------------------------------


def conv2d(expr: Call, arguments: list[Value]) -> Value | None:
    """A convolution of cells with weights is int32 sums, at the product of the scales."""
    attrs, cells, weights = expr.attrs, arguments[0].cells, weights_of(expr.args[1], axis=0)
    assert isinstance(attrs, Conv2dAttrs)
    if cells is None or weights is None:
        return None
    integer = QnnConv2dAttrs(
        attrs.strides, attrs.padding, attrs.dilation, attrs.groups, attrs.data_layout, attrs.kernel_layout,
        input_zero_point=cells.zero, kernel_zero_point=weights.zeros,
    )  # fmt: skip
    return _layer(Op.QNN_CONV2D, cells, weights, integer, 1, expr)


def conv2d_transpose(expr: Call, arguments: list[Value]) -> Value | None:
    """The same for a transposed convolution; scales for channels are possible where there are no groups."""
    attrs, cells = expr.attrs, arguments[0].cells
    assert isinstance(attrs, Conv2dTransposeAttrs)
    weights = weights_of(expr.args[1], axis=1)
    if cells is None or weights is None or (attrs.groups > 1 and weights.scales.size > 1):
        return None
    integer = QnnConv2dTransposeAttrs(
        attrs.strides, attrs.padding, attrs.output_padding, attrs.dilation, attrs.groups, attrs.data_layout,
        attrs.kernel_layout, input_zero_point=cells.zero, kernel_zero_point=weights.zeros,
    )  # fmt: skip
    return _layer(Op.QNN_CONV2D_TRANSPOSE, cells, weights, integer, 1, expr)


def dense(expr: Call, arguments: list[Value]) -> Value | None:
    """The same for a product with weights (units, inputs)."""
    cells, weights = arguments[0].cells, weights_of(expr.args[1], axis=0)
    if cells is None or weights is None:
        return None
    return _layer(Op.QNN_DENSE, cells, weights, QnnDenseAttrs(cells.zero, weights.zeros), 1, expr)


def matmul(expr: Call, arguments: list[Value]) -> Value | None:
    """A product with weights (inputs, units) is that with the transposed ones, a row at a time."""
    cells, weights = arguments[0].cells, weights_of(expr.args[1], axis=1)
    if cells is None or weights is None or weights.cells.ndim != 2:
        return batch_matmul(expr, arguments)
    shape = tensor_type(expr).shape
    rows = prod(shape[:-1])
    flat = call(Op.RESHAPE, (cells.expr,), ReshapeAttrs((rows, weights.cells.shape[0])), expr.origins)
    turned = Weights(np.ascontiguousarray(weights.cells.T), weights.scales, weights.zeros)
    attrs = QnnDenseAttrs(cells.zero, weights.zeros)
    made = _layer(Op.QNN_DENSE, replace(cells, expr=flat), turned, attrs, 1, expr)
    assert made.sums is not None
    assert made.sums.term is not None
    wide = call(Op.RESHAPE, (made.sums.term.expr,), ReshapeAttrs(shape), expr.origins) if len(shape) != 2 else None
    term = made.sums.term if wide is None else Term(wide, made.sums.term.scale)
    return of_sums(Sums(term, (), len(shape) - 1), expr.origins)


def batch_matmul(expr: Call, arguments: list[Value]) -> Value | None:
    """A product of two activations."""
    a, b = arguments[0].cells, arguments[1].cells
    if a is None or b is None or tensor_type(expr.args[0]).rank != 3 or tensor_type(expr.args[1]).rank != 3:
        return None
    attrs = expr.attrs if isinstance(expr.attrs, BatchMatmulAttrs) else BatchMatmulAttrs()
    integer = QnnBatchMatmulAttrs(attrs.transpose_a, attrs.transpose_b, a.zero, b.zero)
    made = call(Op.QNN_BATCH_MATMUL, (a.expr, b.expr), integer, expr.origins)
    return of_sums(Sums(Term(made, np.array([a.scale * b.scale])), (), 2), expr.origins)


def _layer(op: Op, cells: Cells, weights: Weights, attrs: object, axis: int, expr: Call) -> Value:
    made = call(op, (cells.expr, Constant(weights.cells)), attrs, expr.origins)  # type: ignore[arg-type]
    return of_sums(Sums(Term(made, cells.scale * weights.scales), (), axis), expr.origins)


# --- sums -----------------------------------------------------------------------------------------------------------


def bias_add(expr: Call, arguments: list[Value]) -> Value | None:
    """A bias is an offset of the channels."""
    assert isinstance(expr.attrs, AxisAttrs)
    sums, bias = sums_of(arguments[0]), bias_of(expr.args[1])
    axis = expr.attrs.axis % tensor_type(expr).rank
    if sums is None or bias is None or sums.is_limited:
        return None
    return _with_offset(sums, bias.reshape(-1), axis, expr)


def _with_offset(sums: Sums, offset: Reals, axis: int, expr: Call) -> Value | None:
    by_channel = [values.size > 1 for values in (sums.offset, *([sums.term.scale] if sums.term else []))]
    if axis != sums.axis and offset.size > 1 and any(by_channel):
        return None
    settled = axis if offset.size > 1 else sums.axis
    own = sums.term.expr.origins if sums.term is not None and isinstance(sums.term.expr, Call) else ()
    origins = merged((sums.origins, tuple(origin for origin in expr.origins if origin not in own)))
    return of_sums(replace(sums, axis=settled, offset=sums.offset + offset, origins=origins), expr.origins)


def added(expr: Call, arguments: list[Value], table: Value | None) -> Value | None:
    """A sum of what is known as sums: of a layer and a residual, of two tensors of cells, of either and a constant."""
    shape = tensor_type(expr).shape
    for one, other in ((0, 1), (1, 0)):
        offset = bias_of(expr.args[other])
        sums = sums_of(arguments[one])
        if offset is None or sums is None:
            continue
        if sums.term is None and table is not None:
            return table  # exact
        axis = _offset_axis(offset.shape, shape) if _dims(expr.args[other]) == offset.shape else len(shape) - 1
        if sums.is_limited or axis is None or tensor_type(expr.args[one]).shape != shape:
            return table
        return _with_offset(sums, offset.reshape(-1), axis, expr) or table
    first, second = (sums_of(value) for value in arguments)
    if first is None or second is None or first.is_limited or second.is_limited:
        return table
    if tensor_type(expr.args[0]).shape != tensor_type(expr.args[1]).shape:
        return table
    joint = _joint(first, second, expr.origins)
    return table if joint is None else of_sums(joint, expr.origins, None if table is None else table.table)


def _dims(expr: Expr) -> tuple[int, ...]:
    return tensor_type(expr).shape


def _offset_axis(offset: tuple[int, ...], shape: tuple[int, ...]) -> int | None:
    """Return the only axis of ``shape`` that ``offset``, which broadcasts, goes along; the last one for one number."""
    wide = (1,) * (len(shape) - len(offset)) + offset
    along = [axis for axis, extent in enumerate(wide) if extent > 1]
    return None if len(along) > 1 else along[0] if along else len(shape) - 1


def _joint(first: Sums, second: Sums, origins: tuple[Origin, ...]) -> Sums | None:
    """Return the sum of two sums, where integer operators can do it: one layer at most, two tensors at most."""
    cells = (*first.cells, *second.cells)
    terms = [sums.term for sums in (first, second) if sums.term is not None]
    if len(terms) > 1 or len(cells) + len(terms) > 2:
        return None
    axes = {sums.axis for sums in (first, second) if sums.offset.size > 1 or (sums.term and sums.term.scale.size > 1)}
    if len(axes) > 1:
        return None
    axis = axes.pop() if axes else first.axis
    names = merged((first.origins, second.origins, origins))
    return Sums(terms[0] if terms else None, cells, axis, first.offset + second.offset, origins=names)


def multiply(expr: Call, arguments: list[Value]) -> Value | None:
    """A product with positive constants is another scale; one of cells is int32 products."""
    from vta.relay.integer import bent, pointwise  # which make values of sums with this module's functions

    table = pointwise.applied(expr, arguments)
    if table is None and (gated := bent.product(expr, arguments)) is not None:
        return gated
    for one, other in ((0, 1), (1, 0)):
        factor = known(expr.args[other])
        if factor is not None and tensor_type(expr.args[one]).shape == tensor_type(expr).shape:
            exact = factor.astype(np.float64)
            return bent.scaled(expr, arguments, one, exact) or _scaled(arguments[one], exact, expr, table) or table
    if table is not None:
        return table
    a, b = arguments[0].cells, arguments[1].cells
    if a is None or b is None:
        return None
    made = call(Op.QNN_MUL, (a.expr, b.expr), QnnMulAttrs(a.zero, b.zero), expr.origins)
    return of_sums(Sums(Term(made, np.array([a.scale * b.scale])), (), 1), expr.origins)


def divide(expr: Call, arguments: list[Value]) -> Value | None:
    """A quotient by positive constants is another scale."""
    from vta.relay.integer import bent, pointwise

    table, factor = pointwise.applied(expr, arguments), known(expr.args[1])
    if factor is None or tensor_type(expr.args[0]).shape != tensor_type(expr).shape or not factor.all():
        return table
    exact = 1 / factor.astype(np.float64)
    return bent.scaled(expr, arguments, 0, exact) or _scaled(arguments[0], exact, expr, table) or table


def _scaled(value: Value, factor: Reals, expr: Call, table: Value | None) -> Value | None:
    """Return a value times constants, as a value of another scale; None where they are not positive."""
    if not (factor > 0).all():
        return None
    if value.cells is not None and factor.size == 1:
        made = of_cells(replace(value.cells, scale=value.cells.scale * float(factor.reshape(()))), expr.origins)
        made.table = None if table is None else table.table
        return made
    sums = value.sums
    if sums is None or (sums.is_limited and factor.size > 1) or (sums.cells and factor.size > 1):
        return None
    axis = _offset_axis(factor.shape, tensor_type(expr).shape)
    if axis is None or (factor.size > 1 and axis != sums.axis):
        return None
    flat = factor.reshape(-1)
    scale = float(flat[0])
    return of_sums(
        Sums(
            None if sums.term is None else Term(sums.term.expr, sums.term.scale * flat),
            tuple(replace(cells, scale=cells.scale * scale) for cells in sums.cells),
            sums.axis,
            sums.offset * flat,
            sums.low * scale if sums.low != -inf else -inf,
            sums.high * scale if sums.high != inf else inf,
            merged((sums.origins, expr.origins)),
        ),
        expr.origins,
    )


# --- averages -------------------------------------------------------------------------------------------------------


def average_pool(expr: Call, arguments: list[Value]) -> Value | None:
    """Averages are sums at a smaller scale: windows with fewer cells are multiplied to have the scale of all."""
    attrs, cells = expr.attrs, arguments[0].cells
    assert isinstance(attrs, AvgPool2dAttrs)
    if cells is None:
        return None
    _, _, height, width = tensor_type(expr.args[0]).shape
    rows, columns = _window_counts(height, 0, attrs), _window_counts(width, 1, attrs)
    if rows is None or columns is None:
        return None
    common = (lcm(*rows), lcm(*columns))
    if prod(common) * 255 >= 1 << 30:
        return None  # sums would not fit
    pool = QnnPool2dAttrs(
        attrs.pool_size, attrs.strides, attrs.padding, attrs.dilation, attrs.ceil_mode, zero_point=cells.zero,
        row_factors=_factors(rows, common[0]), column_factors=_factors(columns, common[1]),
    )  # fmt: skip
    made = call(Op.QNN_SUM_POOL2D, (cells.expr,), pool, expr.origins)
    return of_sums(Sums(Term(made, np.array([cells.scale / prod(common)])), (), 1), expr.origins)


def _window_counts(extent: int, axis: int, attrs: AvgPool2dAttrs) -> list[int] | None:
    """Return how many cells along ``axis`` each window divides by, or None if some window has none."""
    whole = attrs.window
    pads = (whole.pads[axis], 0, whole.pads[axis + 2], 0)
    line = Window((whole.kernel[axis], 1), (whole.strides[axis], 1), pads, (whole.dilation[axis], 1), whole.ceil_mode)
    if not window_sums(np.ones((extent, 1), np.int64), line).all():
        return None
    counts = window_counts((extent, 1), line, count_include_pad=attrs.count_include_pad)
    return [int(count) for count in counts[:, 0]]


def _factors(counts: list[int], common: int) -> tuple[int, ...]:
    factors = tuple(common // count for count in counts)
    return factors if set(factors) != {1} else ()


def global_average_pool(expr: Call, arguments: list[Value]) -> Value | None:
    """The average of whole images."""
    cells = arguments[0].cells
    if cells is None:
        return None
    _, _, height, width = tensor_type(expr.args[0]).shape
    pool = QnnPool2dAttrs((height, width), zero_point=cells.zero)
    made = call(Op.QNN_SUM_POOL2D, (cells.expr,), pool, expr.origins)
    return of_sums(Sums(Term(made, np.array([cells.scale / (height * width)])), (), 1), expr.origins)


def mean(expr: Call, arguments: list[Value]) -> Value | None:
    """A mean over rows and columns is the average of whole images."""
    attrs, shape = expr.attrs, tensor_type(expr.args[0]).shape
    assert isinstance(attrs, ReduceAttrs)
    axes = attrs.axis
    if len(shape) != 4 or axes is None or sorted(axis % 4 for axis in axes) != [2, 3]:
        return None
    made = global_average_pool(expr, arguments)
    if made is None or attrs.keepdims:
        return made
    assert made.sums is not None
    assert made.sums.term is not None
    flat = call(Op.SQUEEZE, (made.sums.term.expr,), AxesAttrs((2, 3)), expr.origins)
    return of_sums(replace(made.sums, term=Term(flat, made.sums.term.scale)), expr.origins)
