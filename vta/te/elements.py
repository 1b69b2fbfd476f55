"""What a computation's function returned for one element, as an expression.

Tests: tests/vta/te/test_elements.py.
"""

from isa.errors import VTAError
from vta.te.tensor import Tensor
from vta.tir.expr import (
    Expr,
    convert,
)

__all__ = ["ComputeError", "as_element"]


class ComputeError(VTAError, ValueError):
    """A computation that te cannot describe."""


def as_element(value: object, stage: str) -> Expr:
    """Return ``value`` as an expression; raises ``ComputeError`` for what is no number."""
    expected = f"compute {stage!r}: expected the function to return an expression, got "
    match value:
        case None:
            raise ComputeError(f"{expected}None; does it lack a return?")
        case str():
            raise ComputeError(f"{expected}{value!r}")
        case Tensor():
            raise ComputeError(f"{expected}tensor {value.name!r}; name an element of it, {value.name}[i, ...]")
        case _:
            return convert(value)
