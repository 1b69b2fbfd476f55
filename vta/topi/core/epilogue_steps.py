"""The steps that an epilogue consists of, each with its own limits. Used through ``vta.topi.core.epilogue``.

Tests: tests/vta/topi/core/test_epilogue.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral
from typing import TypeAlias, assert_never, get_args

from isa.errors import VTAError

__all__ = [
    "STEPS", "WORD", "Add", "Bias", "ChannelMaximum", "ChannelMinimum", "ChannelShift", "Clip", "Epilogue",
    "EpilogueError", "Fork", "HalfEvenShift", "Joint", "Multiply", "PerChannel", "Primitive", "Relu", "Requantise",
    "Residual", "RoundingShift", "Scale", "ShiftLeft", "ShiftRight", "Step", "primitive", "readers",
    "require_steps_of",
]  # fmt: skip

WORD = (-(1 << 31), (1 << 31) - 1)
"""The range of an accumulator's number."""

_RESIDUALS = ("int8", "int32")


class EpilogueError(VTAError, ValueError):
    """A step that cannot be done, or arrays that do not go with the steps."""


@dataclass(frozen=True, slots=True)
class Bias:
    """Add an int32 tensor that has one value a channel."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Multiply by an int32 tensor that has one value a channel."""


@dataclass(frozen=True, slots=True)
class ChannelShift:
    """Shift right by an int32 tensor that has one value a channel; a negative one shifts left."""


@dataclass(frozen=True, slots=True)
class ChannelMinimum:
    """Replace what is larger than an int32 tensor that has one value a channel by that: limits from above."""


@dataclass(frozen=True, slots=True)
class ChannelMaximum:
    """Replace what is smaller than an int32 tensor that has one value a channel by that: limits from below."""


@dataclass(frozen=True, slots=True)
class Residual:
    """Add another tensor of the output's shape, times ``multiplier``; int8 is widened on its way into the accumulator.

    A zero point z of the tensor is an ``Add(-z * multiplier)`` before or after.
    """

    dtype: str = "int8"
    multiplier: int = 1

    def __post_init__(self) -> None:
        if self.dtype not in _RESIDUALS:
            raise EpilogueError(f"Residual: dtype is {' or '.join(_RESIDUALS)}, not {self.dtype!r}")
        _require(self, "multiplier", *WORD)
        if not self.multiplier:
            raise EpilogueError("Residual: with a multiplier of 0 nothing is added; leave the step out")


@dataclass(frozen=True, slots=True)
class ShiftRight:
    """Arithmetic right shift."""

    bits: int

    def __post_init__(self) -> None:
        _require(self, "bits", 0, 31)


@dataclass(frozen=True, slots=True)
class ShiftLeft:
    """Left shift."""

    bits: int

    def __post_init__(self) -> None:
        _require(self, "bits", 0, 31)


@dataclass(frozen=True, slots=True)
class RoundingShift:
    """Right shift to the nearest number, halves upwards: add ``1 << (bits - 1)``, then shift."""

    bits: int

    def __post_init__(self) -> None:
        _require(self, "bits", 1, 31)


@dataclass(frozen=True, slots=True)
class HalfEvenShift:
    """Right shift to the nearest number, halves to the even one: add ``(1 << (bits - 1)) - 1 + b``, then shift.

    b is the bit of the number that becomes the lowest one.
    """

    bits: int

    def __post_init__(self) -> None:
        _require(self, "bits", 1, 31)


@dataclass(frozen=True, slots=True)
class Requantise:
    """Multiply by ``multiplier``, then shift right by ``shift`` to the nearest number, halves upwards."""

    multiplier: int
    shift: int

    def __post_init__(self) -> None:
        _require(self, "multiplier", *WORD)
        _require(self, "shift", 0, 31)


@dataclass(frozen=True, slots=True)
class Add:
    """Add a constant."""

    constant: int

    def __post_init__(self) -> None:
        _require(self, "constant", *WORD)


@dataclass(frozen=True, slots=True)
class Multiply:
    """Multiply by a constant."""

    constant: int

    def __post_init__(self) -> None:
        _require(self, "constant", *WORD)


@dataclass(frozen=True, slots=True)
class Relu:
    """Replace negative numbers by zero."""


@dataclass(frozen=True, slots=True)
class Clip:
    """Limit to ``low`` .. ``high``; at the end of int32, that side needs no operation."""

    low: int
    high: int

    def __post_init__(self) -> None:
        _require(self, "low", *WORD)
        _require(self, "high", *WORD)
        if self.low > self.high:
            raise EpilogueError(f"Clip: low is {self.low}, which is more than high, {self.high}")


class Joint(StrEnum):
    """What becomes of the two numbers of a ``Fork``."""

    ADD = "add"
    MULTIPLY = "multiply"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"


