"""Attributes as plain values, and back: what texts and files of networks say of them.

A value is None, a truth, a number, a text, or a tuple of these. What JSON has no number for (inf, nan) is a text.
Tests: tests/runtime/executor/operators/test_attribute_values.py.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from enum import Enum
from types import NoneType, UnionType
from typing import TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.types import RelayError

__all__ = ["Plain", "made", "plain_values"]

_T = TypeVar("_T")
Plain: TypeAlias = "bool | int | float | str | tuple[Plain, ...] | None"
"""What an attribute may be in a file: whatever both JSON and a tuple can hold."""

_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def plain_values(attrs: Attrs) -> dict[str, Plain]:
    """Return the fields of ``attrs`` as plain values, from which ``made`` makes the same again."""
    return {each.name: _plain(getattr(attrs, each.name)) for each in fields(attrs)}


def _plain(value: object) -> Plain:
    match value:
        case Enum():
            return str(value)
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return tuple(_plain(each) for each in value)
        case _:
            raise RelayError(f"an attribute is a plain value, not {value!r}")


def made(cls: type[_T], values: Mapping[str, object]) -> _T:
    """Return a dataclass made of values by name; raises ``RelayError`` if a name or a value does not go with it."""
    hints = get_type_hints(cls)
    known = [each.name for each in fields(cls)]  # type: ignore[arg-type]  # it is a dataclass
    for name in values:
        if name not in known:
            raise RelayError(f"there is no attribute {name!r}; there are {', '.join(known) or 'none'}")
    needed = [each.name for each in fields(cls) if each.default is MISSING]  # type: ignore[arg-type]
    if missing := [name for name in needed if name not in values]:
        raise RelayError(f"the attribute {missing[0]!r} is not given")
    return cls(**{name: _settled(name, value, hints[name]) for name, value in values.items()})


def _settled(name: str, value: object, hint: object) -> object:
    """Return ``value`` as the type that ``hint`` says; raises ``RelayError``."""
    options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    for option in options:
        found = _as(value, option)
        if found is not _NOT:
            return found
    raise RelayError(f"attribute {name!r} is not {value!r}")


_NOT = object()
"""Says that a value is not of a type."""


def _as(value: object, hint: object) -> object:
    """Return ``value`` as a ``hint``, or ``_NOT``."""
    if get_origin(hint) is tuple:
        return _as_tuple(value, get_args(hint))
    if hint is NoneType:
        return None if value is None else _NOT
    if isinstance(hint, UnionType):
        return next((found for option in get_args(hint) if (found := _as(value, option)) is not _NOT), _NOT)
    assert isinstance(hint, type)
    if issubclass(hint, Enum):
        return hint(value) if value in [each.value for each in hint] else _NOT
    if hint is float:
        if isinstance(value, str):
            return _NOT_FINITE.get(value, _NOT)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else _NOT
    if hint is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else _NOT
    return value if isinstance(value, hint) else _NOT


def _as_tuple(value: object, hints: tuple[object, ...]) -> object:
    if not isinstance(value, tuple):
        return _NOT
    kinds = [hints[0]] * len(value) if hints[1:] == (...,) else list(hints)
    if len(kinds) != len(value):
        return _NOT
    found = tuple(_as(each, kind) for each, kind in zip(value, kinds, strict=True))
    return _NOT if _NOT in found else found
