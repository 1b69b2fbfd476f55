"""Functions by name, as a module has them, wherever their code is: in this process or on a server.

Tests: tests/vta/codegen/test_module.py, tests/vta/rpc/test_remote.py.
"""

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from isa.errors import VTAError

__all__ = ["FunctionTable", "ModuleError"]


class ModuleError(VTAError, ValueError):
    """A module that cannot be saved, loaded or called the way it was asked for."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...

    def __call__(self, *arguments: Any) -> int | float | None: ...


_F = TypeVar("_F", bound=_Named)


class FunctionTable(Generic[_F]):
    """What is called like its first function, and gives every one by name."""

    def __init__(self, functions: Mapping[str, _F]) -> None:
        self.functions = functions

    @property
    def entry_func(self) -> _F:
        """The first function."""
        return next(iter(self.functions.values()))

    @property
    def entry_name(self) -> str:
        """The first function's name."""
        return self.entry_func.name

    def get_function(self, name: str) -> _F:
        """Return the function called ``name``; raises ``ModuleError``, which lists what there is."""
        if name not in self.functions:
            raise ModuleError(f"the module has no function {name!r}; it has {', '.join(self.functions)}")
        return self.functions[name]

    def __getitem__(self, name: str) -> _F:
        return self.get_function(name)

    def __call__(self, *arguments: Any) -> int | float | None:
        """Call the first function; return what it gives."""
        return self.entry_func(*arguments)
