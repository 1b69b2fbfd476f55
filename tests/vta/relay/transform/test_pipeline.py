from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.relay.random_floats import random_graph
from tests.support.relay.random_integers import random_network
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.traverse import calls
from vta.relay.transform.inline_lets import inline_lets
from vta.relay.transform.pipeline import SIMPLIFY, run_passes


def test_after_each_pass_its_name_and_result_are_told() -> None:
    seen = []
    after = run_passes(random_graph(1).function, after_each=lambda name, result: seen.append((name, result)))
    assert [name for name, _ in seen] == [each.name for each in SIMPLIFY]
    assert seen[-1][1] is after


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_random_graphs_mean_the_same_and_become_smaller(seed: int) -> None:
    graph = random_graph(seed, nodes=16, with_lets=seed % 2 == 0)
    after = run_passes(graph.function)
    assert_same_meaning(graph, after, exact=False)
    assert len(calls(after)) <= 4 * len(calls(inline_lets(graph.function)))
    network = random_network(seed, nodes=5)
    assert_same_meaning(network, run_passes(network.function), exact=True)
