"""A network of residual sums and concatenations of unequal scales, resizes, hard swishes: all on the accelerator."""

import pytest

import vta
from bench.models.networks import pyramid
from bench.models.quantised import pictures, quantised
from runtime.executor.operators.names import Op
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from vta.relay.backend.build import Built
from vta.relay.backend.compare import against_integers, against_onnxruntime
from vta.relay.backend.kernel import HostCall
from vta.relay.backend.session import compile_model

IMAGES = pictures(3, (3, 32, 32), seed=4)
MODEL = quantised(pyramid(size=32, classes=10), IMAGES[:2])


@pytest.fixture(scope="module", name="built")
def fixture_built() -> Built:
    return compile_model(MODEL, vta.get_env(), jobs=1)


def test_the_host_only_quantises_the_picture_and_reads_the_result(built: Built) -> None:
    left = [item.root.callee for item in built.items if isinstance(item, HostCall)]
    assert left == [Op.QUANTIZE, Op.RESHAPE, Op.DEQUANTIZE]  # the reshape is another name of what lies there


@pytest.mark.parametrize("engine", ["sim", "tsim"])
def test_every_node_has_the_bits_of_the_integer_graph(engine: str, built: Built) -> None:
    runner = NetworkRunner(built.network, Session(built.network.config, engine))
    nodes = against_integers(built, runner, {"image": IMAGES[2:]})
    assert len(nodes) > 12
    assert [node.node for node in nodes if node.different] == []


def test_every_node_is_within_one_of_onnxruntime(built: Built) -> None:
    nodes = against_onnxruntime(built.function, MODEL, {"image": IMAGES[2:]})
    assert max(node.largest for node in nodes) <= 1
    assert sum(node.different for node in nodes) / sum(node.elements for node in nodes) < 0.01


def test_scales_are_unequal() -> None:
    weights = {w.name for w in MODEL.graph.initializer}
    made = {node.output[0]: node for node in MODEL.graph.node}
    for kind in ("Add", "Concat"):
        for node in (n for n in MODEL.graph.node if n.op_type == kind):
            scales = {made[name].input[1] for name in node.input}
            assert len(scales) == len(node.input)
            assert scales <= weights
