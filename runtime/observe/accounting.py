"""Where the cycles went: for every module of the hardware, how many were work and how many waited for which cause.

Tests: ``tests/runtime/observe/test_accounting.py``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

__all__ = ["WORK", "CycleAccount"]

WORK = "work"
"""The cause under which cycles of work are counted."""


@dataclass(frozen=True, slots=True)
class CycleAccount:
    """``modules[module][cause]`` cycles; the causes of every module sum to the same total.

    Modules and causes keep the order in which the hardware lists them.
    """

    modules: Mapping[str, Mapping[str, int]]

    def __post_init__(self) -> None:
        """Make the mappings read-only."""
        frozen = {name: MappingProxyType(dict(causes)) for name, causes in self.modules.items()}
        object.__setattr__(self, "modules", MappingProxyType(frozen))

    def total(self, module: str) -> int:
        """Return all cycles of ``module``."""
        return sum(self.modules[module].values())

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that occurred in any module, in order."""
        known = dict.fromkeys(cause for causes in self.modules.values() for cause in causes)
        return tuple(cause for cause in known if any(causes.get(cause) for causes in self.modules.values()))

    def rows(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each module with its cycles by ``causes``."""
        shown = self.causes
        for name, causes in self.modules.items():
            yield name, [causes.get(cause, 0) for cause in shown]

    def __add__(self, other: Self) -> Self:
        return type(self)(
            {
                name: {
                    cause: self.modules.get(name, {}).get(cause, 0) + other.modules.get(name, {}).get(cause, 0)
                    for cause in dict.fromkeys([*self.modules.get(name, {}), *other.modules.get(name, {})])
                }
                for name in dict.fromkeys([*self.modules, *other.modules])
            }
        )

    def __str__(self) -> str:
        """Return a table as text: a line for each module, a column for each cause, and the total."""
        head = ["module", *self.causes, "total"]
        lines = [head, *([name, *map(str, row), str(sum(row))] for name, row in self.rows())]
        widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
        texts = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join(line[0].ljust(widths[0]) + text[widths[0] :] for line, text in zip(lines, texts, strict=True))
