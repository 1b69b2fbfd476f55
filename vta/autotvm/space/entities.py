"""Values of knobs: how a loop is split, loops are ordered or annotated, or anything that a template may choose.

Each applies itself to a stage and writes itself as records do: a kind of two letters and a value of JSON.
Tests: tests/vta/autotvm/space/test_entities.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeGuard, assert_never

from isa.printable import short
from vta import te
from vta.autotvm.space.errors import SpaceError
from vta.tir.expr import IterVar

__all__ = [
    "AnnotateEntity", "Entity", "Option", "OtherOptionEntity", "ReorderEntity", "SplitEntity", "entity_of_json",
    "json_of",
]  # fmt: skip

Option = str | int | float | bool | None | tuple["Option", ...]
"""A value that a knob may have and a record can hold."""


@dataclass(frozen=True, slots=True)
class SplitEntity:
    """Extents of the loops that one loop is split into, outermost first, which is -1: whatever is left."""

    size: tuple[int, ...]

    def apply(self, sch: te.Schedule, op: te.Tensor, axis: IterVar) -> list[IterVar]:
        """Split ``axis`` of the stage of ``op``; return the loops, outermost first."""
        found, left = [], axis
        for index in range(1, len(self.size)):
            outer, left = sch[op].split(left, factor=prod(self.size[index:]))
            found.append(outer)
        return [*found, left]


@dataclass(frozen=True, slots=True)
class ReorderEntity:
    """An order of loops: ``perm`` has their places in the order in which they were named."""

    perm: tuple[int, ...]

    def apply(self, sch: te.Schedule, op: te.Tensor, axes: Sequence[IterVar]) -> list[IterVar]:
        """Reorder ``axes`` of the stage of ``op``; return them in their new order."""
        if len(axes) != len(self.perm):
            raise SpaceError(f"this order is one of {len(self.perm)} loops, not of {len(axes)}")
        ordered = [axes[place] for place in self.perm]
        sch[op].reorder(*ordered)
        return ordered


@dataclass(frozen=True, slots=True)
class AnnotateEntity:
    """What is done with each of some loops: "none", "unroll" or "vec"."""

    anns: tuple[str, ...]

    def apply(self, sch: te.Schedule, op: te.Tensor, axes: Sequence[IterVar]) -> list[IterVar]:
        """Annotate ``axes`` of the stage of ``op``; return them."""
        if len(axes) != len(self.anns):
            raise SpaceError(f"these annotations are for {len(self.anns)} loops, not for {len(axes)}")
        for axis, annotation in zip(axes, self.anns, strict=True):
            if annotation == "unroll":
                sch[op].unroll(axis)
            elif annotation == "vec":
                sch[op].vectorize(axis)
        return list(axes)


@dataclass(frozen=True, slots=True)
class OtherOptionEntity:
    """Any other value, ``val``."""

    val: Option


Entity = SplitEntity | ReorderEntity | AnnotateEntity | OtherOptionEntity


def json_of(entity: Entity) -> list[object]:
    """Return the kind and the value as records have them."""
    match entity:
        case SplitEntity(size):
            return ["sp", list(size)]
        case ReorderEntity(perm):
            return ["re", list(perm)]
        case AnnotateEntity(anns):
            return ["an", list(anns)]
        case OtherOptionEntity(val):
            return ["ot", val]
        case _:
            assert_never(entity)


def entity_of_json(name: str, kind: object, value: object) -> Entity:
    """Return the value of knob ``name`` that a record has; raises ``SpaceError``."""
    match kind, value:
        case "sp", [-1, *inner] if _are_extents(inner):
            return SplitEntity((-1, *inner))
        case "sp", [int(), *inner] if _are_extents(inner):
            return SplitEntity((-1, *inner))  # older records write the outer extent, too
        case "re", [*perm] if _are_places(perm):
            return ReorderEntity(tuple(perm))
        case "an", [*anns] if _are_annotations(anns):
            return AnnotateEntity(tuple(anns))
        case "ot", _:
            return OtherOptionEntity(option(value))
        case _:
            raise SpaceError(
                f"knob {name!r}: {short([kind, value])} is no value; expected ['sp', [-1, extents...]], "
                "['re', places], ['an', annotations] or ['ot', value]"
            )


def option(value: object) -> Option:
    """Return ``value`` with its lists as tuples, which compare and have a hash; raises ``SpaceError``."""
    match value:
        case None | str() | int() | float():
            return value
        case [*parts]:
            return tuple(option(part) for part in parts)
        case _:
            raise SpaceError(f"a record holds numbers, texts, None and lists of them, not {type(value).__name__}")


def _are_extents(values: list[object]) -> TypeGuard[list[int]]:
    return all(isinstance(value, int) and not isinstance(value, bool) and value >= 1 for value in values)


def _are_places(values: list[object]) -> TypeGuard[list[int]]:
    return all(type(value) is int for value in values) and set(values) == set(range(len(values)))


def _are_annotations(values: list[object]) -> TypeGuard[list[str]]:
    return all(value in ("none", "unroll", "vec") for value in values)
