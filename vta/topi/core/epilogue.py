"""What follows a layer's sums on the accelerator: bias, shift, clip, residual, down to the int8 that is stored.

An epilogue is a tuple of steps. ``append`` describes it on a packed tensor, one stage for each ALU operation, with
TVM's names; ``reference`` does the same with numpy on a plain one. Sums and products wrap at 32 bits, and the
result is their low 8 bits (``Operator.reference_on`` cuts it to narrower outputs).

Tests: tests/vta/topi/core/test_epilogue.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.instructions import AluOpcode
from vta import te
from vta.environment import Environment
from vta.passes.alu.immediate import immediate_steps
from vta.tir import ops
from vta.tir.expr import Expr, IntImm
from vta.topi.core.epilogue_steps import (
    WORD,
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Epilogue,
    EpilogueError,
    Fork,
    HalfEvenShift,
    Joint,
    Multiply,
    PerChannel,
    Primitive,
    Relu,
    Requantise,
    Residual,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
    primitive,
    readers,
)
from vta.topi.core.epilogue_twin import applied, reference
from vta.topi.core.layout import pack_activations, pack_channels
from vta.topi.core.operand import Operand

__all__ = [
    "Add", "Appended", "Bias", "ChannelMaximum", "ChannelMinimum", "ChannelShift", "Clip", "Epilogue", "EpilogueError",
    "Fork", "HalfEvenShift", "Joint", "Multiply", "Needs", "Relu", "Requantise", "Residual", "RoundingShift", "Scale",
    "ShiftLeft", "ShiftRight", "Step", "append", "applied", "needs", "operands", "pack_operands", "reference",
]  # fmt: skip

Array = npt.NDArray[np.generic]

_CHANNEL_NAMES: dict[type[Step], str] = {
    Bias: "bias",
    Scale: "scale",
    ChannelShift: "shift",
    ChannelMinimum: "most",
    ChannelMaximum: "least",
}


@dataclass(frozen=True, slots=True, eq=False)
class Appended:
    """An epilogue behind a tensor: its ALU ``stages`` in order, the tensors it reads, and the narrow ``result``.

    ``widened`` are stages that only convert or pad a residual: they become loads, as caches of the other inputs do.
    """

    stages: tuple[te.Tensor, ...]
    inputs: tuple[te.Tensor, ...]
    widened: tuple[te.Tensor, ...]
    result: te.Tensor


def operands(steps: Sequence[Step], shape: Sequence[int]) -> tuple[Operand, ...]:
    """Return the plain tensors that ``steps`` read, in order; ``shape`` is that of the layer's plain output."""
    found = [
        Operand("residual", tuple(shape), step.dtype)
        if isinstance(step, Residual)
        else Operand(_CHANNEL_NAMES[type(step)], (shape[1],), "int32")
        for step in readers(steps)
    ]
    return tuple(_numbered(found))


def _numbered(found: Sequence[Operand]) -> list[Operand]:
    """Return operands with different names: bias, bias_1, ..."""
    seen: dict[str, int] = {}
    result = []
    for operand in found:
        count = seen.get(operand.name, 0)
        seen[operand.name] = count + 1
        name = f"{operand.name}_{count}" if count else operand.name
        result.append(Operand(name, operand.shape, operand.dtype))
    return result


def pack_operands(steps: Sequence[Step], env: Environment, values: Sequence[Array], *, rank: int) -> tuple[Array, ...]:
    """Return the plain arrays for ``operands`` in the layout of the tensors that ``append`` makes.

    ``rank`` is that of the packed output: 6 for images, 4 for dense layers.
    """
    packed = []
    for step, value in zip(readers(steps), values, strict=True):
        if isinstance(step, Residual):
            packed.append(pack_activations(value, batch=env.BATCH, block=env.BLOCK_OUT))
        else:
            packed.append(pack_channels(value, batch=env.BATCH, block=env.BLOCK_OUT, rank=rank))
    return tuple(packed)


@dataclass(frozen=True, slots=True)
class Needs:
    """What steps take: ALU ``operations`` for every number in as many instructions; tensors that they read.

    ``residuals`` have the output's size, ``by_channel`` ones a value a channel. ``held`` numbers are kept beside each
    one while a fork's chains are computed.
    """

    operations: int
    residuals: int
    by_channel: int
    held: int


