"""What an operator takes and gives: plain tensors, as its user sees them, and the packed arrays that are made of them.

Tests: tests/vta/topi/core/test_operator.py.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Argument", "Operand", "Source"]

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor's name, its plain shape and the type of its numbers."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """A packed array that a compiled operator takes: ``pack`` makes it of the plain ones called ``sources``."""

    name: str
    sources: tuple[str, ...]
    pack: Callable[..., Array]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A plain array that a step reads: ``value`` makes it of the operands called ``names``."""

    names: tuple[str, ...]
    value: Callable[..., Array]

    @classmethod
    def of(cls, operand: Operand) -> "Source":
        """Return the operand itself."""
        return cls((operand.name,), lambda array: array)
