"""The networks that benchmarks build: sound models of the published sizes, sound when quantised."""

import numpy as np
import onnx
import pytest

from bench.models.networks import NETWORKS
from bench.models.quantised import pictures, quantised

PARAMETERS = {"resnet18": 11_689_512, "resnet50": 25_557_032, "efficientnet-lite0": 4_652_008}
"""What the networks are published with: a channel's normalisation has two numbers, of which a bias here is one."""


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_network_has_its_published_size(name: str) -> None:
    model = NETWORKS[name](size=64)
    onnx.checker.check_model(model, full_check=True)
    sizes = {w.name: int(np.prod(w.dims)) for w in model.graph.initializer if w.name.endswith((".weight", ".bias"))}
    channels = sum(size for name, size in sizes.items() if name.endswith(".bias") and name != "logits.bias")
    assert sum(sizes.values()) + channels == PARAMETERS[name]


def test_pictures_are_the_same_for_a_seed_and_have_unit_deviation() -> None:
    one, two = (pictures(3, (3, 16, 20), seed=4) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one.std((1, 2, 3)), 1, rtol=1e-3)


def test_the_quantised_form_is_a_sound_model_of_int8() -> None:
    model = quantised(NETWORKS["resnet18"](size=32, classes=10), pictures(1, (3, 32, 32), seed=1))
    onnx.checker.check_model(model)
    kinds = {w.data_type for w in model.graph.initializer if w.name.endswith("weight_quantized")}
    assert kinds == {onnx.TensorProto.INT8}
    assert sum(node.op_type == "QuantizeLinear" for node in model.graph.node) == 50
