"""Layers of a graph: the operators that it would be compiled to, equal ones once."""

import vta
from tests.support.relay.quantised_layers import two_layers
from vta.relay.backend.build import build_network
from vta.relay.backend.kernel import Kernel
from vta.relay.backend.layers import layers


def test_layers_are_the_operators_that_are_compiled_each_once() -> None:
    function, env = two_layers(), vta.get_env()
    found = layers(function, env)
    built = build_network(function, env, jobs=1)
    kernels = [item for item in built.items if isinstance(item, Kernel)]
    assert {layer.operator for layer in found} == {kernel.operator for kernel in kernels}
    assert [len(layer.names) for layer in found] == [2]
    assert len(kernels) == 2
