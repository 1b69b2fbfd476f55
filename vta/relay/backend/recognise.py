"""Which calls of an integer graph the accelerator does, and as which operator of the library.

A layer takes what follows it as its epilogue, as long as nothing else reads what is in between: requantisation, a
residual, limits. What no operator does stays with the host, with the reason. Nothing is chosen by name: a call is
judged by its operator, types and sizes, and whether the library has tiles for it.
Tests: tests/vta/relay/backend/test_build.py.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from isa.errors import VTAError
from runtime.executor.operators.names import Op
from runtime.executor.operators.pooling import Pool2dAttrs
from runtime.executor.operators.qnn.products import QnnConv2dAttrs, QnnConv2dTransposeAttrs, QnnDenseAttrs
from runtime.executor.operators.qnn.tables import QnnPool2dAttrs
from runtime.executor.operators.types import Array
from vta.environment import Environment
from vta.relay.backend.kernel import HostCall, Item, Kernel
from vta.relay.backend.steps import CallSteps, add_steps, requantize_steps
from vta.relay.integer.weights import known
from vta.relay.ir.nodes import Call, Constant, Expr, Function, tensor_type
from vta.relay.ir.traverse import calls, use_counts, users
from vta.topi.alu.elementwise import Elementwise
from vta.topi.alu.pooling import MaxPool2d, SumPool2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Epilogue
from vta.topi.core.operator import Operator
from vta.topi.matmul.dense import Dense
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

__all__ = ["PlacementError", "placed"]

Make: TypeAlias = Callable[[Epilogue], Operator]


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """What begins a kernel: how the operator is made for an epilogue, and its own inputs."""

    make: Make
    reads: tuple[Array | Expr, ...]


class PlacementError(VTAError, ValueError):
    """A configuration that networks cannot run on."""


class _RefusedError(VTAError):
    """Why a call stays with the host."""


def placed(function: Function, env: Environment, refused: Mapping[Call, str] | None = None) -> list[Item]:
    """Return what computes ``function`` for ``env``, in an order in which everything is made before it is read.

    ``refused`` has calls that begin no kernel, and why: what the library turned out to have no tiles for.
    """
    placement = _Placement(function, env, refused or {})
    order = calls(function)
    for call in order:
        if call.callee in _LAYERS:
            placement.try_layer(call)
    for call in order:
        if call.callee in _ALONE:
            placement.try_layer(call)
    return list(placement.items(order))


def require_blocks(env: Environment) -> None:
    """Refuse a configuration whose operands are not int8: networks have no other cells."""
    widths = {"inputs": env.INP_WIDTH, "weights": env.WGT_WIDTH, "outputs": env.OUT_WIDTH}
    narrow = [f"{name} of {width}" for name, width in widths.items() if width != 8]
    if narrow:
        raise PlacementError(
            f"networks need operands of 8 bits, and {env.config.bitstream} has {', '.join(narrow)} bits"
        )


class _Placement:
    """The kernels that were found, and why other calls have none."""

    def __init__(self, function: Function, env: Environment, refused: Mapping[Call, str]) -> None:
        require_blocks(env)
        self._users = users([function.body])
        self._counts = use_counts(function.body)
        self._kernels: dict[Call, Kernel] = {}
        self._reasons: dict[Call, str] = dict(refused)
        self.taken: set[Call] = set()

    def try_layer(self, call: Call) -> None:
        """Make a kernel of a call and what follows it, or note why there is none."""
        if call in self.taken or call in self._reasons:
            return
        try:
            kernel = self._kernel(call)
        except VTAError as error:
            self._reasons[call] = str(error)
            return
        self._kernels[kernel.root] = kernel
        self.taken |= set(kernel.calls)

    def items(self, order: Sequence[Call]) -> Iterator[Item]:
        """Yield kernels where their last calls stand, and the other calls."""
        for call in order:
            if call in self._kernels:
                yield self._kernels[call]
            elif call not in self.taken:
                yield HostCall(call, self._reasons.get(call, f"the accelerator has no operator for {call.callee}"))

    def _kernel(self, call: Call) -> Kernel:
        assert isinstance(call.callee, Op)
        layer = {**_LAYERS, **_ALONE}[call.callee](call)
        chain, tail = [call], list[CallSteps]()
        if call.callee in _ALONE_STEPS:
            tail.append(_ALONE_STEPS[call.callee](call))
        while (step := self._next(chain[-1], wants_cells=bool(tail) or call.callee in _ALONE)) is not None:
            following, steps = step
            chain.append(following)
            tail.append(steps)
        if tensor_type(chain[-1]).dtype != "int8":
            readers = ", ".join(str(each.callee) for each in self._users[chain[-1]] if isinstance(each, Call))
            raise _RefusedError(
                f"its int32 sums are read by {readers or 'the outside'}, and the accelerator stores int8"
            )
        return self._settled(layer, chain, tail)

    def _settled(self, layer: _Layer, chain: list[Call], tail: list[CallSteps]) -> Kernel:
        epilogue: Epilogue = tuple(step for part in tail for step in part.steps)
        operator = layer.make(epilogue)
        reads = [*layer.reads, *(read for part in tail for read in part.reads)]
        activations = {at: read for at, read in enumerate(reads) if not isinstance(read, np.ndarray)}
        constants = {at: read for at, read in enumerate(reads) if isinstance(read, np.ndarray)}
        return Kernel(operator, tuple(chain), activations, constants)

    def _next(self, call: Call, *, wants_cells: bool) -> tuple[Call, CallSteps] | None:
        """Return the only call that reads ``call``, if it can be part of the same epilogue."""
        readers = self._users[call]
        if self._counts[call] != 1 or len(readers) != 1 or not isinstance(readers[0], Call) or readers[0] in self.taken:
            return None
        [reader] = readers
        assert isinstance(reader, Call)
        if reader.callee is Op.RESCALE and reader.args[0] is call:
            return reader, requantize_steps(reader)
        if reader.callee is Op.QNN_ADD and wants_cells:
            side = 0 if reader.args[0] is call else 1
            other = tensor_type(reader.args[1 - side])
            if other == tensor_type(call) and not isinstance(reader.args[1 - side], Constant):
                return reader, add_steps(reader, side)
        return None


def _weights(call: Call, zeros: tuple[int, ...]) -> Array:
    value = known(call.args[1])
    if value is None or value.dtype != "int8":
        raise _RefusedError("its weights are not constant int8 numbers")
    if any(zeros):
        raise _RefusedError("its weights have a zero point, and the accelerator multiplies numbers as they are")
    return value


def _conv2d(call: Call) -> _Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnConv2dAttrs)
    weights, (batch, channels, height, width) = _weights(call, attrs.kernel_zero_point), _image(call)

    def make(epilogue: Epilogue) -> Operator:
        return Conv2d(
            batch, channels, height, width, weights.shape[0], weights.shape[2:], attrs.strides, attrs.padding,
            attrs.dilation, attrs.groups, epilogue, zero_point=attrs.input_zero_point,
        )  # fmt: skip

    return _Layer(make, (call.args[0], weights))


def _conv2d_transpose(call: Call) -> _Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnConv2dTransposeAttrs)
    weights, (batch, channels, height, width) = _weights(call, attrs.kernel_zero_point), _image(call)

    def make(epilogue: Epilogue) -> Operator:
        return Conv2dTranspose(
            batch, channels, height, width, weights.shape[1] * attrs.groups, weights.shape[2:], attrs.strides,
            attrs.padding, attrs.output_padding, attrs.dilation, attrs.groups, epilogue, attrs.input_zero_point,
        )  # fmt: skip

    return _Layer(make, (call.args[0], weights))


def _dense(call: Call) -> _Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnDenseAttrs)
    weights = _weights(call, attrs.kernel_zero_point)
    rows = tensor_type(call.args[0]).shape[0]

    def make(epilogue: Epilogue) -> Operator:
        return Dense(rows, weights.shape[1], weights.shape[0], epilogue, attrs.input_zero_point)

    return _Layer(make, (call.args[0], weights))


def _image(call: Call) -> tuple[int, ...]:
    kind = tensor_type(call.args[0])
    if kind.rank != 4 or kind.dtype != "int8":
        raise _RefusedError(f"its data are {kind}, and the accelerator takes int8 images of four dimensions")
    return kind.shape


def _max_pool(call: Call) -> _Layer:
    attrs = call.attrs
    assert isinstance(attrs, Pool2dAttrs)
    batch, channels, height, width = _image(call)

    def make(epilogue: Epilogue) -> Operator:
        return MaxPool2d(
            batch, channels, height, width, attrs.pool_size, attrs.strides, attrs.padding, attrs.dilation,
            attrs.ceil_mode, epilogue,
        )  # fmt: skip

    return _Layer(make, (call.args[0],))


def _sum_pool(call: Call) -> _Layer:
    attrs = call.attrs
    assert isinstance(attrs, QnnPool2dAttrs)
    batch, channels, height, width = _image(call)

    def make(epilogue: Epilogue) -> Operator:
        return SumPool2d(
            batch, channels, height, width, attrs.pool_size, attrs.strides, attrs.padding, attrs.dilation,
            attrs.ceil_mode, epilogue, attrs.zero_point,
        )  # fmt: skip

    return _Layer(make, (call.args[0],))


def _elementwise(call: Call) -> _Layer:
    shape = _image(call)
    if call.callee is Op.QNN_ADD and tensor_type(call.args[0]) != tensor_type(call.args[1]):
        raise _RefusedError("its operands have two shapes, and the accelerator adds tensors of one")
    return _Layer(lambda epilogue: Elementwise(shape, epilogue), (call.args[0],))


_LAYERS: Mapping[Op, Callable[[Call], _Layer]] = {
    Op.QNN_CONV2D: _conv2d,
    Op.QNN_CONV2D_TRANSPOSE: _conv2d_transpose,
    Op.QNN_DENSE: _dense,
    Op.QNN_SUM_POOL2D: _sum_pool,
}
"""What gives int32 sums: it comes first, so that what follows becomes its epilogue."""

_ALONE: Mapping[Op, Callable[[Call], _Layer]] = {
    Op.MAX_POOL2D: _max_pool,
    Op.QNN_ADD: _elementwise,
    Op.RESCALE: _elementwise,
}

_ALONE_STEPS: Mapping[Op, Callable[[Call], CallSteps]] = {
    Op.QNN_ADD: lambda call: add_steps(call, 0),
    Op.RESCALE: requantize_steps,
}
