"""Types of values: a tensor of a shape and an element type, or a tuple of types.

Shapes are static. An ``AnyDim`` may stand in the type of an input until a size is given for it (``bind_dims``); no
operator accepts one. Tests: tests/runtime/executor/operators/test_types.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError

__all__ = [
    "AnyDim", "Array", "Dim", "ElementType", "RelayError", "Shape", "TensorType", "TupleType", "Type", "bind_dims",
    "element_type", "unknown_dims",
]  # fmt: skip

Shape: TypeAlias = tuple[int, ...]
Array: TypeAlias = npt.NDArray[Any]
"""An array whose element type is known when the program runs."""


class ElementType(StrEnum):
    """What a tensor may consist of, as numpy calls it."""

    BOOL = "bool"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"
    FLOAT16 = "float16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"

    @property
    def is_int(self) -> bool:
        """Whether values are integers, signed or not (bool is not)."""
        return np.dtype(self).kind in "iu"

    @property
    def is_float(self) -> bool:
        """Whether values are floating point numbers."""
        return np.dtype(self).kind == "f"

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value of integers or bool."""
        if self is ElementType.BOOL:
            return 0, 1
        limits = np.iinfo(np.dtype(self))
        return int(limits.min), int(limits.max)


_LARGEST_DIM = 1 << 48
"""More than any memory holds; sizes up to here are safe to compute with."""


class RelayError(VTAError, ValueError):
    """A graph that cannot be: the message names the node, what was expected and what came."""


@dataclass(frozen=True, slots=True)
class AnyDim:
    """A size that is not known yet, for example that of a batch, with the name that its model gives it."""

    name: str = "?"

    def __str__(self) -> str:
        return f"?{self.name}" if self.name != "?" else "?"


Dim: TypeAlias = int | AnyDim


def element_type(name: str) -> ElementType:
    """Return the element type called ``name``; raises ``RelayError`` for one that tensors do not have."""
    try:
        return ElementType(name)
    except ValueError:
        raise RelayError(f"a tensor's elements are one of {', '.join(ElementType)}, not {str(name)!r}") from None


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: its dimensions (none: a scalar) and the type of its elements."""

    dims: tuple[Dim, ...]
    dtype: ElementType

    def __init__(self, dims: "tuple[Dim, ...] | list[Dim] | Shape", dtype: str) -> None:
        for dim in dims:
            if not isinstance(dim, AnyDim) and not _is_size(dim):
                raise RelayError(f"a dimension is an integer from 0, or unknown, not {dim!r} (in {tuple(dims)})")
        settled = tuple(dim if isinstance(dim, AnyDim) else int(dim) for dim in dims)
        object.__setattr__(self, "dims", settled)
        object.__setattr__(self, "dtype", element_type(dtype))

    @property
    def shape(self) -> Shape:
        """The dimensions; raises ``RelayError`` if one is unknown."""
        return tuple([_known(dim) for dim in self.dims])

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take."""
        return self.size * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        inner = ", ".join(str(dim) for dim in self.dims) + ("," if len(self.dims) == 1 else "")
        return f"Tensor[({inner}), {self.dtype}]"


def _is_size(dim: object) -> bool:
    return isinstance(dim, Integral) and not isinstance(dim, bool) and 0 <= int(dim) <= _LARGEST_DIM


def _known(dim: Dim) -> int:
    if isinstance(dim, AnyDim):
        raise RelayError(f"the dimension {dim} is not known; give a size for it")
    return dim


@dataclass(frozen=True, slots=True)
class TupleType:
    """Several values as one."""

    fields: "tuple[Type, ...]"

    def __str__(self) -> str:
        inner = ", ".join(str(each) for each in self.fields) + ("," if len(self.fields) == 1 else "")
        return f"({inner})"


Type: TypeAlias = TensorType | TupleType


def unknown_dims(given: Type) -> tuple[AnyDim, ...]:
    """Return the unknown dimensions in ``given``, each once, in order."""
    match given:
        case TensorType():
            return tuple(dict.fromkeys(dim for dim in given.dims if isinstance(dim, AnyDim)))
        case TupleType():
            return tuple(dict.fromkeys(dim for each in given.fields for dim in unknown_dims(each)))


def bind_dims(given: Type, sizes: Mapping[str, int]) -> Type:
    """Return ``given`` with the unknown dimensions that ``sizes`` names replaced; others stay unknown."""
    match given:
        case TensorType():
            dims = [sizes.get(dim.name, dim) if isinstance(dim, AnyDim) else dim for dim in given.dims]
            return TensorType(tuple(dims), given.dtype)
        case TupleType():
            return TupleType(tuple(bind_dims(each, sizes) for each in given.fields))
