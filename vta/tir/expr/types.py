"""What variables are, under TVM's names: ``PrimType("float32")``, ``PointerType(PrimType("float32"), "global")``.

Tests: tests/vta/tir/test_types.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from vta.tir.dtype import DType

__all__ = ["PlainInt", "PointerType", "PrimType"]


class PlainInt(int):
    """An integer that says its value as a constant does, under TVM's name: in attributes, numbers of lanes."""

    __slots__ = ()

    @property
    def value(self) -> int:
        """The integer."""
        return int(self)


@dataclass(frozen=True, slots=True)
class PrimType:
    """A number of type ``dtype``."""

    dtype: DType

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", DType(self.dtype))


@dataclass(frozen=True, slots=True)
class PointerType:
    """What a ``handle`` variable points to: elements of ``element`` in memory ``scope`` ("" or "global": DRAM)."""

    element: DType
    scope: str = "global"

    def __post_init__(self) -> None:
        if isinstance(self.element, PrimType):
            object.__setattr__(self, "element", self.element.dtype)

    @property
    def element_type(self) -> PrimType:
        """What it points to."""
        return PrimType(self.element)

    @property
    def storage_scope(self) -> str:
        """The memory."""
        return self.scope
