"""A module: functions by name, ``main`` first of all.

Tests: tests/vta/relay/ir/test_module.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from runtime.executor.operators.types import RelayError
from vta.relay.ir.nodes import Function

__all__ = ["IRModule"]


@dataclass(frozen=True, slots=True, eq=False)
class IRModule:
    """Functions by name; a call of a ``GlobalVar`` is a call of one of them."""

    functions: Mapping[str, Function]

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", MappingProxyType(dict(self.functions)))

    @staticmethod
    def from_expr(function: Function) -> IRModule:
        """Return the module whose ``main`` is ``function``."""
        return IRModule({"main": function})

    def __getitem__(self, name: str) -> Function:
        if name not in self.functions:
            raise RelayError(f"the module has no function {name!r}; it has {', '.join(self.functions) or 'none'}")
        return self.functions[name]

    def with_function(self, name: str, function: Function) -> IRModule:
        """Return the module with ``function`` under ``name``, new or in place of the old one."""
        return IRModule({**self.functions, name: function})

    def __str__(self) -> str:
        from vta.relay.text.printer import to_text  # the printer imports the nodes

        return to_text(self)
