import random

import pytest

from runtime.executor.operators.operator import Pattern
from vta.relay.transform.fusion.post_dominators import Edge, PostDominator, post_dominators

E, B, INJ, R = Pattern.ELEMWISE, Pattern.BROADCAST, Pattern.INJECTIVE, Pattern.COMM_REDUCE


def dominators(edges: list[list[tuple[int, Pattern]]], *results: int) -> list[PostDominator]:
    return post_dominators(
        [[Edge(reader, pattern) for reader, pattern in each] for each in edges],
        [node in results for node in range(len(edges))],
    )


def test_in_a_chain_everybody_is_dominated_by_the_reader() -> None:
    found = dominators([[(1, B)], [(2, E)], []], 2)
    assert found == [PostDominator(1, B, 2), PostDominator(2, E, 1), PostDominator(None, Pattern.OPAQUE, 0)]


def test_where_ways_meet_again_is_the_dominator_with_the_least_fusable_edge() -> None:
    found = dominators([[(1, E), (2, E)], [(3, INJ)], [(3, B)], []], 3)
    assert found[0] == PostDominator(3, INJ, 1)


def test_ways_of_different_lengths_meet() -> None:
    found = dominators([[(1, E), (3, R)], [(2, B)], [(3, E)], [(4, E)], []], 4)
    assert found[0] == PostDominator(3, R, 2)


def test_what_the_outside_reads_too_has_no_dominator() -> None:
    assert dominators([[(1, E)], []], 0, 1)[0] == PostDominator(None, Pattern.OPAQUE, 0)
    assert dominators([[(1, E), (2, E)], [], []], 1, 2)[0].parent is None


def ways(
    edges: list[list[tuple[int, Pattern]]], results: set[int], start: int
) -> list[tuple[list[int], list[Pattern]]]:
    """Return every way from ``start`` to the outside: the nodes behind it, and the edges."""
    found: list[tuple[list[int], list[Pattern]]] = [([], [])] if start in results or not edges[start] else []
    for reader, pattern in edges[start]:
        found += [([reader, *nodes], [pattern, *patterns]) for nodes, patterns in ways(edges, results, reader)]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_have_the_dominators_of_their_definition(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 9)
    edges = [
        [(reader, rng.choice([E, B, INJ, R])) for reader in range(node + 1, count) if rng.random() < 0.45]
        for node in range(count)
    ]
    results = {node for node in range(count) if not edges[node] or rng.random() < 0.1}
    for node, found in enumerate(dominators(edges, *results)):
        every = ways(edges, results, node)
        common = set.intersection(*(set(nodes) for nodes, _ in every))
        if not common or node in results:
            assert found.parent is None
            continue
        first = min(common)
        assert found.parent == first
        on_the_way = [patterns[: nodes.index(first) + 1] for nodes, patterns in every]
        assert found.pattern == max(pattern for patterns in on_the_way for pattern in patterns)
