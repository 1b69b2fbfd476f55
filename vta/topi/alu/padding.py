"""Padding of images with a constant: zeros come with the load, other values from the tensor ALU.

Tests: tests/vta/topi/alu/test_padding.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from vta import te
from vta.environment import Environment
from vta.tir.expr import Expr
from vta.topi.alu.alu_operator import AluOperator, Head, element_bytes, require_dtype
from vta.topi.alu.alu_schedule import AluStages
from vta.topi.alu.alu_tiles import Demand, Inner, transfer
from vta.topi.core.epilogue import Epilogue, reference
from vta.topi.core.images import packed_extents, packed_shape
from vta.topi.core.operand import Operand
from vta.topi.core.operator import Array, OperatorError
from vta.topi.core.parameters import PADS, is_number, require_sizes, require_steps, require_tuple
from vta.topi.nn.pad import pad

__all__ = ["Pad2d"]


@dataclass(frozen=True, slots=True)
class Pad2d(AluOperator):
    """An image with ``value`` around it, then ``epilogue``; ``padding`` is (top, left, bottom, right)."""

    batch: int
    channels: int
    height: int
    width: int
    padding: tuple[int, int, int, int]
    value: int = 0
    epilogue: Epilogue = ()
    dtype: str = "int8"

    def __post_init__(self) -> None:
        require_sizes(self, "batch", "channels", "height", "width")
        require_dtype("Pad2d", self.dtype)
        require_tuple(self, "padding", PADS, least=0)
        require_steps(self)
        if not is_number(self.value, -(1 << 31)) or self.value >= 1 << 31:
            raise OperatorError(f"Pad2d: value fits int32, and {self.value!r} does not")
        object.__setattr__(self, "value", int(self.value))

    @property
    def data_shape(self) -> tuple[int, int, int, int]:
        """The plain shape of the image."""
        return (self.batch, self.channels, self.height, self.width)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The plain shape of the result."""
        top, left, bottom, right = self.padding
        return (self.batch, self.channels, top + self.height + bottom, left + self.width + right)

    def data(self) -> tuple[Operand, ...]:
        """Return ``data``."""
        return (Operand("data", self.data_shape, self.dtype),)

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy."""
        data, *rest = arrays
        top, left, bottom, right = self.padding
        edges = [(0, 0), (0, 0), (top, bottom), (left, right)]
        return reference(np.pad(data.astype(np.int32), edges, constant_values=self.value), self.epilogue, rest)

    def head(self, env: Environment) -> Head:
        """Return the load, and for a value that is not zero how it gets into the pads."""
        top, left, bottom, right = self.padding
        data = te.placeholder(packed_shape(env, self.data_shape), self.dtype, "data")
        zeros = pad(data, [0, 0, top, left, 0, 0], [0, 0, bottom, right, 0, 0], 0, "pad_data")
        loaded, stages = zeros, AluStages(loads=(zeros,))
        if self.dtype != env.acc_dtype:
            loaded = te.compute(zeros.shape, lambda *i: zeros(*i).astype(env.acc_dtype), name="T_cast", tag="elemwise")
            stages = AluStages(loads=(loaded,), inlined=(zeros,))
        if not self.value:
            return Head(loaded, stages, (data,), self._demand_of(env))
        lower = te.compute(loaded.shape, lambda *i: loaded(*i) - self.value, name="pad_lower", tag="elemwise")
        once = te.reduce_axis((0, 1), "once")

        def element(b: Expr, c: Expr, i: Expr, j: Expr, bi: Expr, ci: Expr) -> Expr:
            inside = te.all(i >= top, i < top + self.height, j >= left, j < left + self.width)
            return te.sum(lower(b, c, i, j, bi, ci), axis=[once], where=inside, init=self.value)

        raised = te.compute(loaded.shape, element, name="pad_value")
        stages = replace(stages, elementwise=(lower,), reductions=(raised,))
        return Head(raised, stages, (data,), self._demand_of(env))

    def _demand_of(self, env: Environment) -> Callable[[Inner], Demand]:
        extents = packed_extents(env, self.data_shape)

        def demand(inner: Inner) -> Demand:
            count, work = math.prod(inner), 4 if self.value else 0
            box = [min(size, extent) for size, extent in zip(inner, extents, strict=True)]
            return Demand(
                elements=count * (2 if self.value else 1),
                load=transfer(box, extents, element_bytes(env, self.dtype), ragged=inner[3] < self.output_shape[3]),
                operations=work * count,
                kernels=work,
                temporaries=1,
            )

        return demand
