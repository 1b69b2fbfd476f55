import pytest

from runtime.executor.operators.operator import Pattern
from vta.relay.transform.fusion.groups import Node, grouped
from vta.relay.transform.fusion.post_dominators import Edge

E, B, INJ, R = Pattern.ELEMWISE, Pattern.BROADCAST, Pattern.INJECTIVE, Pattern.COMM_REDUCE
CONV, OPAQUE, TUPLE = Pattern.OUT_ELEMWISE_FUSABLE, Pattern.OPAQUE, Pattern.TUPLE


def groups(patterns: list[Pattern], readers: list[list[int]], max_operators: int = 256) -> list[int]:
    """Return the groups of a graph in which every operand has its reader's shape."""
    nodes = []
    for number, pattern in enumerate(patterns):
        edges = [Edge(reader, E if patterns[reader] <= B else patterns[reader]) for reader in readers[number]]
        nodes.append(Node(pattern, tuple(edges), is_result=not edges))
    return grouped(nodes, max_operators)


def chain(*patterns: Pattern, max_operators: int = 256) -> list[int]:
    return groups(list(patterns), [[node + 1] for node in range(len(patterns) - 1)] + [[]], max_operators)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((E, B, E), [2, 2, 2]),
        ((CONV, B, E), [2, 2, 2]),
        ((CONV, CONV), [0, 1]),
        ((E, CONV), [0, 1]),
        ((CONV, INJ), [0, 1]),
        ((CONV, E, INJ), [1, 1, 2]),
        ((INJ, INJ, E), [2, 2, 2]),
        ((INJ, CONV), [0, 1]),
        ((E, R), [1, 1]),
        ((CONV, R), [0, 1]),
        ((R, E), [0, 1]),
        ((E, OPAQUE, E), [0, 1, 2]),
        ((E, TUPLE), [0, 1]),
        ((CONV, E, CONV, B, R), [1, 1, 3, 3, 4]),
    ],
)
def test_what_follows_what_in_a_kernel(patterns: tuple[Pattern, ...], expected: list[int]) -> None:
    assert chain(*patterns) == expected


def test_a_residual_is_added_in_the_kernel_of_its_convolution() -> None:
    """0 input's relu, read by 1 conv and 3 add; 2 bias."""
    assert groups([E, CONV, B, B, E], [[1, 3], [2], [3], [4], []]) == [0, 4, 4, 4, 4]


def test_of_two_convolutions_that_are_added_one_takes_the_sum() -> None:
    assert groups([CONV, CONV, B, E], [[2], [2], [3], []]) == [3, 1, 3, 3]


def test_branches_are_fused_as_a_whole_or_not_at_all() -> None:
    diamond = [[1, 2], [3], [3], []]
    assert groups([E, E, E, B], diamond) == [3, 3, 3, 3]
    assert groups([E, CONV, E, B], diamond) == [0, 3, 3, 3]
    assert groups([E, OPAQUE, E, B], diamond) == [0, 1, 3, 3]


def test_an_activation_stays_with_its_convolution_though_a_transpose_follows() -> None:
    assert chain(CONV, E, INJ, E) == [1, 1, 3, 3]


def test_a_broadcast_reader_is_not_fused_into_a_convolution() -> None:
    wide = Node(B, (), is_result=True)
    assert grouped([Node(CONV, (Edge(1, B),)), wide]) == [0, 1]
    assert grouped([Node(E, (Edge(1, B),)), wide]) == [1, 1]


def test_a_kernel_has_a_largest_size() -> None:
    assert chain(E, E, E, E, max_operators=2) == [1, 1, 3, 3]
