"""Integer networks against the models that they are made of, computed in floating point between integers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.names import Op
from tests.support.relay.random_integers import KINDS, random_network
from vta.relay.interpreter import Value, run
from vta.relay.ir.traverse import calls

FLOATS = {Op.QUANTIZE, Op.DEQUANTIZE}


def differences(found: Value, expected: Value) -> np.ndarray:
    if isinstance(expected, tuple):
        return np.concatenate([differences(a, b) for a, b in zip(found, expected, strict=True)])
    assert found.dtype == expected.dtype  # type: ignore[union-attr]
    return np.abs(found.astype(np.int64) - expected.astype(np.int64)).reshape(-1)  # type: ignore[union-attr]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=150)
def test_one_layer_differs_from_floating_point_by_one_at_most(seed: int) -> None:
    network = random_network(seed, nodes=1)
    inputs = network.inputs()
    assert differences(run(network.function, inputs), run(network.model, inputs)).max(initial=0) <= 1


def test_fewer_than_one_result_in_a_thousand_differs() -> None:
    wrong = total = 0
    for seed in range(300):
        network = random_network(seed, nodes=1)
        found = differences(run(network.function, network.inputs()), run(network.model, network.inputs()))
        wrong, total = wrong + np.count_nonzero(found), total + found.size
    assert total > 50_000
    assert wrong / total < 0.001


def test_layers_with_weights_and_sums_are_integers_through_and_through() -> None:
    for seed in range(40):
        network = random_network(seed, kinds=("conv", "conv_transpose", "dense", "max_pool", "movement", "multiply"))
        assert not FLOATS & {each.callee for each in calls(network.function)}, seed


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_networks_of_every_kind_become_integers_of_the_same_types(seed: int) -> None:
    network = random_network(seed, nodes=10)
    assert network.function.type == network.model.type
    run(network.function, network.inputs())
    assert len(KINDS) == 10
