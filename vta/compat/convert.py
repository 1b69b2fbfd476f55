"""``tvm.runtime.convert``: Python values as TVM's objects, which here are expressions, lists and dictionaries.

Tests: tests/vta/compat/test_convert.py.
"""

import inspect
from collections.abc import Mapping

import numpy as np

from runtime.packed_func import PackedFunc
from vta.tir import expr

__all__ = ["convert"]


def convert(value: object) -> object:
    """Return numbers and strings as expressions, containers item by item, functions packed, anything else as it is."""
    match value:
        case _ if inspect.isroutine(value):
            return PackedFunc(value)
        case list() | tuple():
            return [convert(item) for item in value]
        case Mapping():
            return {key: convert(item) for key, item in value.items()}
        case bool() | int() | float() | str() | np.generic() | expr.Equality():
            return expr.convert(value)
        case _:
            return value
