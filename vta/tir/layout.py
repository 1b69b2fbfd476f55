"""Orders of dimensions by letters, under TVM's names: ``tir.layout("NCHW16c")``, ``tir.bijective_layout``.

A capital letter is a dimension, a small one the part of it that lies inside, with its size in front: in "NCHW16c" the
channels are blocks of 16. Tests: tests/vta/tir/test_layout.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isa.errors import VTAError
from vta.tir import ops
from vta.tir.expr import Expr, ExprLike, const, convert

__all__ = ["BijectiveLayout", "Layout", "LayoutError", "bijective_layout", "layout"]

_UNDEFINED = "__undef__"


class LayoutError(VTAError, ValueError):
    """Letters that are no layout, or sizes that do not go with one."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The dimensions of a tensor by letters; ``name`` is how it is written."""

    name: str
    axes: str = field(init=False, default="")
    factors: Mapping[str, int] = field(init=False, default_factory=dict, compare=False)
    """The size of each part that is a small letter."""

    def __post_init__(self) -> None:
        if self.name in ("", _UNDEFINED):
            return
        words = re.findall(r"(\d*)([A-Za-z])", self.name)
        axes = "".join(letter for _, letter in words)
        factors = {letter: int(size) for size, letter in words if letter.islower() and size}
        whole = "".join(size + letter for size, letter in words)
        parts = [letter for letter in axes if letter.islower()]
        wrong = whole != self.name or len(set(axes)) != len(axes) or set(factors) != set(parts)
        if wrong or any(p.upper() not in axes for p in parts) or any(s and c.isupper() for s, c in words):
            raise LayoutError(
                f"layout {self.name!r}: expected capital letters, each once, and small ones of them with sizes in "
                "front, such as NCHW16c"
            )
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "factors", factors)

    def __len__(self) -> int:
        return len(self.axes)

    def __contains__(self, axis: object) -> bool:
        return isinstance(axis, str) and len(axis) == 1 and axis in self.axes

    def __getitem__(self, index: int) -> str:
        if not -len(self.axes) <= index < len(self.axes):
            raise LayoutError(f"layout {self.name!r} has {len(self.axes)} dimensions, none with number {index}")
        return self.axes[index]

    def __str__(self) -> str:
        return self.name

    def index_of(self, axis: str) -> int:
        """Return where a letter stands; -1 if it does not."""
        return self.axes.find(axis)

    def factor_of(self, axis: str) -> int:
        """Return the size of the part that lies inside of a dimension, by either letter; -1 if there is none."""
        return self.factors.get(axis.lower(), -1) if axis.upper() in self.axes else -1

    @property
    def primal(self) -> str:
        """The dimensions without their parts."""
        return "".join(letter for letter in self.axes if letter.isupper())


@dataclass(frozen=True, slots=True)
class BijectiveLayout:
    """Two layouts of the same elements: shapes and indices of one as those of the other."""

    src_layout: Layout
    dst_layout: Layout

    def forward_shape(self, shape: Sequence[ExprLike]) -> list[Expr]:
        """Return a shape of the first layout in the second one."""
        return _shape(self.src_layout, self.dst_layout, shape)

    def backward_shape(self, shape: Sequence[ExprLike]) -> list[Expr]:
        """Return a shape of the second layout in the first one."""
        return _shape(self.dst_layout, self.src_layout, shape)

    def forward_index(self, index: Sequence[ExprLike]) -> list[Expr]:
        """Return the place in the second layout of an element of the first one."""
        return _index(self.src_layout, self.dst_layout, index)

    def backward_index(self, index: Sequence[ExprLike]) -> list[Expr]:
        """Return the place in the first layout of an element of the second one."""
        return _index(self.dst_layout, self.src_layout, index)


def _by_letter(source: Layout, values: Sequence[ExprLike]) -> dict[str, Expr]:
    if len(values) != len(source):
        raise LayoutError(f"layout {source.name!r} has {len(source)} dimensions, not {len(values)}")
    return dict(zip(source.axes, map(convert, values), strict=True))


def _shape(source: Layout, target: Layout, shape: Sequence[ExprLike]) -> list[Expr]:
    sizes = _by_letter(source, shape)
    result = []
    for letter in target.axes:
        if letter.islower():
            result.append(const(target.factors[letter]))
            continue
        whole = sizes[letter] * source.factors.get(letter.lower(), 1)
        factor = target.factors.get(letter.lower(), 1)
        if factor == source.factors.get(letter.lower(), 1):
            result.append(sizes[letter])
        else:
            result.append(ops.floordiv(whole, factor))
    return result


def _index(source: Layout, target: Layout, index: Sequence[ExprLike]) -> list[Expr]:
    places = _by_letter(source, index)

    def whole(letter: str) -> Expr:
        part = letter.lower()
        own = places[letter]
        return own * source.factors[part] + places[part] if part in source.factors else own

    result = []
    for letter in target.axes:
        part = letter.lower()
        factor = target.factors.get(part, 1)
        if factor == source.factors.get(part, 1):
            result.append(places[letter])
        elif letter.islower():
            result.append(ops.floormod(whole(letter.upper()), factor))
        else:
            result.append(ops.floordiv(whole(letter), factor))
    return result


def layout(layout_str: str | Layout) -> Layout:
    """Return the layout of that name."""
    return layout_str if isinstance(layout_str, Layout) else Layout(layout_str)


def bijective_layout(src_layout: str | Layout, dst_layout: str | Layout) -> BijectiveLayout | None:
    """Return the way from one layout to another; None where they have other dimensions."""
    source, target = layout(src_layout), layout(dst_layout)
    if not source.axes or set(source.primal) != set(target.primal):
        return None
    return BijectiveLayout(source, target)
