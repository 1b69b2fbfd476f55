"""Commands whose modules are loaded when they are asked for: ``vta check`` needs nothing of ``vta tune``.

Tests: tests/vta/cli/test_lazy_commands.py.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

__all__ = ["lazy_group"]


class _LazyCommands(Mapping[str, Any]):
    """Commands by name, each made at its first look-up."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name, self._places[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __len__(self) -> int:
        return len(self._places)


def lazy_group(places: Mapping[str, str]) -> type[TyperGroup]:
    """Return the class of a group with the commands ``places``: name to ``module:function`` or ``module:typer.Typer``.

    Give it to ``typer.Typer(cls=...)``. Commands are listed in this order.
    """

    class LazyGroup(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = _LazyCommands(places)  # type: ignore[assignment]  # nobody adds any

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # click's signature
            return list(places)

    return LazyGroup


def _made(name: str, place: str) -> Any:
    """Return the command at a place, called ``name``."""
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    if not isinstance(found, typer.Typer):
        alone.command(name)(found)
        return get_command(alone)
    alone.add_typer(found, name=name)
    group = get_command(alone)
    assert isinstance(group, TyperGroup)
    return group.commands[name]
