"""Types of values: a tensor of a shape and an element type, or a tuple of types.

Shapes are static. An ``AnyDim`` may stand in the type of an input until a size is given for it (``bind_dims``); no
operator accepts one. Tests: tests/vta/relay/ir/test_types.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from vta.tir.dtype import DType, DTypeError

__all__ = [
    "ELEMENT_TYPES", "AnyDim", "Array", "Dim", "RelayError", "Shape", "TensorType", "TupleType", "Type", "bind_dims",
    "element_type", "unknown_dims",
]  # fmt: skip

Shape: TypeAlias = tuple[int, ...]
Array: TypeAlias = npt.NDArray[Any]
"""An array whose element type is known when the program runs."""

ELEMENT_TYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)  # fmt: skip
"""What a tensor may consist of."""


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


def element_type(name: str) -> DType:
    """Return the element type called ``name``; raises ``RelayError`` for one that tensors do not have."""
    try:
        dtype = DType(name)
    except DTypeError:
        dtype = None
    if dtype is None or dtype not in ELEMENT_TYPES:
        raise RelayError(f"a tensor's elements are one of {', '.join(ELEMENT_TYPES)}, not {name!r}")
    return dtype


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: its dimensions (none: a scalar) and the type of its elements."""

    dims: tuple[Dim, ...]
    dtype: DType

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
