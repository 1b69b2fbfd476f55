"""What follows a layer's sums on the accelerator: bias, shift, clip, residual, down to the int8 that is stored.

An epilogue is a tuple of steps. ``append`` describes it on a packed tensor, one stage for each ALU operation (a fused
one, if the ALU has them), with TVM's names; ``reference`` does the same with numpy on a plain one. Sums and products
wrap at 32 bits, and the result is their low 8 bits (``Operator.reference_on`` cuts it to narrower outputs).

Tests: tests/vta/topi/core/test_epilogue.py.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.instructions import AluOpcode
from vta import te
from vta.environment import Environment
from vta.tir import ops
from vta.tir.expr import Expr, IntImm
from vta.topi.core.epilogue_needs import Limited, Lowered, Needs, Row, Scaled, is_immediate, needs, parts, rows
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
    Relu,
    Requantise,
    Residual,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
    readers,
)
from vta.topi.core.epilogue_twin import applied, reference
from vta.topi.core.layout import pack_activations, pack_channels
from vta.topi.core.operand import Argument, Operand, Source

__all__ = [
    "Add", "Appended", "Bias", "ChannelMaximum", "ChannelMinimum", "ChannelShift", "Clip", "Epilogue", "EpilogueError",
    "Fork", "HalfEvenShift", "Joint", "Multiply", "Needs", "Relu", "Requantise", "Residual", "RoundingShift", "Scale",
    "ShiftLeft", "ShiftRight", "Step", "append", "applied", "arguments", "byte_shifts",
    "joined_bytes", "needs", "operands", "reference",
    "rows", "sources",
]  # fmt: skip

Array = npt.NDArray[np.generic]

BYTE_SHIFTS = (0, 8, 16, 24)
"""By how much a number is shifted so that each of its bytes is stored."""

_CHANNEL_NAMES: dict[type[Step], str] = {
    Bias: "bias",
    Scale: "scale",
    ChannelShift: "shift",
    ChannelMinimum: "most",
    ChannelMaximum: "least",
}


@dataclass(frozen=True, slots=True, eq=False)
class Appended:
    """An epilogue on a tensor: its ALU ``stages`` in order, the tensors it reads, and the narrow ``result``.

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


def sources(steps: Sequence[Step], shape: Sequence[int]) -> tuple[Source, ...]:
    """Return the operands of ``steps`` as what ``arguments`` packs."""
    return tuple(Source.of(operand) for operand in operands(steps, shape))


def arguments(steps: Sequence[Step], env: Environment, given: Sequence[Source], *, rank: int) -> tuple[Argument, ...]:
    """Return how the tensors that ``append`` makes are packed: the table, if there is one, then the residuals.

    ``given`` are the plain arrays that the steps read, in order. For each block of channels, the table has its rows one
    after the other. ``rank`` is that of the packed output: 6 for images, 4 for dense layers.
    """
    pairs = list(zip(readers(steps), given, operands(steps, (1, 1)), strict=True))
    residuals = tuple(
        Argument(operand.name, source.names, functools.partial(_packed_residual, env, source))
        for step, source, operand in pairs
        if isinstance(step, Residual)
    )
    lines = tuple(rows(steps, env.config))
    if not lines:
        return residuals
    channels = [(source, operand.name) for step, source, operand in pairs if not isinstance(step, Residual)]
    names = tuple(name for source, _ in channels for name in source.names)
    single = channels[0][1] if channels else "constants"
    pack = functools.partial(_packed_table, env, lines, [source for source, _ in channels], rank)
    return (Argument(single if len(lines) == 1 else "table", names, pack), *residuals)


def _packed_residual(env: Environment, source: Source, *arrays: Array) -> Array:
    return pack_activations(source.value(*arrays), batch=env.BATCH, block=env.BLOCK_OUT)


def _packed_table(
    env: Environment, lines: Sequence[Row], channels: Sequence[Source], rank: int, *arrays: Array
) -> Array:
    left = iter(arrays)
    values = [source.value(*(next(left) for _ in source.names)) for source in channels]
    count, by_channel = len(values[0]) if values else env.BLOCK_OUT, iter(values)
    whole = [np.full(count, line, np.int32) if isinstance(line, int) else next(by_channel) for line in lines]
    table = np.stack([pack_channels(line, batch=env.BATCH, block=env.BLOCK_OUT, rank=rank) for line in whole], axis=2)
    return table.reshape(1, -1, *table.shape[3:])


