"""Where a call came from: the node of the model that was imported.

Passes that make one call of several keep all their origins, so that whatever happens to a node can be told in the
model's own words. Tests: tests/vta/relay/ir/test_origin.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Origin", "merged", "where"]


@dataclass(frozen=True, slots=True)
class Origin:
    """A node of the imported model: its ``name`` and its operator there (``Conv``)."""

    name: str
    operator: str = ""

    def __str__(self) -> str:
        return f"{self.operator} {self.name!r}" if self.operator else repr(self.name)


def merged(groups: Iterable[tuple[Origin, ...]]) -> tuple[Origin, ...]:
    """Return all origins of ``groups``, each once, in order."""
    return tuple(dict.fromkeys(origin for group in groups for origin in group))


def where(operator: str, origins: tuple[Origin, ...]) -> str:
    """Return how an error message names a call of ``operator``."""
    return f"{operator} (from {', '.join(str(origin) for origin in origins)})" if origins else operator
