"""How values are written: names, numbers, attributes, constants."""

import json
import re
from dataclasses import MISSING, fields
from enum import Enum

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.types import AnyDim, Array, TensorType, TupleType, Type

__all__ = ["attribute_text", "name_text", "number_text", "type_text", "value_text"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def name_text(name: str) -> str:
    """Return ``name`` as it is if it is a word that is no number, otherwise in quotes, with escapes."""
    return name if _PLAIN.fullmatch(name) and name not in ("inf", "nan") else json.dumps(name)


def type_text(given: Type) -> str:
    """Return a type as the parser reads it."""
    match given:
        case TupleType():
            return f"({_listed([type_text(each) for each in given.fields])})"
        case TensorType():
            dims = [_dim_text(dim) for dim in given.dims]
            return f"Tensor[({_listed(dims)}), {given.dtype}]"


def _dim_text(dim: int | AnyDim) -> str:
    if isinstance(dim, int):
        return str(dim)
    return "?" if dim.name == "?" else f"?{name_text(dim.name)}"


def _listed(parts: list[str]) -> str:
    return ", ".join(parts) + ("," if len(parts) == 1 else "")


def number_text(value: object) -> str:
    """Return a number (of numpy or Python) or truth so that reading it gives the same one again."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    assert isinstance(value, float | np.floating)
    short, exact = str(value), float(value)
    return short if type(value)(float(short)) == value or exact != exact else repr(exact)


def value_text(value: object) -> str:
    """Return the value of an attribute."""
    match value:
        case None:
            return "None"
        case tuple():
            return f"({_listed([value_text(each) for each in value])})"
        case Enum():
            return json.dumps(value.value)
        case str():
            return json.dumps(str(value))
        case _:
            return number_text(value)


def attribute_text(attrs: Attrs) -> list[str]:
    """Return ``name=value`` for every attribute that does not have its default value."""
    found = []
    for each in fields(attrs):
        value = getattr(attrs, each.name)
        if each.default is MISSING or value != each.default:
            found.append(f"{each.name}={value_text(value)}")
    return found


def array_text(value: Array) -> str:
    """Return all numbers of a small array, nested as its dimensions are."""
    if value.ndim == 0:
        return number_text(value[()])
    return f"[{', '.join(array_text(np.asarray(each)) for each in value)}]"
