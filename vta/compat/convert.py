"""``tvm.runtime.convert``: Python values as TVM's objects, which here are expressions, lists and dictionaries.

Tests: tests/vta/compat/test_convert.py.
"""

import inspect
from collections.abc import Mapping

import numpy as np

from runtime.packed_func import PackedFunc
from vta.tir import expr

__all__ = ["const", "convert"]


def const(value: float | np.generic, dtype: str | None = None) -> expr.Expr:
    """Return a constant; without a type, a number of numpy's has its own, as in TVM."""
    if dtype is None and isinstance(value, np.generic):
        dtype = str(value.dtype)
    return expr.const(value, dtype)  # type: ignore[arg-type]  # numbers of numpy's, too


def convert(value: object) -> object:
    """Return numbers and strings as expressions, containers item by item, functions packed, anything else as it is."""
    match value:
        case _ if inspect.isroutine(value):
            return PackedFunc(value)
        case list() | tuple():
            return [convert(item) for item in value]
        case Mapping():
            return {key: convert(item) for key, item in value.items()}
        case np.generic():
            return const(value)
        case bool() | int() | float() | str() | expr.Equality():
            return expr.convert(value)
        case _:
            return value
