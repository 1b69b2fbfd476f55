"""``tvm.runtime.convert``: Python values as TVM's objects, which here are expressions, lists and dictionaries.

Tests: tests/vta/compat/test_convert.py.
"""

from collections.abc import Mapping

from vta.tir import expr

__all__ = ["convert"]


def convert(value: object) -> object:
    """Return numbers and strings as expressions, containers of them item by item; anything else as it is."""
    match value:
        case list() | tuple():
            return [convert(item) for item in value]
        case Mapping():
            return {key: convert(item) for key, item in value.items()}
        case bool() | int() | float() | str():
            return expr.convert(value)
        case _:
            return value
