"""What iterator maps consist of. Tests: tests/vta/arith/iter_map/test_detect.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from isa.errors import VTAError
from vta.tir.expr import Expr, ExprLike, IntImm, const, convert

__all__ = [
    "IterMapError", "IterMapExpr", "IterMapLevel", "IterMapResult", "IterMark", "IterSplitExpr", "IterSumExpr",
]  # fmt: skip


class IterMapError(VTAError, ValueError):
    """Indices that are no map of iterators."""


class IterMapLevel(IntEnum):
    """What is asked of a map: one to one, every value of an index occurs, or nothing."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @classmethod
    def of(cls, level: IterMapLevel | int | str) -> IterMapLevel:
        """Return a level by its number or name, in any case."""
        if isinstance(level, str):
            found = {"bijective": cls.Bijective, "surjective": cls.Surjective, "nocheck": cls.NoCheck}
            name = level.lower().replace("_", "").replace("-", "")
            if name not in found:
                raise IterMapError(f"check_level: expected 'bijective', 'surjective' or 'nocheck', got {level!r}")
            return found[name]
        return cls(level)

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """Return the level of a name, as TVM has it."""
        return IterMapLevel.of(name)


@dataclass(frozen=True, slots=True, eq=False)
class IterMark:
    """What digits are taken of: an expression of one iterator, or a sum, from 0 to ``extent - 1``.

    Marks compare by identity. ``padded``: not every one of these values occurs.
    """

    source: Expr | IterSumExpr
    extent: Expr
    padded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", convert(self.extent))

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True, eq=False)
class IterSplitExpr:
    """``(source // lower_factor) % extent * scale``."""

    source: IterMark
    lower_factor: Expr = field(default_factory=lambda: const(1))
    extent: Expr = field(default_factory=lambda: const(0))
    scale: Expr = field(default_factory=lambda: const(1))

    def __post_init__(self) -> None:
        for name in ("lower_factor", "extent", "scale"):
            object.__setattr__(self, name, convert(getattr(self, name)))
        if isinstance(self.extent, IntImm) and self.extent.value == 0:
            object.__setattr__(self, "extent", self.source.extent)


@dataclass(frozen=True, slots=True, eq=False)
class IterSumExpr:
    """The sum of ``args`` and ``base``; the splits of larger scale come first."""

    args: tuple[IterSplitExpr, ...]
    base: Expr

    def __init__(self, args: tuple[IterSplitExpr, ...] | list[IterSplitExpr], base: ExprLike) -> None:
        object.__setattr__(self, "args", tuple(args))
        object.__setattr__(self, "base", convert(base))


IterMapExpr: TypeAlias = IterSplitExpr | IterSumExpr


@dataclass(frozen=True, slots=True)
class IterMapResult:
    """The form of every index; none with the reasons in ``errors`` where there is no such form.

    ``padding_predicate`` holds where an index is a value that no iterator gives (with ``IterMapLevel.NoCheck`` alone).
    """

    indices: tuple[IterSumExpr, ...]
    errors: tuple[str, ...] = ()
    padding_predicate: Expr = field(default_factory=lambda: const(False, "bool"))
