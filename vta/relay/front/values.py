"""Values of graphs under TVM's names: ``relay.var``, ``relay.const``, and calls that give several values.

Tests: tests/vta/relay/front/test_operators.py.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from runtime.executor.operators.types import AnyDim, RelayError, TensorType, TupleType, Type
from runtime.memory.array import DeviceArray, HostArray
from vta.relay.ir.nodes import Call, Constant, Expr, Let, Tuple, TupleGetItem, Var

__all__ = ["Any", "TupleWrapper", "const", "expr_of", "var"]

Any = AnyDim
"""A size that is not known yet."""


def var(
    name_hint: str,
    type_annotation: Type | None = None,
    shape: Sequence[int | AnyDim] | int | None = None,
    dtype: str = "float32",
) -> Var:
    """Return an input of a function: of a type, or of ``shape`` and ``dtype``."""
    if type_annotation is not None:
        if shape is not None:
            raise RelayError(f"variable {name_hint!r} has a type or a shape, not both")
        return Var(name_hint, type_annotation)
    if shape is None:
        raise RelayError(f"variable {name_hint!r} needs a type, as shape=(1, 3, 224, 224)")
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    return Var(name_hint, TensorType(extents, dtype))


def const(value: object, dtype: str | None = None) -> Constant:
    """Return a constant; plain numbers and lists are float32 or int32 unless ``dtype`` says otherwise."""
    if isinstance(value, HostArray | DeviceArray):
        value = value.numpy()
    array = np.asarray(value)
    if dtype is None and not isinstance(value, np.ndarray | np.generic):
        dtype = {"f": "float32", "i": "int32"}.get(array.dtype.kind)
    return Constant(np.array(array, None if dtype is None else np.dtype(dtype)))


def expr_of(value: object) -> Expr:
    """Return an expression: itself, or a tuple of several; raises ``RelayError`` for what is none."""
    match value:
        case TupleWrapper():
            return value.astuple()
        case tuple() | list():
            return Tuple(tuple(expr_of(each) for each in value))
        case Var() | Constant() | Call() | Tuple() | TupleGetItem() | Let():
            return value
        case int() | float() | np.ndarray() | np.generic() | HostArray() | DeviceArray():
            return const(value)
        case _:
            found = type(value).__name__
            raise RelayError(f"an expression of a graph was expected, not {found}; see relay.var and relay.const")


class TupleWrapper:
    """The values of a call that gives several: a sequence of expressions."""

    def __init__(self, tuple_value: Expr, size: int | None = None) -> None:
        kind = tuple_value.type
        if not isinstance(kind, TupleType) or size not in (None, len(kind.fields)):
            raise RelayError(f"a tuple of {size or 'several'} values was expected, not {kind}")
        self.tuple_value = tuple_value
        self.size = len(kind.fields)

    def astuple(self) -> Expr:
        """Return the call itself."""
        return self.tuple_value

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Expr:
        if not -self.size <= index < self.size:
            raise RelayError(f"there are {self.size} values, and no value {index}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __iter__(self) -> Iterator[Expr]:
        return (self[index] for index in range(self.size))
