"""Relay's operators as operators of the host: what a network's steps say, and what runs them.

A step has the operator's name and its attributes as plain values; infinite numbers are texts, which JSON has not.
Tests: tests/vta/relay/backend/test_host.py.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import partial

from runtime.executor.host_operators import HOST_OPERATORS, HostOperator
from runtime.executor.network import Attribute
from vta.relay.ir.attributes import Attrs
from vta.relay.ir.names import Op
from vta.relay.ir.types import Array, RelayError
from vta.relay.ops.table import OPERATORS

__all__ = ["OPERATORS_OF_HOST", "attributes_of", "attrs_of"]


def attributes_of(attrs: Attrs) -> dict[str, Attribute]:
    """Return the fields of ``attrs`` as plain values."""
    return {field.name: _plain(getattr(attrs, field.name)) for field in fields(attrs)}


def attrs_of(op: Op, attributes: Mapping[str, object]) -> Attrs:
    """Return the attributes of ``op`` with these fields."""
    kind = OPERATORS[op].attrs_type
    given = {}
    for field in fields(kind):
        value = attributes[field.name]
        default = field.default
        if isinstance(default, Enum):
            value = type(default)(value)
        elif isinstance(value, str) and value in ("inf", "-inf"):
            value = float(value)
        given[field.name] = value
    return kind(**given)


def _plain(value: object) -> Attribute:
    match value:
        case Enum():
            return str(value)
        case float() if math.isinf(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return tuple(_plain(each) for each in value)
        case _:
            raise RelayError(f"an attribute is a plain value, not {value!r}")


def _run(op: Op, attributes: Mapping[str, object], arrays: Sequence[Array]) -> Sequence[Array]:
    result = OPERATORS[op].evaluate(arrays, attrs_of(op, attributes))
    return result if isinstance(result, tuple) else (result,)


OPERATORS_OF_HOST: Mapping[str, HostOperator] = {**HOST_OPERATORS, **{str(op): partial(_run, op) for op in OPERATORS}}
"""Everything that the host can do in a network."""
