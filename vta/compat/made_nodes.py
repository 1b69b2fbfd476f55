"""Nodes by the names of their classes, and functions of Python by theirs: ``tvm.ir.make_node``, ``tvm.ir.EnvFunc``.

Tests: tests/vta/compat/test_made_nodes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from isa.errors import VTAError
from runtime.packed_func import get_global_func
from vta.compat.convert import convert
from vta.tir import expr, stmt

__all__ = ["DictAttrs", "EnvFunc", "NodeError", "make_node"]


class NodeError(VTAError, AttributeError):
    """A node that there is not, or a field that it does not have."""


class DictAttrs(Mapping[str, object]):
    """Facts by name: ``attrs["axis"]`` and ``attrs.axis``; numbers and texts are constants."""

    def __init__(self, entries: Mapping[str, object]) -> None:
        self._entries = {key: convert(value) for key, value in entries.items()}

    def __getitem__(self, name: str) -> object:
        if name not in self._entries:
            raise NodeError(f"attributes have no {name!r}; they have {', '.join(self._entries) or 'none'}")
        return self._entries[name]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def get_int(self, key: str) -> int:
        """Return a number."""
        value = self[key]
        if not isinstance(value, expr.IntImm):
            raise NodeError(f"attribute {key!r} is {value!r}, no integer")
        return value.value

    def get_str(self, key: str) -> str:
        """Return a text."""
        value = self[key]
        if not isinstance(value, expr.StringImm):
            raise NodeError(f"attribute {key!r} is {value!r}, no text")
        return value.value


@dataclass(frozen=True, slots=True)
class EnvFunc:
    """A function of Python by its global name."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Return the function that was registered as ``name``; raises the error of ``get_global_func``."""
        get_global_func(name)
        return EnvFunc(name)

    @property
    def func(self) -> Callable[..., object]:
        """The function itself."""
        function = get_global_func(self.name)
        assert function is not None, "it is refused where there is none"
        return function

    def __call__(self, *args: object) -> object:
        """Call it."""
        return self.func(*args)


def make_node(type_key: str, **kwargs: object) -> object:
    """Return the node of a class, by its name ("IntImm", "tir.Add", "DictAttrs"), with these fields."""
    if type_key == "DictAttrs" or type_key.startswith("attrs."):
        return DictAttrs(kwargs)
    name = type_key.removeprefix("tir.")
    kind = next((getattr(module, name) for module in (expr, stmt) if name in module.__all__), None)
    if not isinstance(kind, type):
        raise NodeError(f"make_node: there is no node {type_key!r}")
    if issubclass(kind, expr.Binary | expr.Compare):
        kwargs.pop("dtype", None)  # it is that of the operands
    try:
        return kind(**kwargs)
    except TypeError as error:
        raise NodeError(f"make_node: {type_key}: {error}") from None