def needs(steps: Sequence[Step]) -> Needs:
    """Return what ``steps`` take."""
    read = list(readers(steps))
    residuals = sum(isinstance(step, Residual) for step in read)
    return Needs(_operations(steps), residuals, len(read) - residuals, _held(steps))


_COPY = 2
"""Operations that copy a number: times 0, plus the other one."""


def _operations(steps: Sequence[Step]) -> int:
    count = 0
    for step in primitive(steps):
        match step:
            case Fork(steps=one, others=other):
                count += (_COPY if one or other else 0) + _operations(one) + _operations(other) + 1
            case Clip(low=low, high=high):
                count += _immediate(AluOpcode.MIN, high) + _immediate(AluOpcode.MAX, low)
            case Multiply(constant=constant):
                count += _immediate(AluOpcode.MUL, constant)
            case Add(constant=constant):
                count += _immediate(AluOpcode.ADD, constant)
            case Residual(multiplier=multiplier):
                count += 1 + _immediate(AluOpcode.MUL, multiplier)
            case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum():
                count += 1
            case ShiftRight() | ShiftLeft() | Relu():
                count += 1
            case _:
                assert_never(step)
    return count


def _immediate(opcode: AluOpcode, value: int) -> int:
    """Return how many operations on every number a constant takes: one if an element is filled with it before."""
    steps = immediate_steps(opcode, value)
    return 1 if steps is None else len(steps)


def _held(steps: Sequence[Step]) -> int:
    forks = [step for step in primitive(steps) if isinstance(step, Fork) and (step.steps or step.others)]
    return max((1 + max(_held(fork.steps), _held(fork.others)) for fork in forks), default=0)


def append(tensor: te.Tensor, steps: Sequence[Step], env: Environment, shape: Sequence[int] | None = None) -> Appended:
    """Return the stages of ``steps`` behind ``tensor``, a packed one of 4 dimensions or more in ``env.acc_dtype``.

    ``shape`` is that of the result, where it is smaller than the tensor: tiles may reach beyond the result.
    """
    whole = [extent.value for extent in tensor.shape if isinstance(extent, IntImm)]
    assert len(whole) == tensor.ndim, "packed tensors have constant extents"
    builder = _Builder(tensor, env, whole, shape or whole)
    builder.add_all(steps, iter([operand.name for operand in operands(steps, (1, 1))]))
    last = builder.now
    result = te.compute(builder.cut, lambda *i: last(*i).astype(env.out_dtype), name="res", tag="elemwise")
    return Appended(tuple(builder.stages), tuple(builder.inputs), tuple(builder.widened), result)