def byte_shifts(env: Environment, *, rank: int) -> Argument:
    """Return the constant that results of whole numbers are stored with."""
    lines = [np.full(env.BLOCK_OUT, shift, np.int32) for shift in BYTE_SHIFTS]
    packed = [pack_channels(line, batch=env.BATCH, block=env.BLOCK_OUT, rank=rank) for line in lines]
    table = np.concatenate(packed, axis=1)
    return Argument("byte_shifts", (), lambda: table)


def joined_bytes(packed: Array) -> npt.NDArray[np.int32]:
    """Return the packed whole numbers whose bytes are the third dimension from the end."""
    return np.ascontiguousarray(np.moveaxis(packed, -3, -1)).view("<i4")[..., 0]


def append(
    tensor: te.Tensor,
    steps: Sequence[Step],
    env: Environment,
    shape: Sequence[int] | None = None,
    *,
    whole_numbers: bool = False,
) -> Appended:
    """Return the stages of ``steps`` after ``tensor``, a packed one of 4 dimensions or more in ``env.acc_dtype``.

    ``shape`` is that of the result, where it is smaller than the tensor: tiles may reach beyond the result. A store
    keeps low bits alone, so ``whole_numbers`` are stored byte by byte: the result has a dimension of them, lowest
    first, in front of its last two, and the last input is ``byte_shifts``.
    """
    whole = [extent.value for extent in tensor.shape if isinstance(extent, IntImm)]
    assert len(whole) == tensor.ndim, "packed tensors have constant extents"
    builder = _Builder(tensor, env, whole, shape or whole, tuple(rows(steps, env.config)))
    builder.add_all(steps, iter([operand.name for operand in operands(steps, (1, 1))]))
    last = builder.now
    if whole_numbers:
        return builder.in_bytes()
    result = te.compute(builder.cut, lambda *i: last(*i).astype(env.out_dtype), name="res", tag="elemwise")
    return Appended(tuple(builder.stages), tuple(builder.inputs), tuple(builder.widened), result)


