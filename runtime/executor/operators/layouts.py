"""Layouts: the order of a tensor's axes, and the blocks that axes are cut into.

``NCHW`` are four plain axes. ``NCHW1n16c`` is what the accelerator reads: blocks of 1 x 16 (n, c) behind the axes, of
which N and C count the blocks. Tests: tests/runtime/executor/operators/test_layouts.py.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType

__all__ = ["ROWS", "Layout", "LayoutAttrs", "convert", "converted_shape", "from_plain", "to_plain"]

_PART = re.compile(r"([A-Z])|(\d+)([a-z])")


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a tensor in order: (letter, 0) is a whole axis or its blocks, (letter, n) the place in a block of n.

    ``plain`` are the letters of the whole axes, in order. Every letter may have one block at most.
    """

    text: str
    parts: tuple[tuple[str, int], ...]

    @staticmethod
    def of(text: str) -> "Layout":
        """Return the layout that ``text`` describes; raises ``RelayError``."""
        found = _PART.findall(text)
        parts = tuple((upper, 0) if upper else (lower.upper(), int(size)) for upper, size, lower in found)
        whole = [letter for letter, size in parts if size == 0]
        blocks = [letter for letter, size in parts if size]
        is_whole = "".join(upper or size + lower for upper, size, lower in found) == text
        is_legal = is_whole and len(set(whole)) == len(whole) and len(set(blocks)) == len(blocks)
        if not text or not is_legal or not set(blocks) <= set(whole):
            raise RelayError(f"a layout is, for example, NCHW, NHWC or NCHW1n16c, not {text!r}")
        return Layout(text, parts)

    @property
    def plain(self) -> str:
        """The letters of the whole axes, in order."""
        return "".join(letter for letter, size in self.parts if size == 0)

    @property
    def rank(self) -> int:
        """The number of a tensor's axes."""
        return len(self.parts)

    def block(self, letter: str) -> int:
        """Return the size of the blocks that axis ``letter`` is cut into, 1 if it is not."""
        return next((size for name, size in self.parts if name == letter and size), 1)

    def axis(self, letter: str) -> int:
        """Return which axis of a tensor is ``letter``, or counts its blocks."""
        return self.parts.index((letter, 0))

    def sizes(self, shape: Shape) -> dict[str, int]:
        """Return the size of every letter for a tensor of ``shape``; raises ``RelayError`` if it has other blocks."""
        if len(shape) != self.rank:
            raise RelayError(f"layout {self.text} has {self.rank} axes, and the shape is {shape}")
        found: dict[str, int] = {}
        for (letter, size), extent in zip(self.parts, shape, strict=True):
            if size and extent != size:
                raise RelayError(f"layout {self.text} has blocks of {size} for {letter}, and the shape is {shape}")
            found[letter] = found.get(letter, 1) * extent
        return found

    def shape(self, sizes: dict[str, int]) -> Shape:
        """Return the shape of a tensor whose letters have ``sizes``; raises ``RelayError`` if blocks do not divide."""
        for letter in self.plain:
            if sizes[letter] % self.block(letter):
                raise RelayError(
                    f"layout {self.text} has blocks of {self.block(letter)} for {letter}, and {sizes[letter]} of "
                    f"{letter} are not a multiple; pad first"
                )
        return tuple(size or sizes[letter] // self.block(letter) for letter, size in self.parts)


def to_plain(array: Array, layout: Layout, order: str) -> Array:
    """Return ``array`` of ``layout`` with whole axes in ``order``."""
    places = [layout.parts.index(part) for letter in order for part in _pieces(layout, letter)]
    sizes = layout.sizes(array.shape)
    return array.transpose(places).reshape([sizes[letter] for letter in order])


def from_plain(array: Array, layout: Layout, order: str) -> Array:
    """Return ``array``, whose axes are in ``order``, in ``layout``."""
    shape = layout.shape(dict(zip(order, array.shape, strict=True)))
    pieces = [part for letter in order for part in _pieces(layout, letter)]
    split = array.reshape([shape[layout.parts.index(part)] for part in pieces])
    return np.ascontiguousarray(split.transpose([pieces.index(part) for part in layout.parts]))


def _pieces(layout: Layout, letter: str) -> list[tuple[str, int]]:
    """Return the axes that make up ``letter``, the blocks' count first."""
    return sorted((part for part in layout.parts if part[0] == letter), key=lambda part: part[1] != 0)


def convert(array: Array, source: str, target: str) -> Array:
    """Return ``array`` of layout ``source`` in layout ``target``."""
    before, after = Layout.of(source), Layout.of(target)
    return from_plain(to_plain(array, before, after.plain), after, after.plain)


def converted_shape(shape: Shape, source: str, target: str) -> Shape:
    """Return the shape in layout ``target`` of a tensor that has ``shape`` in ``source``; raises ``RelayError``."""
    before, after = Layout.of(source), Layout.of(target)
    if sorted(before.plain) != sorted(after.plain):
        raise RelayError(f"layouts {source} and {target} do not have the same axes")
    result = after.shape(before.sizes(shape))
    assert prod(result) == prod(shape)
    return result


@dataclass(frozen=True, slots=True)
class LayoutAttrs(Attrs):
    """From which layout to which."""

    src_layout: str
    dst_layout: str


def _type(types: Types, attrs: LayoutAttrs) -> TensorType:
    return TensorType(converted_shape(types[0].shape, attrs.src_layout, attrs.dst_layout), types[0].dtype)


def _meaning(arrays: Sequence[Array], attrs: LayoutAttrs) -> Array:
    return convert(arrays[0], attrs.src_layout, attrs.dst_layout)


ROWS: Rows = {Op.LAYOUT_TRANSFORM: define(("data",), LayoutAttrs, _type, _meaning, Pattern.INJECTIVE)}
"""The rows of the table of operators."""
