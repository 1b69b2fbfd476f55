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

from vta import te
from vta.environment import Environment
from vta.tir import ops
from vta.tir.expr import Expr, IntImm
from vta.topi.core.epilogue_steps import (
    WORD,
    Add,
    Bias,
    ChannelShift,
    Clip,
    Epilogue,
    EpilogueError,
    Multiply,
    Primitive,
    Relu,
    Requantise,
    Residual,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
)
from vta.topi.core.layout import pack_activations, pack_channels
from vta.topi.core.operand import Operand

__all__ = [
    "Add", "Appended", "Bias", "ChannelShift", "Clip", "Epilogue", "EpilogueError", "Multiply", "Relu", "Requantise",
    "Residual", "RoundingShift", "Scale", "ShiftLeft", "ShiftRight", "Step", "append", "operands", "pack_operands",
    "reference", "stage_count",
]  # fmt: skip

Array = npt.NDArray[np.generic]
Ints = npt.NDArray[np.int32]

_CHANNEL_NAMES: dict[type[Step], str] = {Bias: "bias", Scale: "scale", ChannelShift: "shift"}


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
    found: list[Operand] = []
    for step in steps:
        match step:
            case Bias() | Scale() | ChannelShift():
                found.append(Operand(_CHANNEL_NAMES[type(step)], (shape[1],), "int32"))
            case Residual():
                found.append(Operand("residual", tuple(shape), step.dtype))
            case (
                ShiftRight() | ShiftLeft() | RoundingShift() | Requantise() | Add() | Multiply() | Relu() | Clip()
            ):  # fmt: skip
                pass
            case _:
                assert_never(step)
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
    for step, value in zip(_readers(steps), values, strict=True):
        if isinstance(step, Residual):
            packed.append(pack_activations(value, batch=env.BATCH, block=env.BLOCK_OUT))
        else:
            packed.append(pack_channels(value, batch=env.BATCH, block=env.BLOCK_OUT, rank=rank))
    return tuple(packed)


def _readers(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if isinstance(step, Residual | Bias | Scale | ChannelShift)]


def _primitive(steps: Sequence[Step]) -> Iterator[Primitive]:
    """Yield ``steps`` with those that are short for several replaced by them."""
    for step in steps:
        match step:
            case RoundingShift():
                yield from (Add(1 << (step.bits - 1)), ShiftRight(step.bits))
            case Requantise():
                yield from _primitive([Multiply(step.multiplier)])
                yield from _primitive([RoundingShift(step.shift)] if step.shift else [])
            case Multiply(constant=0):
                yield Clip(0, 0)  # te would fold the product, and nothing would read the tensor any more
            case Bias() | Scale() | ChannelShift() | Residual() | ShiftRight() | ShiftLeft() | Add() | Multiply():
                yield step
            case Relu() | Clip():
                yield step
            case _:
                assert_never(step)


def stage_count(steps: Sequence[Step]) -> int:
    """Return how many ALU operations ``steps`` are."""
    return sum(2 if isinstance(step, Clip) else 1 for step in _primitive(steps))


def append(tensor: te.Tensor, steps: Sequence[Step], env: Environment, shape: Sequence[int] | None = None) -> Appended:
    """Return the stages of ``steps`` behind ``tensor``, a packed one of 4 dimensions or more in ``env.acc_dtype``.

    ``shape`` is that of the result, where it is smaller than the tensor: tiles may reach beyond the result.
    """
    whole = [extent.value for extent in tensor.shape if isinstance(extent, IntImm)]
    assert len(whole) == tensor.ndim, "packed tensors have constant extents"
    builder = _Builder(tensor, env, whole, shape or whole)
    plain = operands(steps, (1, 1))
    names = iter([operand.name for operand in plain])
    for step in _primitive(steps):
        builder.add(step, names)
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

    def add(self, step: Primitive, names: Iterator[str]) -> None:
        """Append ``step``; ``names`` are those of the tensors that are still to be made."""
        match step:
            case Bias() | Scale() | ChannelShift():
                self._by_channel(step, next(names))
            case Residual():
                self._residual(step, next(names))
            case Clip():
                self._clip(step)
            case ShiftRight() | ShiftLeft() | Add() | Multiply() | Relu():
                self._constant(step)
            case _:
                assert_never(step)

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

    def _by_channel(self, step: Bias | Scale | ChannelShift, name: str) -> None:
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


def reference(sums: Array, steps: Sequence[Step], values: Sequence[Array]) -> npt.NDArray[np.int8]:
    """Return the int8 numbers that ``steps`` make of a layer's plain ``sums`` (N, C, *rest), in int32.

    ``values`` are the plain arrays for ``operands``, in order.
    """
    now: Ints = sums.astype(np.int32)
    given = iter(values)
    if len(values) != (count := len(_readers(steps))):
        raise EpilogueError(f"the epilogue reads {count} tensors, and {len(values)} were given")
    with np.errstate(over="ignore"):
        for step in _primitive(steps):
            now = _done(now, step, given)
    return now.astype(np.int8)


def _done(now: Ints, step: Primitive, given: Iterator[Array]) -> Ints:
    """Return what ``step`` makes of ``now``."""
    match step:
        case Bias():
            return now + _by_channel(now, next(given))
        case Scale():
            return now * _by_channel(now, next(given))
        case ChannelShift():
            return _shifted(now, _by_channel(now, next(given)))
        case Residual():
            return now + next(given).astype(np.int32)
        case ShiftRight():
            return now >> np.int32(step.bits)
        case ShiftLeft():
            return now << np.int32(step.bits)
        case Add():
            return now + np.int32(step.constant)
        case Multiply():
            return now * np.int32(step.constant)
        case Relu():
            return np.maximum(now, np.int32(0))
        case Clip():
            return np.clip(now, np.int32(step.low), np.int32(step.high))
        case _:
            assert_never(step)


def _by_channel(now: Ints, values: Array) -> Ints:
    return values.astype(np.int32).reshape(1, -1, *[1] * (now.ndim - 2))


def _shifted(now: Ints, counts: Ints) -> Ints:
    """Return ``now`` shifted right by ``counts``, left where they are negative; 32 and more shift everything out."""
    wide = now.astype(np.int64)
    right = wide >> np.clip(counts, 0, 32)
    left = wide << np.clip(-counts.astype(np.int64), 0, 32)
    return np.where(counts >= 0, right, left).astype(np.int32)
