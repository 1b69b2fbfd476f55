"""Which nodes are computed together: groups that grow along the post-dominator tree, in two phases.

Phase 1 lets element-wise operators follow a convolution (anything ``OUT_ELEMWISE_FUSABLE``) and each other, up to a
reduction; phase 2 lets injective operators join what reads them. The other order would let a transpose take an
activation from its convolution. A node is fused into its post-dominator together with all nodes on the ways there, if
each of them may: so a group has one result, and a residual is added in the kernel of its convolution.

TVM has a third phase, for tuples that are an operator's input; here, operators take their inputs without one.
Tests: tests/vta/relay/transform/fusion/test_groups.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from runtime.executor.operators.operator import Pattern
from vta.relay.transform.fusion.post_dominators import Edge, PostDominator, post_dominators

__all__ = ["MAX_OPERATORS", "Node", "grouped"]

MAX_OPERATORS = 256
"""Operators that a kernel has at most."""


class Phase(Enum):
    """What is fused at a time."""

    ELEMENTWISE = auto()
    INJECTIVE = auto()


@dataclass(frozen=True, slots=True)
class Node:
    """A node as fusion sees it: how it may be fused, who reads it, whether the outside does."""

    pattern: Pattern
    readers: tuple[Edge, ...]
    is_result: bool = False


def grouped(nodes: Sequence[Node], max_operators: int = MAX_OPERATORS) -> list[int]:
    """Return for every node the one that its group computes: the last of its group, itself if it is alone."""
    tree = post_dominators([node.readers for node in nodes], [node.is_result for node in nodes])
    groups = _Groups(nodes, tree, max_operators)
    for phase in Phase:
        for node in range(len(nodes)):
            groups.fuse(node, phase)
    return [groups.root(node) for node in range(len(nodes))]


class _Groups:
    """Groups as a forest: every node points towards the last one of its group."""

    def __init__(self, nodes: Sequence[Node], tree: Sequence[PostDominator], max_operators: int) -> None:
        self._nodes = nodes
        self._tree = tree
        self._max = max_operators
        self._towards = list(range(len(nodes)))
        self._pattern = [node.pattern for node in nodes]
        self._size = [1] * len(nodes)

    def root(self, node: int) -> int:
        """Return the last node of the group of ``node``."""
        while self._towards[node] != node:
            self._towards[node] = self._towards[self._towards[node]]
            node = self._towards[node]
        return node

    def fuse(self, node: int, phase: Phase) -> None:
        """Fuse ``node`` into its post-dominator, with what lies between, if that is to be done in ``phase``."""
        dominator = self._tree[node]
        if dominator.parent is None or self.root(node) == self.root(dominator.parent):
            return
        rule = self._rule(self._pattern[self.root(node)], dominator.pattern, phase)
        if rule is None:
            return
        between = self._between(node, dominator.parent, rule)
        if between is not None:
            self._merge(between, dominator.parent)

    def _rule(self, own: Pattern, way: Pattern, phase: Phase) -> "Callable[[Pattern, bool], bool] | None":
        """Return which patterns may lie on the way (and at its end, True), None if nothing is fused now.

        ``own`` is the pattern of the node's group, ``way`` the least fusable edge up to the post-dominator.
        """
        match own:
            case Pattern.OUT_ELEMWISE_FUSABLE if phase is Phase.ELEMENTWISE and way is Pattern.ELEMWISE:
                return lambda pattern, _: pattern <= Pattern.BROADCAST
            case Pattern.ELEMWISE | Pattern.BROADCAST if way <= Pattern.COMM_REDUCE:
                return lambda pattern, is_end: (
                    pattern <= (Pattern.OUT_ELEMWISE_FUSABLE if is_end else Pattern.INJECTIVE)
                )
            case Pattern.INJECTIVE if phase is Phase.INJECTIVE:
                return lambda pattern, _: pattern <= Pattern.INJECTIVE
            case _:
                return None

    def _between(self, start: int, end: int, rule: Callable[[Pattern, bool], bool]) -> set[int] | None:
        """Return the nodes on all ways from ``start`` to ``end``, without ``end``; None if one may not be fused."""
        found, waiting = {start}, [start]
        while waiting:
            for edge in self._nodes[waiting.pop()].readers:
                if not rule(self._pattern[self.root(edge.reader)], edge.reader == end):
                    return None
                if edge.reader != end and edge.reader not in found:
                    found.add(edge.reader)
                    waiting.append(edge.reader)
        return found

    def _merge(self, between: set[int], end: int) -> None:
        """Put the groups of all ``between`` into that of ``end``, if it does not become too large."""
        target = self.root(end)
        sources = {self.root(node) for node in between} - {target}
        if self._size[target] + sum(self._size[source] for source in sources) > self._max:
            return
        for source in sources:
            self._towards[source] = target
            self._size[target] += self._size[source]
            self._pattern[target] = max(self._pattern[target], self._pattern[source])
