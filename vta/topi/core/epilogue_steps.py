"""The steps that an epilogue consists of, each with its own limits. Used through ``vta.topi.core.epilogue``.

Tests: tests/vta/topi/core/test_epilogue.py.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import TypeAlias

from isa.errors import VTAError

__all__ = [
    "WORD", "Add", "Bias", "ChannelShift", "Clip", "Epilogue", "EpilogueError", "Multiply", "Primitive", "Relu",
    "Requantise", "Residual", "RoundingShift", "Scale", "ShiftLeft", "ShiftRight", "Step",
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
class Residual:
    """Add another tensor of the output's shape; int8 is widened on its way into the accumulator."""

    dtype: str = "int8"

    def __post_init__(self) -> None:
        if self.dtype not in _RESIDUALS:
            raise EpilogueError(f"Residual: dtype is {' or '.join(_RESIDUALS)}, not {self.dtype!r}")


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


Step: TypeAlias = (
    Bias | Scale | ChannelShift | Residual | ShiftRight | ShiftLeft | RoundingShift | Requantise | Add | Multiply
    | Relu | Clip
)  # fmt: skip
Epilogue: TypeAlias = tuple[Step, ...]
Primitive: TypeAlias = (
    Bias | Scale | ChannelShift | Residual | ShiftRight | ShiftLeft | Add | Multiply | Relu | Clip
)  # fmt: skip


def _require(step: Step, what: str, low: int, high: int) -> None:
    """Settle attribute ``what`` as an int; raises ``EpilogueError`` unless it is from ``low`` to ``high``."""
    value = getattr(step, what)
    if not isinstance(value, Integral) or not low <= int(value) <= high:
        raise EpilogueError(f"{type(step).__name__}: {what} is from {low} to {high}, not {value!r}")
    object.__setattr__(step, what, int(value))
