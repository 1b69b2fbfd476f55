"""Stand-ins for modules of TVM: what this toolchain has under TVM's names, and a clear error for the rest.

Tests: tests/vta/compat/test_answer.py.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TypeAlias

from isa.errors import VTAError

__all__ = [
    "Answer",
    "Finder",
    "NotAnsweredError",
    "NotAnsweredModuleError",
    "NotAnsweredNameError",
    "Plain",
]

Tree: TypeAlias = Mapping[str, object]
"""Attributes of a module by name; a ``Mapping`` among them is a module below it."""


class NotAnsweredError(VTAError):
    """Something of TVM's that this toolchain does not have."""


class NotAnsweredNameError(NotAnsweredError, AttributeError):
    """A name in a module that there is."""


class NotAnsweredModuleError(NotAnsweredError, ModuleNotFoundError):
    """A module. Without the attribute ``name``, so that ``from tvm import relay`` ends in this sentence too."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A value of a module that is a dictionary, not a module below it."""

    value: object


class Answer(ModuleType):
    """A module that answers for one of TVM's."""

    def __init__(self, name: str, attributes: Tree) -> None:
        super().__init__(name, f"Answers for {name} with this toolchain.")
        self.__path__: list[str] = []
        for key, value in attributes.items():
            match value:
                case Mapping():
                    setattr(self, key, Answer(f"{name}.{key}", value))
                case Plain():
                    setattr(self, key, value.value)
                case _:
                    setattr(self, key, value)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)  # Python itself asks, to find out what a module has
        public = sorted(key for key in vars(self) if not key.startswith("_"))
        close = difflib.get_close_matches(name, public, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(public)}"
        raise NotAnsweredNameError(f"{self.__name__}.{name} is not among what vta.compat answers for TVM; {hint}")


class Finder(MetaPathFinder, Loader):
    """Finds the stand-ins when a script imports them, and says clearly which modules of TVM have none."""

    def __init__(self, root: Answer) -> None:
        self._root = root
        self._modules = dict(_below(root))

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """Return the spec of a stand-in; None for other packages."""
        if fullname != self._root.__name__ and not fullname.startswith(f"{self._root.__name__}."):
            return None
        if fullname not in self._modules:
            known = ", ".join(sorted(self._modules))
            raise NotAnsweredModuleError(f"{fullname} is not among what vta.compat answers for TVM; there is {known}")
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the stand-in itself."""
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stand-in is complete when it is made."""


def _below(module: ModuleType) -> list[tuple[str, ModuleType]]:
    found = [(module.__name__, module)]
    for value in vars(module).values():
        if isinstance(value, Answer):
            found += _below(value)
    return found
