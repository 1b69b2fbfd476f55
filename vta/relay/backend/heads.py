"""What begins a kernel: for each integer operator that the accelerator has, the library's operator for a call.

A maker judges a call by its types and sizes; ``RefusedError`` says why the accelerator does not do it.
Tests: tests/vta/relay/backend/test_heads.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from isa.errors import VTAError
from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs, PadMode
from runtime.executor.operators.pooling import GlobalPoolAttrs, Pool2dAttrs
from runtime.executor.operators.qnn.products import QnnConv2dAttrs, QnnConv2dTransposeAttrs, QnnDenseAttrs, QnnMulAttrs
from runtime.executor.operators.qnn.tables import QnnPool2dAttrs
from runtime.executor.operators.resize import Coordinates, Resize2dAttrs, ResizeMethod, UpsamplingAttrs, nearest_indices
from runtime.executor.operators.types import Array
from vta.relay.backend.kernel import Stacked
from vta.relay.backend.steps import CallSteps, add_steps, lookup_steps, requantize_steps
from vta.relay.integer.weights import known
from vta.relay.ir.nodes import Call, Expr, tensor_type
from vta.topi.alu.elementwise import Binary, BinaryOperation, Elementwise
from vta.topi.alu.padding import Pad2d
from vta.topi.alu.pooling import MaxPool2d, SumPool2d
from vta.topi.alu.resize import Upsample2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Epilogue
from vta.topi.core.operator import Operator
from vta.topi.matmul.dense import Dense
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

__all__ = ["ALONE", "FIRST_STEPS", "LAYERS", "Layer", "RefusedError"]

Make: TypeAlias = Callable[[Epilogue], Operator]


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """How the operator is made for an epilogue, its own inputs, and whether residuals may follow."""

    make: Make
    reads: tuple[Array | Expr | Stacked, ...]
    takes_residuals: bool = True


class RefusedError(VTAError):
    """Why a call stays with the host."""


def _weights(call: Call, zeros: tuple[int, ...]) -> Array:
    value = known(call.args[1])
    if value is None or value.dtype != "int8":
        raise RefusedError("its weights are not constant int8 numbers")
    if any(zeros):
        raise RefusedError("its weights have a zero point, and the accelerator multiplies numbers as they are")
    return value


def _conv2d(call: Call) -> Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnConv2dAttrs)
    weights, (batch, channels, height, width) = _weights(call, attrs.kernel_zero_point), _image(call)

    def make(epilogue: Epilogue) -> Operator:
        return Conv2d(
            batch, channels, height, width, weights.shape[0], weights.shape[2:], attrs.strides, attrs.padding,
            attrs.dilation, attrs.groups, epilogue, zero_point=attrs.input_zero_point,
        )  # fmt: skip

    return Layer(make, (call.args[0], weights))


def _conv2d_transpose(call: Call) -> Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnConv2dTransposeAttrs)
    weights, (batch, channels, height, width) = _weights(call, attrs.kernel_zero_point), _image(call)

    def make(epilogue: Epilogue) -> Operator:
        return Conv2dTranspose(
            batch, channels, height, width, weights.shape[1] * attrs.groups, weights.shape[2:], attrs.strides,
            attrs.padding, attrs.output_padding, attrs.dilation, attrs.groups, epilogue, attrs.input_zero_point,
        )  # fmt: skip

    return Layer(make, (call.args[0], weights))


def _dense(call: Call) -> Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnDenseAttrs)
    weights = _weights(call, attrs.kernel_zero_point)
    rows = tensor_type(call.args[0]).shape[0]

    def make(epilogue: Epilogue) -> Operator:
        return Dense(rows, weights.shape[1], weights.shape[0], epilogue, attrs.input_zero_point)

    return Layer(make, (call.args[0], weights))


def _image(call: Call) -> tuple[int, ...]:
    kind = tensor_type(call.args[0])
    layout = getattr(call.attrs, "data_layout", getattr(call.attrs, "layout", "NCHW"))
    if layout != "NCHW":
        raise RefusedError(f"its data are in the layout {layout}, and the accelerator's operators take NCHW")
    if kind.rank != 4 or kind.dtype != "int8":
        raise RefusedError(f"its data are {kind}, and the accelerator takes int8 images of four dimensions")
    return kind.shape


def _max_pool(call: Call) -> Layer:
    attrs = call.attrs
    assert isinstance(attrs, Pool2dAttrs)
    batch, channels, height, width = _image(call)

    def make(epilogue: Epilogue) -> Operator:
        return MaxPool2d(
            batch, channels, height, width, attrs.pool_size, attrs.strides, attrs.padding, attrs.dilation,
            attrs.ceil_mode, epilogue,
        )  # fmt: skip

    return Layer(make, (call.args[0],))


def _sum_pool(call: Call) -> Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnPool2dAttrs)
    batch, channels, height, width = _image(call)

    def make(epilogue: Epilogue) -> Operator:
        return SumPool2d(
            batch, channels, height, width, attrs.pool_size, attrs.strides, attrs.padding, attrs.dilation,
            attrs.ceil_mode, epilogue, attrs.zero_point, attrs.row_factors, attrs.column_factors,
        )  # fmt: skip

    return Layer(make, (call.args[0],))


def _global_max_pool(call: Call) -> Layer:
    assert isinstance(call.attrs, GlobalPoolAttrs)
    batch, channels, height, width = _image(call)
    return Layer(
        lambda epilogue: MaxPool2d(batch, channels, height, width, (height, width), epilogue=epilogue), (call.args[0],)
    )


def _pad(call: Call) -> Layer:
    attrs = call.attrs
    assert isinstance(attrs, PadAttrs)
    batch, channels, height, width = _image(call)
    if attrs.pad_mode is not PadMode.CONSTANT:
        raise RefusedError(f"its pads are {attrs.pad_mode}, and the accelerator pads with constants")
    *outer, (top, bottom), (left, right) = attrs.pad_width
    if any(map(any, outer)):
        raise RefusedError("it pads images or channels, and the accelerator pads rows and columns")
    pads, value = (top, left, bottom, right), int(attrs.pad_value)
    return Layer(lambda epilogue: Pad2d(batch, channels, height, width, pads, value, epilogue), (call.args[0],))


def _resize(call: Call) -> Layer:
    attrs = call.attrs
    assert isinstance(attrs, Resize2dAttrs)
    _, _, height, width = _image(call)
    if attrs.method is not ResizeMethod.NEAREST or attrs.coordinates is Coordinates.CROP_AND_RESIZE:
        raise RefusedError("it computes new pixels, and the accelerator repeats those that there are")
    factors = (attrs.size[0] // height, attrs.size[1] // width)
    for indices, factor, extent in zip(nearest_indices((height, width), attrs), factors, (height, width), strict=True):
        if indices != [index // max(factor, 1) for index in range(len(indices))] or len(indices) != extent * factor:
            raise RefusedError("it takes some pixels more often than others, and the accelerator repeats all alike")
    return _repeated(call, factors)


def _upsampling(call: Call) -> Layer:
    assert isinstance(call.attrs, UpsamplingAttrs)
    return _repeated(call, (call.attrs.scale_h, call.attrs.scale_w))


def _repeated(call: Call, factors: tuple[int, int]) -> Layer:
    batch, channels, height, width = _image(call)
    return Layer(
        lambda epilogue: Upsample2d(batch, channels, height, width, factors, epilogue),
        (call.args[0],),
        takes_residuals=False,
    )


def _elementwise(call: Call) -> Layer:
    kind = tensor_type(call.args[0])
    if not 2 <= kind.rank <= 4 or kind.dtype != "int8":
        raise RefusedError(f"its data are {kind}, and the accelerator takes int8 tensors of two to four dimensions")
    if call.callee is Op.QNN_ADD and tensor_type(call.args[0]) != tensor_type(call.args[1]):
        raise RefusedError("its operands have two shapes, and the accelerator adds tensors of one")
    return Layer(lambda epilogue: Elementwise(kind.shape, epilogue), (call.args[0],))


def _multiply(call: Call) -> Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnMulAttrs)
    kinds = [tensor_type(argument) for argument in call.args]
    if kinds[0] != kinds[1] or kinds[0].dtype != "int8" or not 2 <= kinds[0].rank <= 4:
        raise RefusedError(f"it multiplies {kinds[0]} and {kinds[1]}, and the accelerator int8 tensors of one shape")
    if attrs.lhs_zero_point or attrs.rhs_zero_point:
        raise RefusedError("its operands have zero points, and the accelerator multiplies numbers as they are")
    shape = kinds[0].shape
    return Layer(lambda epilogue: Binary(BinaryOperation.MULTIPLY, shape, epilogue), call.args)


LAYERS: Mapping[Op, Callable[[Call], Layer]] = {
    Op.QNN_CONV2D: _conv2d,
    Op.QNN_CONV2D_TRANSPOSE: _conv2d_transpose,
    Op.QNN_DENSE: _dense,
    Op.QNN_MUL: _multiply,
    Op.QNN_SUM_POOL2D: _sum_pool,
}
"""What gives int32 sums: it comes first, so that what follows becomes its epilogue."""

ALONE: Mapping[Op, Callable[[Call], Layer]] = {
    Op.COPY: _elementwise,
    Op.GLOBAL_MAX_POOL2D: _global_max_pool,
    Op.MAX_POOL2D: _max_pool,
    Op.PAD: _pad,
    Op.QNN_ADD: _elementwise,
    Op.QNN_LOOKUP: _elementwise,
    Op.RESCALE: _elementwise,
    Op.RESIZE2D: _resize,
    Op.UPSAMPLING: _upsampling,
}
"""What gives int8 cells, and may follow on something in a kernel of its own."""

FIRST_STEPS: Mapping[Op, Callable[[Call], CallSteps]] = {
    Op.QNN_ADD: lambda call: add_steps(call, 0),
    Op.QNN_LOOKUP: lookup_steps,
    Op.RESCALE: requantize_steps,
}
"""The steps that a call is itself, where it begins a kernel of steps alone."""
