"""Functions of Python under names, which compiled code and scripts call: TVM's ``register_func``, ``get_global_func``.

One table serves the whole process, as in TVM: host code names a function by its text alone.
Tests: tests/runtime/test_packed_func.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, overload

from isa.errors import VTAError

__all__ = [
    "PackedFunc", "PackedFuncError", "get_global_func", "list_global_func_names", "register_func",
    "remove_global_func",
]  # fmt: skip


class PackedFuncError(VTAError, ValueError):
    """A name without a function, or a function that cannot have the name."""


class PackedFunc:
    """A function that takes and returns anything; a function that it returns is one of these, too."""

    def __init__(self, function: Callable[..., Any], *, is_global: bool = False) -> None:
        self.function = function
        self.is_global = is_global

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        result = self.function(*arguments)
        plain = callable(result) and not isinstance(result, PackedFunc | type) and hasattr(result, "__code__")
        return PackedFunc(result) if plain else result

    def __repr__(self) -> str:
        return f"<packed function {getattr(self.function, '__name__', self.function)}>"


class _Table:
    """The functions by name; threads may share it."""

    def __init__(self) -> None:
        self._functions: dict[str, PackedFunc] = {}
        self._lock = threading.Lock()

    def add(self, name: str, function: Callable[..., Any], *, override: bool) -> None:
        with self._lock:
            if name in self._functions and not override:
                raise PackedFuncError(f"global function {name!r} is registered already; override=True replaces it")
            inner = function.function if isinstance(function, PackedFunc) else function
            self._functions[name] = PackedFunc(inner, is_global=True)

    def find(self, name: str) -> PackedFunc | None:
        return self._functions.get(name)

    def remove(self, name: str) -> None:
        with self._lock:
            if self._functions.pop(name, None) is None:
                raise PackedFuncError(f"there is no global function {name!r} to remove")

    def names(self) -> list[str]:
        return list(self._functions)


_GLOBAL = _Table()


@overload
def register_func(func_name: Callable[..., Any]) -> Callable[..., Any]: ...
@overload
def register_func(
    func_name: str, f: Callable[..., Any] | None = None, override: bool = False
) -> Callable[..., Any]: ...
def register_func(
    func_name: str | Callable[..., Any], f: Callable[..., Any] | None = None, override: bool = False
) -> Callable[..., Any]:
    """Give a function a global name: called with both, or as a decorator, with a name or plain.

    Raises ``PackedFuncError`` if the name has a function already and ``override`` is not said.
    """
    if callable(func_name):
        _GLOBAL.add(func_name.__name__, func_name, override=override)
        return func_name
    if not isinstance(func_name, str) or not func_name:
        raise PackedFuncError(f"register_func: expected a name, got {func_name!r}")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _GLOBAL.add(func_name, function, override=override)
        return function

    return register if f is None else register(f)


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """Return the function of a name; None (with ``allow_missing``) or ``PackedFuncError`` if there is none."""
    found = _GLOBAL.find(name)
    if found is None and not allow_missing:
        raise PackedFuncError(f"there is no global function {name!r}; register it with register_func({name!r})")
    return found


def remove_global_func(name: str) -> None:
    """Take the name away."""
    _GLOBAL.remove(name)


def list_global_func_names() -> list[str]:
    """Return the names that have functions."""
    return _GLOBAL.names()