class _Builder:
    """Describes step after step; ``now`` is the tensor so far."""

    def __init__(self, tensor: te.Tensor, env: Environment, shape: Sequence[int], cut: Sequence[int]) -> None:
        self.now = tensor
        self.env = env
        self.shape = tuple(shape)
        self.cut = tuple(cut)
        self.stages: list[te.Tensor] = []
        self.inputs: list[te.Tensor] = []
        self.widened: list[te.Tensor] = []

    def computed(self, element: Callable[..., Expr], name: str) -> te.Tensor:
        """Return a tensor of the output's shape."""
        return te.compute(self.shape, element, name=name, tag="elemwise")

    def add_all(self, steps: Sequence[Step], names: Iterator[str]) -> None:
        """Append ``steps``; ``names`` are those of the tensors that are still to be made."""
        for step in primitive(steps):
            self._add(step, names)

    def _add(self, step: Primitive, names: Iterator[str]) -> None:
        match step:
            case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum():
                self._by_channel(step, next(names))
            case Residual():
                self._residual(step, next(names))
            case Clip():
                self._clip(step)
            case Fork():
                self._fork(step, names)
            case ShiftRight() | ShiftLeft() | Add() | Multiply() | Relu():
                self._constant(step)
            case _:
                assert_never(step)

    def _fork(self, step: Fork, names: Iterator[str]) -> None:
        start = self.now
        self.add_all(step.steps, names)
        one, self.now = self.now, start
        self.add_all(step.others, names)
        other = self.now
        match step.joint:
            case Joint.ADD:
                self._stage(lambda *i: other(*i) + one(*i), "T_add")
            case Joint.MULTIPLY:
                self._stage(lambda *i: other(*i) * one(*i), "T_multiply")
            case Joint.MINIMUM:
                self._stage(lambda *i: te.min(other(*i), one(*i)), "T_minimum")
            case Joint.MAXIMUM:
                self._stage(lambda *i: te.max(other(*i), one(*i)), "T_maximum")
            case _:
                assert_never(step.joint)

    def _clip(self, step: Clip) -> None:
        if step.high < WORD[1]:
            before = self.now
            self._stage(lambda *i: te.min(before(*i), step.high), "clipA")
        if step.low > WORD[0]:
            high = self.now
            self._stage(lambda *i: te.max(high(*i), step.low), "clipB")

    def _constant(self, step: ShiftRight | ShiftLeft | Add | Multiply | Relu) -> None:
        before = self.now
        match step:
            case ShiftRight():
                self._stage(lambda *i: before(*i) >> step.bits, "T_right_shift")
            case ShiftLeft():
                self._stage(lambda *i: before(*i) << step.bits, "T_left_shift")
            case Add():
                self._stage(lambda *i: before(*i) + step.constant, "T_add")
            case Multiply():
                self._stage(lambda *i: before(*i) * step.constant, "T_multiply")
            case Relu():
                self._stage(lambda *i: te.max(before(*i), 0), "T_relu")
            case _:
                assert_never(step)

    def _by_channel(self, step: PerChannel, name: str) -> None:
        middle = len(self.shape) - 4
        given = te.placeholder((1, self.cut[1], *[1] * middle, *self.shape[-2:]), name=name, dtype=self.env.acc_dtype)
        self.inputs.append(given)
        values, count, before = given, self.cut[1], self.now
        if count < self.shape[1]:
            values = te.compute(
                (1, self.shape[1], *given.shape[2:]),
                lambda *i: ops.if_then_else(i[1] < count, given(*i), te.const(0, given.dtype)),
                name="T_pad",
            )
            self.widened.append(values)

        def value(*i: Expr) -> Expr:
            return values(0, i[1], *[0] * middle, *i[-2:])

        match step:
            case Bias():
                self._stage(lambda *i: before(*i) + value(*i), "T_add")
            case Scale():
                self._stage(lambda *i: before(*i) * value(*i), "T_multiply")
            case ChannelShift():
                self._stage(lambda *i: before(*i) >> value(*i), "T_right_shift")
            case ChannelMinimum():
                self._stage(lambda *i: te.min(before(*i), value(*i)), "T_minimum")
            case ChannelMaximum():
                self._stage(lambda *i: te.max(before(*i), value(*i)), "T_maximum")
            case _:
                assert_never(step)

    def _residual(self, step: Residual, name: str) -> None:
        if step.dtype == "int8" != self.env.inp_dtype:
            raise EpilogueError(
                f"{name}: expected an int32 residual, got int8: the accumulator loads 8-bit numbers where inputs have "
                f"8 bits (LOG_INP_WIDTH 3), and here they are {self.env.inp_dtype}; use Residual('int32')"
            )
        other = te.placeholder(self.cut, name=name, dtype=step.dtype)
        self.inputs.append(other)
        if step.dtype != self.env.acc_dtype or self.cut != self.shape:
            other = self.computed(self._loaded(other), "T_cast")
            self.widened.append(other)
        before = self.now
        if step.multiplier != 1:
            read = other
            other = self.computed(lambda *i: read(*i) * step.multiplier, "T_multiply")
            self.stages.append(other)
        self._stage(lambda *i: before(*i) + other(*i), "T_add")

    def _loaded(self, plain: te.Tensor) -> Callable[..., Expr]:
        """Return an element of ``plain`` in the accumulator's type, zero beyond its end."""
        beyond = [d for d, (whole, cut) in enumerate(zip(self.shape, self.cut, strict=True)) if cut < whole]

        def element(*i: Expr) -> Expr:
            value = plain(*i).astype(self.env.acc_dtype)
            inside = [i[d] < self.cut[d] for d in beyond]
            return ops.if_then_else(ops.all(*inside), value, te.const(0, self.env.acc_dtype)) if inside else value

        return element

    def _stage(self, element: Callable[..., Expr], name: str) -> None:
        self.now = self.computed(element, name)
        self.stages.append(self.now)
