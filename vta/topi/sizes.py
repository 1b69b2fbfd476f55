"""Sizes of tensors and operators as plain numbers.

May import ``vta.te``, ``vta.tir``, ``vta.topi.operator``. Tests: tests/vta/topi/test_sizes.py.
"""

from vta import te
from vta.tir.expr import IntImm
from vta.topi.operator import OperatorError

__all__ = ["require_sizes", "sizes"]


def sizes(tensor: te.Tensor) -> tuple[int, ...]:
    """Return the shape of ``tensor``, which must be constant."""
    found = tuple(extent.value for extent in tensor.shape if isinstance(extent, IntImm))
    if len(found) != tensor.ndim:
        shape = ", ".join(map(str, tensor.shape))
        raise OperatorError(f"tensor {tensor.name!r}: the sizes of an operator are numbers, not ({shape})")
    return found


def require_sizes(operator: object, *names: str) -> None:
    """Raise ``OperatorError`` unless the attributes ``names`` of ``operator`` are positive numbers."""
    for name in names:
        value = getattr(operator, name)
        values = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(v, int) and v > 0 for v in values):
            kind = "numbers" if isinstance(value, tuple) else "a number"
            raise OperatorError(f"{type(operator).__name__}: {name} takes {kind} from 1, not {value!r}")
