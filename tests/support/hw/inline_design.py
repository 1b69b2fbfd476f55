"""A component around a function, for tests of the hardware simulator that need a few lines of a design."""

from collections.abc import Callable, Mapping
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Small"]


class Small(wiring.Component):  # Amaranth has no types
    """Inputs ``a`` (4 bits) and ``b`` (1 bit), output ``q`` (4 bits), or ``ports``; ``build`` fills in the module."""

    def __init__(self, build: Callable[[Module, Any], None], ports: Mapping[str, Any] | None = None) -> None:
        self.build = build
        super().__init__(dict(ports) if ports is not None else {"a": In(4), "b": In(1), "q": Out(4)})

    def elaborate(self, platform: Any) -> Module:
        """Return a module that ``build`` has filled."""
        del platform
        m = Module()
        self.build(m, self)
        return m
