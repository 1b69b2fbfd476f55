"""Faults in the source of an engine: one expression of one function is replaced while the fault is planted."""

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any
from unittest import mock

__all__ = ["SourceFault", "method_fault"]


@dataclass(frozen=True, slots=True)
class SourceFault:
    """In ``function``, the only ``old`` is replaced by ``new``; ``text`` says what that does.

    A method's class is ``owner``; a function of a module is replaced in every module that has imported it.
    """

    text: str
    function: Callable[..., Any]
    old: str
    new: str
    owner: type | None = None

    def changed(self) -> FunctionType:
        """Return the function with the fault; ``AssertionError`` unless the source has ``old`` once."""
        function = self.function
        assert isinstance(function, FunctionType)
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.old) == 1, f"{function.__qualname__} has {self.old!r} {source.count(self.old)} times"
        made: dict[str, FunctionType] = {}
        # The globals are the module's own, so that the changed function sees what the others see.
        exec(
            compile(source.replace(self.old, self.new), function.__code__.co_filename, "exec"),
            function.__globals__,
            made,
        )
        return made[function.__name__]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Have the fault inside."""
        name, changed = self.function.__name__, self.changed()
        with ExitStack() as stack:
            if self.owner is not None:
                stack.enter_context(mock.patch.object(self.owner, name, changed))
                yield
                return
            for module in list(sys.modules.values()):
                if getattr(module, "__dict__", {}).get(name) is self.function:
                    stack.enter_context(mock.patch.object(module, name, changed))
            yield


def method_fault(text: str, owner: type, name: str, old: str, new: str) -> SourceFault:
    """Return a fault in the method ``name`` of a class."""
    return SourceFault(text, vars(owner)[name], old, new, owner)
