"""What an epilogue is on a configuration's ALU, and what it takes. Used through ``vta.topi.core.epilogue``.

Whatever is not in an instruction itself lies in one table, which a tile loads at once: values for each channel, and
constants that take several instructions otherwise.

An ALU that has fused steps limits on both sides and shifts in one operation, or multiplies, adds and shifts; what is
missing of it is a limit that nothing reaches, a factor of 1, a sum of 0 or a shift by 0. Its operands are two rows of
the table, which lie side by side. A limit behind a shift is one in front of it: ``clip(x >> 8, 0, 127)`` is
``clip(x, 0, 32767) >> 8``. Tests: tests/vta/topi/core/test_epilogue.py, tests/vta/topi/core/test_epilogue_fused.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from isa.config import VTAConfig
from isa.instructions import AluOpcode
from vta.passes.alu.immediate import immediate_steps
from vta.topi.core.epilogue_steps import (
    WORD,
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Fork,
    Multiply,
    PerChannel,
    Primitive,
    Relu,
    Residual,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
    primitive,
    readers,
)

__all__ = ["Limited", "Lowered", "Needs", "Row", "Scaled", "is_immediate", "needs", "parts", "rows"]

Row: TypeAlias = PerChannel | int
"""A row of the table: the values of a step, or a constant."""


@dataclass(frozen=True, slots=True)
class Limited:
    """The number as far as it is not below ``low`` or above ``high``, shifted right by ``bits``."""

    low: Row
    high: Row
    bits: int


@dataclass(frozen=True, slots=True)
class Scaled:
    """The product with ``factor``, and ``summand``, shifted right by ``bits``, or left by the opposite."""

    factor: Row
    summand: Row
    bits: int


Lowered: TypeAlias = Primitive | Limited | Scaled
"""What is one stage, or, without fused steps, some."""

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


def needs(steps: Sequence[Step], config: VTAConfig | None = None, *, whole_numbers: bool = False) -> Needs:
    """Return what ``steps`` take on ``config``; with ``whole_numbers``, also what storing all four bytes of each does.

    Without a configuration, on an ALU without fused steps.
    """
    residuals = sum(isinstance(step, Residual) for step in readers(steps))
    operations, lines, held = _operations(steps, config), len(list(rows(steps, config))), _held(steps)
    if whole_numbers:
        return Needs(operations + _BYTES * (_COPY + 1), residuals, lines + _BYTES, max(held, _BYTES), _BYTES)
    return Needs(operations, residuals, lines, held)


def is_immediate(opcode: AluOpcode, value: int) -> bool:
    """Return whether one instruction, or none at all, does ``opcode`` with ``value`` to a number."""
    steps = immediate_steps(opcode, value)
    return steps is not None and len(steps) <= 1


def parts(steps: Sequence[Step], config: VTAConfig | None) -> tuple[Lowered, ...]:
    """Return ``steps`` as they are done on ``config``; None stands for an ALU without fused steps.

    Of all ways to fuse neighbours, this is the one with the fewest operations, and of those the one with the fewest
    rows. The chains of a fork stay as they are.
    """
    plain = tuple(primitive(steps))
    if config is None or not config.fused_alu:
        return plain
    # From the end: what is left of the steps from each place on takes, and its parts.
    best: list[tuple[tuple[int, int], tuple[Lowered, ...]]] = [((0, 0), ())]
    for at in reversed(range(len(plain))):
        ways: list[tuple[Lowered, int]] = [(plain[at], 1), *_fused(plain[at : at + 4])]
        choices = []
        for part, count in ways:
            (operations, lines), rest = best[len(plain) - at - count]
            cost = operations + _count(part, config), lines + len(list(_read(part, config)))
            choices.append((cost, (part, *rest)))
        best.append(min(choices, key=lambda choice: choice[0]))
    return best[-1][1]


def rows(steps: Sequence[Step], config: VTAConfig | None = None) -> Iterator[Row]:
    """Yield the rows of the table on ``config``, in the order in which they are read."""
    for part in parts(steps, config):
        yield from _read(part, config)


def _read(part: Lowered, config: VTAConfig | None) -> Iterator[Row]:
    match part:
        case Limited():
            yield from (part.low, part.high)
        case Scaled():
            yield from (part.factor, part.summand)
        case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum():
            yield part
        case Fork():
            yield from rows(part.steps, config)
            yield from rows(part.others, config)
        case Residual() | Clip() | Multiply() | Add() | ShiftRight() | ShiftLeft() | Relu():
            yield from (value for opcode, value in _constants(part) if not is_immediate(opcode, value))
        case _:
            assert_never(part)


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


def _operations(steps: Sequence[Step], config: VTAConfig | None) -> int:
    return sum(_count(part, config) for part in parts(steps, config))


def _count(part: Lowered, config: VTAConfig | None) -> int:
    """Return the operations that a part takes."""
    match part:
        case Fork(steps=one, others=other):
            copied = _COPY if one or other else 0
            return copied + _operations(one, config) + _operations(other, config) + 1
        case Residual() | Clip() | Multiply() | Add() | ShiftRight() | ShiftLeft() | Relu():
            done = [immediate_steps(opcode, value) != () for opcode, value in _constants(part)]
            return sum(done) + isinstance(part, Residual)
        case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum() | Limited() | Scaled():
            return 1
        case _:
            assert_never(part)


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


def _fused(steps: Sequence[Primitive]) -> list[tuple[Lowered, int]]:
    """Return the fused steps that ``steps`` may begin with, each with how many of them it does."""
    found: list[tuple[Lowered, int]] = []
    for count in range(1, len(steps) + 1):
        for way in (_limited, _shifted_first, _scaled):
            part = way(steps[:count])
            if part is not None:
                found.append((part, count))
    return found


def _limited(steps: Sequence[Primitive]) -> Limited | None:
    """Return all ``steps`` as limits and a shift to the right."""
    *limits, last = steps
    bits = 0
    if isinstance(last, ShiftRight) and limits:
        bits = last.bits
    else:
        limits.append(last)
    match limits:
        case [Clip(low=low, high=high)]:
            return Limited(low, high, bits)
        case [Relu()]:
            return Limited(0, WORD[1], bits)
        case [ChannelMaximum() as bottom]:
            return Limited(bottom, WORD[1], bits)
        case [ChannelMinimum() as top]:
            return Limited(WORD[0], top, bits)
        case [first, second]:
            least, most = _lower(first), _upper(second)
            return None if least is None or most is None else Limited(least, most, bits)
        case _:
            return None


def _lower(step: Primitive) -> Row | None:
    """Return what ``step`` limits by from below, if it does nothing else."""
    match step:
        case ChannelMaximum():
            return step
        case Relu():
            return 0
        case Clip(low=low, high=high) if high == WORD[1]:
            return low
        case _:
            return None


def _upper(step: Primitive) -> Row | None:
    """Return what ``step`` limits by from above, if it does nothing else."""
    match step:
        case ChannelMinimum():
            return step
        case Clip(low=low, high=high) if low == WORD[0]:
            return high
        case _:
            return None


def _shifted_first(steps: Sequence[Primitive]) -> Limited | None:
    """Return a shift and the constant limits behind it, as limits in front of it."""
    match steps:
        case [ShiftRight(bits=bits), Clip(low=low, high=high)]:
            pass
        case [ShiftRight(bits=bits), Relu()]:
            low, high = 0, WORD[1]
        case _:
            return None
    least, most = low << bits, (high << bits) + (1 << bits) - 1
    if least > WORD[1] or most < WORD[0]:
        return None  # every number is beyond the limit, which a shifted number is not
    return Limited(max(least, WORD[0]), min(most, WORD[1]), bits)


def _scaled(steps: Sequence[Primitive]) -> Scaled | None:
    """Return all ``steps``, two or three of them, as a product, a sum and a shift."""
    left = list(steps)
    factor: Row = 1
    summand: Row = 0
    bits = 0
    match left:
        case [Scale() as scale, *left]:
            factor = scale
        case [Multiply(constant=constant), *left]:
            factor = constant
        case _:
            pass
    match left:
        case [Bias() as bias, *left]:
            summand = bias
        case [Add(constant=constant), *left]:
            summand = constant
        case _:
            pass
    match left:
        case [ShiftRight(bits=count), *left]:
            bits = count
        case [ShiftLeft(bits=count), *left]:
            bits = -count
        case _:
            pass
    return None if left or len(steps) < 2 else Scaled(factor, summand, bits)
