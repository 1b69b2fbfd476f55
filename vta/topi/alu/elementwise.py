"""Operators element by element: a chain of steps on one tensor, and operations of two tensors.

The operands are int8, widened as they are loaded into the accumulator, or int32; arithmetic is that of int32, and the
result is the low 8 bits (put a ``Clip(-128, 127)`` at the end to saturate).
Tests: tests/vta/topi/alu/test_elementwise.py.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

import numpy as np
import numpy.typing as npt

from vta import te
from vta.environment import Environment
from vta.tir.expr import Expr
from vta.topi.alu.alu_operator import AluOperator, Head, element_bytes, require_dtype, require_shape, widened
from vta.topi.alu.alu_schedule import AluStages
from vta.topi.alu.alu_tiles import Demand, Inner, TransferCost, transfer
from vta.topi.core.epilogue import Epilogue, reference
from vta.topi.core.images import packed_extents, packed_shape
from vta.topi.core.operand import Operand
from vta.topi.core.operator import OperatorError
from vta.topi.core.parameters import require_choice, require_steps

__all__ = ["Binary", "BinaryOperation", "Elementwise"]

Array = npt.NDArray[np.generic]
Ints = npt.NDArray[np.int32]


class BinaryOperation(StrEnum):
    """What the ALU does with two tensors; ``SHIFT_*`` by negative counts shift the other way."""

    ADD = "add"
    SUBTRACT = "subtract"
    MULTIPLY = "multiply"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    SHIFT_LEFT = "left_shift"
    SHIFT_RIGHT = "right_shift"

    @property
    def kernels(self) -> int:
        """How many ALU operations it takes."""
        match self:
            case BinaryOperation.SUBTRACT:
                return 3
            case BinaryOperation.SHIFT_LEFT:
                return 5
            case (
                BinaryOperation.ADD
                | BinaryOperation.MULTIPLY
                | BinaryOperation.MINIMUM
                | BinaryOperation.MAXIMUM
                | BinaryOperation.SHIFT_RIGHT
            ):
                return 1
            case _:
                assert_never(self)

    def of(self, a: Expr, b: Expr) -> Expr:
        """Return the operation on two expressions."""
        match self:
            case BinaryOperation.ADD:
                return a + b
            case BinaryOperation.SUBTRACT:
                return a - b
            case BinaryOperation.MULTIPLY:
                return a * b
            case BinaryOperation.MINIMUM:
                return te.min(a, b)
            case BinaryOperation.MAXIMUM:
                return te.max(a, b)
            case BinaryOperation.SHIFT_LEFT:
                return a << b
            case BinaryOperation.SHIFT_RIGHT:
                return a >> b
            case _:
                assert_never(self)

    def reference(self, a: Ints, b: Ints) -> Ints:
        """Return the operation on two arrays, wrapped at 32 bits."""
        with np.errstate(over="ignore"):
            match self:
                case BinaryOperation.ADD:
                    return a + b
                case BinaryOperation.SUBTRACT:
                    return a - b
                case BinaryOperation.MULTIPLY:
                    return a * b
                case BinaryOperation.MINIMUM:
                    return np.minimum(a, b)
                case BinaryOperation.MAXIMUM:
                    return np.maximum(a, b)
                case BinaryOperation.SHIFT_LEFT:
                    return shifted_right(a, -b.astype(np.int64))
                case BinaryOperation.SHIFT_RIGHT:
                    return shifted_right(a, b.astype(np.int64))
                case _:
                    assert_never(self)


def shifted_right(values: Ints, counts: npt.NDArray[np.int64]) -> Ints:
    """Return ``values >> counts`` as the ALU has it: a negative count shifts left, 32 and more shift everything out."""
    wide = values.astype(np.int64)
    right = wide >> np.clip(counts, 0, 32)
    left = wide << np.clip(-counts, 0, 32)
    return np.where(counts >= 0, right, left).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Elementwise(AluOperator):
    """``epilogue`` on every number of one tensor: shifts, sums and products with constants, clip, relu, residuals, ...

    ``shape`` is (N, C), (N, C, L) or (N, C, H, W); ``dtype`` is int8 or int32. Without steps it copies the low 8 bits.
    """

    shape: tuple[int, ...]
    epilogue: Epilogue = ()
    dtype: str = "int8"

    def __post_init__(self) -> None:
        require_shape(self)
        require_dtype("Elementwise", self.dtype)
        require_steps(self)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the result is that of the data."""
        return self.shape

    def data(self) -> tuple[Operand, ...]:
        """Return ``data``."""
        return (Operand("data", self.shape, self.dtype),)

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy."""
        data, *rest = arrays
        return reference(data, self.epilogue, rest)

    def head(self, env: Environment) -> Head:
        """Return the load."""
        data = te.placeholder(packed_shape(env, self.shape), name="data", dtype=self.dtype)
        tensor, stages = widened(env, data)
        return Head(tensor, stages, (data,), lambda inner: _loads(env, self.shape, [self.dtype], inner))


@dataclass(frozen=True, slots=True)
class Binary(AluOperator):
    """``operation`` on two tensors of one ``shape``, then ``epilogue``; each tensor is int8 or int32."""

    operation: BinaryOperation
    shape: tuple[int, ...]
    epilogue: Epilogue = ()
    dtypes: tuple[str, str] = ("int8", "int8")

    def __post_init__(self) -> None:
        require_choice(self, "operation", BinaryOperation)
        require_shape(self)
        if not isinstance(self.dtypes, tuple) or len(self.dtypes) != 2:
            raise OperatorError(f"Binary: dtypes takes two types, those of lhs and rhs, not {self.dtypes!r}")
        for dtype in self.dtypes:
            require_dtype("Binary", dtype)
        require_steps(self)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the result is that of the operands."""
        return self.shape

    def data(self) -> tuple[Operand, ...]:
        """Return ``lhs`` and ``rhs``."""
        return (Operand("lhs", self.shape, self.dtypes[0]), Operand("rhs", self.shape, self.dtypes[1]))

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy."""
        lhs, rhs, *rest = arrays
        return reference(self.operation.reference(lhs.astype(np.int32), rhs.astype(np.int32)), self.epilogue, rest)

    def head(self, env: Environment) -> Head:
        """Return the loads and the operation."""
        shape = packed_shape(env, self.shape)
        inputs = [te.placeholder(shape, name=op.name, dtype=op.dtype) for op in self.data()]
        lhs, rhs = (widened(env, tensor) for tensor in inputs)
        tensor = te.compute(
            shape, lambda *i: self.operation.of(lhs[0](*i), rhs[0](*i)), name=f"T_{self.operation}", tag="elemwise"
        )
        stages = AluStages(
            loads=(*lhs[1].loads, *rhs[1].loads), elementwise=(tensor,), direct=(*lhs[1].direct, *rhs[1].direct)
        )
        return Head(tensor, stages, tuple(inputs), self._demand_of(env))

    def _demand_of(self, env: Environment) -> Callable[[Inner], Demand]:
        def demand(inner: Inner) -> Demand:
            count, kernels = math.prod(inner), self.operation.kernels
            spare = count if self.operation is BinaryOperation.SHIFT_LEFT else 0
            loads = _loads(env, self.shape, self.dtypes, inner)
            return replace(loads, operations=kernels * count, kernels=kernels, temporaries=spare)

        return demand


def _loads(env: Environment, shape: tuple[int, ...], dtypes: Sequence[str], inner: Inner) -> Demand:
    """Return what loading tensors of ``dtypes`` takes."""
    extents = packed_extents(env, shape)
    load = sum((transfer(inner, extents, element_bytes(env, dtype)) for dtype in dtypes), TransferCost())
    return Demand(len(dtypes) * math.prod(inner), load, operations=0, kernels=0)
