"""The post-dominator tree of a graph: for each node, the first one that all its results go through.

A node's parent in the tree is the lowest common ancestor of those who read it; who reads from the outside (the result
of a function) has no ancestor. Nodes are numbered in the order of evaluation, so readers come later and are done first.
Tests: tests/vta/relay/transform/fusion/test_post_dominators.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.executor.operators.operator import Pattern

__all__ = ["Edge", "PostDominator", "post_dominators"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One reader of a node, and what the reading is like: element by element, after broadcasting, ..."""

    reader: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class PostDominator:
    """``parent`` is the immediate post-dominator, None if there is none.

    ``pattern`` is the least fusable edge on all paths to it. ``depth`` counts ancestors.
    """

    parent: int | None
    pattern: Pattern
    depth: int


def post_dominators(edges: Sequence[Sequence[Edge]], is_result: Sequence[bool]) -> list[PostDominator]:
    """Return the post-dominator of every node.

    ``edges[n]`` are the readers of node n, all of higher numbers; ``is_result[n]`` says whether the outside reads it.
    """
    tree: list[PostDominator | None] = [None] * len(edges)
    for node in reversed(range(len(edges))):
        tree[node] = _dominated(edges[node], tree, is_result=is_result[node])
    return [each for each in tree if each is not None]


def _dominated(readers: Sequence[Edge], tree: list[PostDominator | None], *, is_result: bool) -> PostDominator:
    if is_result or not readers:
        return PostDominator(None, Pattern.OPAQUE, 0)
    parent: int | None = readers[0].reader
    pattern = readers[0].pattern
    for edge in readers[1:]:
        parent, above = _common_ancestor(tree, parent, edge.reader)
        pattern = max(pattern, edge.pattern, above)
    if parent is None:
        return PostDominator(None, Pattern.OPAQUE, 0)
    return PostDominator(parent, pattern, _of(tree, parent).depth + 1)


def _of(tree: list[PostDominator | None], node: int) -> PostDominator:
    found = tree[node]
    assert found is not None, "readers have higher numbers"
    return found


def _common_ancestor(tree: list[PostDominator | None], a: int | None, b: int | None) -> tuple[int | None, Pattern]:
    """Return the lowest common ancestor, and the least fusable edge on both ways to it."""
    pattern = Pattern.ELEMWISE
    while a != b:
        if a is None or b is None:
            return None, Pattern.OPAQUE
        above_a, above_b = _of(tree, a), _of(tree, b)
        if above_a.depth >= above_b.depth:
            a, pattern = above_a.parent, max(pattern, above_a.pattern)
        if above_b.depth >= above_a.depth:
            b, pattern = above_b.parent, max(pattern, above_b.pattern)
    return a, pattern