@dataclass(frozen=True, slots=True)
class Fork:
    """Two chains of steps from the same number x, and ``joint`` of what they give.

    Without ``others`` the second one gives x itself: ``Fork(Joint.MAXIMUM, (Requantise(13, 7),))`` is a leaky relu.
    """

    joint: Joint
    steps: "Epilogue"
    others: "Epilogue" = ()

    def __post_init__(self) -> None:
        if self.joint not in [*Joint]:
            texts = ", ".join(repr(str(joint)) for joint in Joint)
            raise EpilogueError(f"Fork: joint is one of {texts}, not {self.joint!r}")
        object.__setattr__(self, "joint", Joint(self.joint))
        for name in ("steps", "others"):
            object.__setattr__(self, name, require_steps_of("Fork", name, getattr(self, name)))


PerChannel: TypeAlias = Bias | Scale | ChannelShift | ChannelMinimum | ChannelMaximum
"""Steps that read one value a channel."""

Step: TypeAlias = (
    PerChannel | Residual | ShiftRight | ShiftLeft | RoundingShift | HalfEvenShift | Requantise | Add | Multiply | Relu
    | Clip | Fork
)  # fmt: skip
Epilogue: TypeAlias = tuple[Step, ...]
Primitive: TypeAlias = PerChannel | Residual | ShiftRight | ShiftLeft | Add | Multiply | Relu | Clip | Fork

STEPS: tuple[type, ...] = get_args(Step)
"""The classes of all steps."""


def require_steps_of(owner: str, name: str, steps: object) -> Epilogue:
    """Return ``steps``, which ``owner`` has as ``name``, as a tuple; raises ``EpilogueError`` if they are none."""
    if isinstance(steps, STEPS):
        raise EpilogueError(f"{owner}: {name} takes a tuple of steps, not a step alone; write ({steps!r},)")
    if not isinstance(steps, tuple | list):
        raise EpilogueError(f"{owner}: {name} takes a tuple of steps, not {steps!r}")
    for step in steps:
        if not isinstance(step, STEPS):
            hint = f"write {step.__name__}(...)" if step in STEPS else "vta.topi.core.epilogue has them"
            raise EpilogueError(f"{owner}: {name} takes a tuple of steps, and {step!r} is none; {hint}")
    return tuple(steps)


def readers(steps: Sequence[Step]) -> Iterator[PerChannel | Residual]:
    """Yield the steps that read a tensor, in the order in which the tensors are given."""
    for step in steps:
        match step:
            case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum() | Residual():
                yield step
            case Fork():
                yield from readers(step.steps)
                yield from readers(step.others)
            case ShiftRight() | ShiftLeft() | RoundingShift() | HalfEvenShift() | Requantise():
                pass
            case Add() | Multiply() | Relu() | Clip():
                pass
            case _:
                assert_never(step)


def primitive(steps: Sequence[Step]) -> Iterator[Primitive]:
    """Yield ``steps`` with those that are short for several replaced by them, and without those that change nothing.

    The chains of a fork stay as they are.
    """
    for step in steps:
        match step:
            case RoundingShift():
                yield from (Add(1 << (step.bits - 1)), ShiftRight(step.bits))
            case HalfEvenShift(bits=bits):
                # The bit that becomes the lowest one, less one: it is turned over, and then spread over all bits.
                bit = (Add(_wrapped(1 << bits)), ShiftLeft(31 - bits), ShiftRight(31))
                yield from (Fork(Joint.ADD, bit), Add(1 << (bits - 1)), ShiftRight(bits))
            case Requantise():
                yield from primitive([Multiply(step.multiplier)])
                yield from primitive([RoundingShift(step.shift)] if step.shift else [])
            case Multiply(constant=0):
                yield Clip(0, 0)  # te would fold the product, and nothing would read the tensor any more
            case Multiply(constant=1) | Add(constant=0) | ShiftRight(bits=0) | ShiftLeft(bits=0):
                pass
            case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum() | Residual() | Fork():
                yield step
            case ShiftRight() | ShiftLeft() | Add() | Multiply() | Relu() | Clip():
                yield step
            case _:
                assert_never(step)


def _wrapped(value: int) -> int:
    """Return ``value`` as 32 bits hold it."""
    return (value - WORD[0]) % (1 << 32) + WORD[0]


def _require(step: Step, what: str, low: int, high: int) -> None:
    """Settle attribute ``what`` as an int; raises ``EpilogueError`` unless it is from ``low`` to ``high``."""
    value = getattr(step, what)
    if not isinstance(value, Integral) or not low <= int(value) <= high:
        raise EpilogueError(f"{type(step).__name__}: {what} is from {low} to {high}, not {value!r}")
    object.__setattr__(step, what, int(value))
