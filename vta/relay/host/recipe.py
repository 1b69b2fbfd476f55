"""A group of operators in itself, without names: what is compiled, and what native code is kept under.

Tests: tests/vta/relay/host/test_recipe.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Shape

__all__ = ["Leaf", "Node", "Recipe", "merged_axes"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array that a group reads: its shape, with axes of size 1 where it broadcasts to the result, and its type."""

    shape: Shape
    dtype: str


@dataclass(frozen=True, slots=True)
class Node:
    """An operator: ``operands`` are nodes before it by number, and leaves as -1, -2, ...; ``dtype`` is the result's."""

    op: Op
    attrs: Attrs
    operands: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """Operators in their order, of which the last gives the result; all of one ``shape``.

    ``is_head`` says whether the first one goes over windows; its leaves have shapes of their own then.
    """

    leaves: tuple[Leaf, ...]
    nodes: tuple[Node, ...]
    shape: Shape
    is_head: bool = False


def merged_axes(shapes: Sequence[Shape]) -> list[list[int]]:
    """Return which neighbouring axes are one axis, since every one of ``shapes`` has both whole, or neither.

    The first shape is the result's; the others have its sizes, or 1.
    """
    whole = shapes[0]
    groups: list[list[int]] = []
    kinds: list[tuple[bool, ...]] = []
    for axis, extent in enumerate(whole):
        kind = tuple(shape[axis] == extent for shape in shapes)
        if groups and (extent == 1 or kind == kinds[-1]):
            groups[-1].append(axis)
        elif groups and all(whole[other] == 1 for other in groups[-1]):
            groups[-1].append(axis)
            kinds[-1] = kind
        else:
            groups.append([axis])
            kinds.append(kind)
    return groups
