"""What an epilogue takes: operations, memory, and its table. Used through ``vta.topi.core.epilogue``.

Whatever is not in an instruction itself lies in one table, which a tile loads at once: values for each channel, and
constants that take several instructions otherwise. Tests: tests/vta/topi/core/test_epilogue.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from isa.instructions import AluOpcode
from vta.passes.alu.immediate import immediate_steps
from vta.topi.core.epilogue_steps import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Fork,
    Multiply,
    PerChannel,
    Relu,
    Residual,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
    primitive,
    readers,
)

__all__ = ["Needs", "Row", "is_immediate", "needs", "rows"]

Row: TypeAlias = PerChannel | int
"""A row of the table: the values of a step, or a constant."""

_BYTES = 4
"""Bytes of a whole number, each of which is stored."""

_COPY = 2
"""Operations that copy a number: times 0, plus the other one."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What steps take: ALU ``operations`` for every number, in as many instructions; tensors that they read.

    ``residuals`` have the output's size; the table has ``rows`` for each channel. ``held`` numbers are kept beside each
    one while a fork's chains are computed; ``stored`` elements are written for each.
    """

    operations: int
    residuals: int
    rows: int
    held: int
    stored: int = 1


def needs(steps: Sequence[Step], *, whole_numbers: bool = False) -> Needs:
    """Return what ``steps`` take; with ``whole_numbers``, also what storing all four bytes of each does."""
    residuals = sum(isinstance(step, Residual) for step in readers(steps))
    operations, lines, held = _operations(steps), len(list(rows(steps))), _held(steps)
    if whole_numbers:
        return Needs(operations + _BYTES * (_COPY + 1), residuals, lines + _BYTES, max(held, _BYTES), _BYTES)
    return Needs(operations, residuals, lines, held)


def is_immediate(opcode: AluOpcode, value: int) -> bool:
    """Return whether one instruction, or none at all, does ``opcode`` with ``value`` to a number."""
    steps = immediate_steps(opcode, value)
    return steps is not None and len(steps) <= 1


def rows(steps: Sequence[Step]) -> Iterator[Row]:
    """Yield the rows of the table, in the order in which they are read."""
    for step in primitive(steps):
        match step:
            case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum():
                yield step
            case Fork():
                yield from rows(step.steps)
                yield from rows(step.others)
            case Residual() | Clip() | Multiply() | Add() | ShiftRight() | ShiftLeft() | Relu():
                yield from (value for opcode, value in _constants(step) if not is_immediate(opcode, value))
            case _:
                assert_never(step)


def _constants(
    step: Residual | Clip | Multiply | Add | ShiftRight | ShiftLeft | Relu,
) -> tuple[tuple[AluOpcode, int], ...]:
    """Return the operations of ``step`` that have a constant, and it, in order."""
    match step:
        case Residual():
            return ((AluOpcode.MUL, step.multiplier),)
        case Clip():
            return ((AluOpcode.MIN, step.high), (AluOpcode.MAX, step.low))
        case Multiply():
            return ((AluOpcode.MUL, step.constant),)
        case Add():
            return ((AluOpcode.ADD, step.constant),)
        case ShiftRight():
            return ((AluOpcode.SHR, step.bits),)
        case ShiftLeft():
            return ((AluOpcode.SHR, -step.bits),)
        case Relu():
            return ((AluOpcode.MAX, 0),)
        case _:
            assert_never(step)


def _operations(steps: Sequence[Step]) -> int:
    count = 0
    for step in primitive(steps):
        match step:
            case Fork(steps=one, others=other):
                count += (_COPY if one or other else 0) + _operations(one) + _operations(other) + 1
            case Residual() | Clip() | Multiply() | Add() | ShiftRight() | ShiftLeft() | Relu():
                done = [immediate_steps(opcode, value) != () for opcode, value in _constants(step)]
                count += sum(done) + isinstance(step, Residual)
            case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum():
                count += 1
            case _:
                assert_never(step)
    return count


def _held(steps: Sequence[Step]) -> int:
    forks = [step for step in primitive(steps) if isinstance(step, Fork) and (step.steps or step.others)]
    return max((max(_held_by_first(fork), 1 + _held(fork.others)) for fork in forks), default=0)


def _held_by_first(fork: Fork) -> int:
    """Return what is kept while the first chain of a fork is computed: the fork's number x, for the second one.

    A fork that the chain begins with keeps the same x, and goes on to, in its own second chain.
    """
    if not fork.steps or not isinstance(fork.steps[0], Fork):
        return 1 + _held(fork.steps)
    inner = fork.steps[0]
    return max(_held_by_first(inner), 2 + _held(inner.others), 1 + _held(fork.steps[1:]))