class _Builder:
    """Describes step after step; ``now`` is the tensor so far, ``lines`` are the rows of the table."""

    def __init__(
        self, tensor: te.Tensor, env: Environment, shape: Sequence[int], cut: Sequence[int], lines: tuple[Row, ...]
    ) -> None:
        self.now = tensor
        self.env = env
        self.shape = tuple(shape)
        self.cut = tuple(cut)
        self.stages: list[te.Tensor] = []
        self.inputs: list[te.Tensor] = []
        self.widened: list[te.Tensor] = []
        self.lines = lines
        self.table: te.Tensor | None = None
        self.read = 0

    def in_bytes(self) -> Appended:
        """Return what there is so far, with a result of whole numbers."""
        last, middle = self.now, len(self.shape) - 4
        shifts = te.placeholder(
            (1, len(BYTE_SHIFTS), *[1] * middle, *self.shape[-2:]), name="byte_shifts", dtype=self.env.acc_dtype
        )

        def element(*i: Expr) -> Expr:
            return last(*i[:-3], *i[-2:]) >> shifts(0, i[-3], *[0] * middle, *i[-2:])

        moved = te.compute(
            (*self.shape[:-2], len(BYTE_SHIFTS), *self.shape[-2:]), element, name="T_bytes", tag="elemwise"
        )
        stored = (*self.cut[:-2], len(BYTE_SHIFTS), *self.cut[-2:])
        result = te.compute(stored, lambda *i: moved(*i).astype(self.env.out_dtype), name="res", tag="elemwise")
        return Appended((*self.stages, moved), (*self.inputs, shifts), tuple(self.widened), result)

    def computed(self, element: Callable[..., Expr], name: str) -> te.Tensor:
        """Return a tensor of the output's shape."""
        return te.compute(self.shape, element, name=name, tag="elemwise")

    def add_all(self, steps: Sequence[Step], names: Iterator[str]) -> None:
        """Append ``steps``; ``names`` are those of the tensors that are still to be made."""
        for step in parts(steps, self.env.config):
            self._add(step, names)

    def _add(self, step: Lowered, names: Iterator[str]) -> None:
        match step:
            case Limited():
                self._limited(step, names)
            case Scaled():
                self._scaled(step, names)
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

    def _limited(self, step: Limited, names: Iterator[str]) -> None:
        before, low, high = self.now, self._operand(step.low, names), self._operand(step.high, names)
        self._stage(lambda *i: _shifted(te.min(te.max(before(*i), low(*i)), high(*i)), step.bits), "T_limits")

    def _scaled(self, step: Scaled, names: Iterator[str]) -> None:
        before, factor, summand = self.now, self._operand(step.factor, names), self._operand(step.summand, names)
        self._stage(lambda *i: _shifted(before(*i) * factor(*i) + summand(*i), step.bits), "T_scale")

    def _operand(self, row: Row, names: Iterator[str]) -> Callable[..., Expr]:
        """Return the element of the table's next row, whatever it has."""
        return self._row("constants" if isinstance(row, int) else next(names))

    def _clip(self, step: Clip) -> None:
        if step.high < WORD[1]:
            before, high = self.now, self._value(AluOpcode.MIN, step.high)
            self._stage(lambda *i: te.min(before(*i), high(*i)), "clipA")
        if step.low > WORD[0]:
            above, low = self.now, self._value(AluOpcode.MAX, step.low)
            self._stage(lambda *i: te.max(above(*i), low(*i)), "clipB")

    def _constant(self, step: ShiftRight | ShiftLeft | Add | Multiply | Relu) -> None:
        before = self.now
        match step:
            case ShiftRight():
                self._stage(lambda *i: before(*i) >> step.bits, "T_right_shift")
            case ShiftLeft():
                self._stage(lambda *i: before(*i) << step.bits, "T_left_shift")
            case Add():
                summand = self._value(AluOpcode.ADD, step.constant)
                self._stage(lambda *i: before(*i) + summand(*i), "T_add")
            case Multiply():
                factor = self._value(AluOpcode.MUL, step.constant)
                self._stage(lambda *i: before(*i) * factor(*i), "T_multiply")
            case Relu():
                self._stage(lambda *i: te.max(before(*i), 0), "T_relu")
            case _:
                assert_never(step)

    def _by_channel(self, step: PerChannel, name: str) -> None:
        before, value = self.now, self._row(name)
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

    def _value(self, opcode: AluOpcode, constant: int) -> Callable[..., Expr]:
        """Return the constant as an operand: from the table, unless an instruction has room for it."""
        if is_immediate(opcode, constant):
            return lambda *_: te.const(constant, self.env.acc_dtype)
        return self._row("constants")

    def _row(self, name: str) -> Callable[..., Expr]:
        """Return the element of the table's next row; ``name`` is that of a table of one row."""
        if self.table is None:
            self.table = self._table(name if len(self.lines) == 1 else "table")
        table, number, middle = self.table, self.read, len(self.shape) - 4
        self.read += 1

        def element(*i: Expr) -> Expr:
            block = i[1] * len(self.lines) + number if self._has_channels else number
            return table(0, block, *[0] * middle, *i[-2:])

        return element

    @property
    def _has_channels(self) -> bool:
        """Whether the table has more than constants: rows for every block of channels."""
        return any(not isinstance(line, int) for line in self.lines)

    def _table(self, name: str) -> te.Tensor:
        rest = (*[1] * (len(self.shape) - 4), *self.shape[-2:])
        blocks = (self.cut[1], self.shape[1]) if self._has_channels else (1, 1)
        count, whole = (extent * len(self.lines) for extent in blocks)
        given = te.placeholder((1, count, *rest), name=name, dtype=self.env.acc_dtype)
        self.inputs.insert(0, given)
        if count == whole:
            return given
        padded = te.compute(
            (1, whole, *rest),
            lambda *i: ops.if_then_else(i[1] < count, given(*i), te.const(0, given.dtype)),
            name="T_pad",
        )
        self.widened.append(padded)
        return padded

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
            read, factor = other, self._value(AluOpcode.MUL, step.multiplier)
            other = self.computed(lambda *i: read(*i) * factor(*i), "T_multiply")
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


def _shifted(value: Expr, bits: int) -> Expr:
    """Return ``value`` shifted right, or left by the opposite."""
    if not bits:
        return value
    return value >> bits if bits > 0 else value << -bits
