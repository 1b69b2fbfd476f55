"""What users reported about networks as graphs, each with the right answer; BR numbers are those of docs/reports.md."""

import numpy as np
import onnx
import pytest

import vta
from runtime.executor.network import DeviceStep
from runtime.executor.operators.names import Op
from tests.support.relay.onnx_models import model_of
from tests.support.relay.quantised_models import Quantised, expected
from vta import relay
from vta.relay.backend.report import reports
from vta.relay.backend.session import InferenceSession
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Function
from vta.relay.ir.traverse import calls

SX = 0.05
IMAGE = np.random.default_rng(1).standard_normal((1, 16, 8, 8)).astype(np.float32)


def conv(q: Quantised, real: str, scale: float) -> str:
    weights, scales = q.weight((16, 16, 3, 3))
    return q.op("Conv", [real, weights, q.bias(scales * np.float32(scale), 16)], pads=[1] * 4)


def session_of(q: Quantised, **shape: object) -> InferenceSession:
    return InferenceSession(model_of(q.nodes, {"x": ("float32", IMAGE.shape)}, weights=q.weights), jobs=1)


def places(session: InferenceSession) -> dict[str, str]:
    """Return the place of every node of the model."""
    assert session.built is not None
    return {node: each.place for each in reports(session.built) for node in each.nodes}


def close(q: Quantised, session: InferenceSession, scale: float) -> None:
    model = model_of(q.nodes, {"x": ("float32", IMAGE.shape)}, weights=q.weights)
    [found], [wanted] = session.run(None, {"x": IMAGE}), expected(model, {"x": IMAGE})
    assert np.abs(found - wanted).max() <= 2.01 * scale


def test_br_103_what_stands_between_convolutions_runs_on_the_accelerator_and_is_told() -> None:
    q = Quantised(2)
    real = q.both("x", SX)
    total = q.both(q.op("Add", [q.both(conv(q, real, SX), 0.09), real]), 0.12)
    clipped = q.op("Clip", [q.op("Relu", [total]), q.constant(0, "float32"), q.constant(6, "float32")])
    q.both(conv(q, q.both(clipped, 0.05, -128), 0.05), 0.2)
    session = session_of(q)
    found = places(session)
    ours = [proto.name for proto in q.nodes if proto.op_type in ("Conv", "Add", "Relu", "Clip")]
    assert len(ours) == 5
    assert {found[name] for name in ours} == {"accelerator"}
    assert session.built is not None
    np.testing.assert_array_equal(session.run(None, {"x": IMAGE})[0], run(session.built.function, [IMAGE]))
    close(q, session, 2 * 0.2)  # the second layer sums up what the first one rounds otherwise


def test_br_109_layers_are_found_by_what_they_are_where_every_name_comes_twice() -> None:
    q = Quantised(3)
    real = q.both("x", SX)
    for _ in range(2):
        made = q.both(q.op("LeakyRelu", [q.both(conv(q, real, SX), 0.07)], alpha=0.1), 0.07)
        real = q.both(q.op("Add", [made, real]), SX)
    for proto in q.nodes:
        proto.name = proto.op_type  # nothing in the model has a name of its own
    session = session_of(q)
    assert sum(isinstance(step, DeviceStep) for step in session.network.steps) >= 2
    assert session.built is not None
    assert session.built.macs == 2 * 16 * 16 * 9 * 64


@pytest.mark.parametrize("perm", [[0, 2, 3, 1], None])
def test_br_110_nets_without_a_pool_and_with_transposes_behind_layers_run(perm: list[int] | None) -> None:
    q = Quantised(4)
    made = q.both(conv(q, q.both("x", SX), SX), 0.09)
    if perm is not None:
        q.both(q.op("Transpose", [made], perm=perm), 0.09)
    session = session_of(q)
    assert "accelerator" in places(session).values()
    close(q, session, 0.09)


def evaluated(body: relay.Expr, x: relay.Var, value: np.ndarray) -> list[np.ndarray]:
    made = relay.create_executor("graph", mod=Function((x,), body), target="llvm").evaluate()(value)
    return [each.numpy() for each in (made if isinstance(made, list) else [made])]


def test_br_112_functions_return_tuples_of_odd_sizes_and_of_one_tensor_twice() -> None:
    x = relay.var("x", shape=(7,))
    value = np.arange(1, 8, dtype=np.float32)
    parts = evaluated(relay.Tuple([*relay.split(x, (2, 3))]), x, value)
    assert [part.tolist() for part in parts] == [[1, 2], [3], [4, 5, 6, 7]]
    log = relay.log(x)
    for found in evaluated(relay.Tuple([log, log]), x, value):
        np.testing.assert_allclose(found, np.log(value), rtol=1e-6)
    fused = relay.transform.FuseOps()(Function((x,), relay.Tuple([log, log])))
    assert len(fused.type.fields) == 2


def test_br_114_what_stands_before_a_convolution_is_not_computed_in_its_loops() -> None:
    x = relay.var("x", shape=(1, 16, 8, 8))
    w = relay.const(np.ones((16, 16, 3, 3), np.float32))
    made = relay.nn.relu(relay.nn.conv2d(relay.add(x, relay.const(1.0)), w))
    fused = relay.transform.FuseOps()(Function((x,), made))
    groups = [[str(inner.callee) for inner in calls(each.callee)] for each in calls(fused)]
    assert groups == [["add"], ["nn.conv2d", "nn.relu"]]


def test_br_117_constants_are_folded_on_the_host_within_the_accelerators_build_context() -> None:
    w = relay.transpose(relay.cast(relay.const(np.arange(12, dtype=np.int32).reshape(3, 4)), "float32"))
    x = relay.var("x", shape=(2, 3))
    env = vta.get_env()
    before = len(env.session.queue.launcher.launches)
    with vta.build_config(opt_level=3), env.target:
        factory = relay.build(Function((x,), relay.nn.dense(x, w)))
        folded = relay.transform.FoldConstant()(Function((x,), relay.nn.dense(x, w)))
    assert [step.operator for step in factory.network.steps] == ["nn.dense"]
    assert [str(each.callee) for each in calls(folded)] == ["nn.dense"]
    assert len(env.session.queue.launcher.launches) == before


def test_br_154_a_report_says_which_nodes_the_host_computes_and_why() -> None:
    x = relay.var("x", shape=(2, 16), dtype="float16")
    w = relay.const(np.ones((4, 16), np.float16))
    factory = relay.build(Function((x,), relay.nn.softmax(relay.nn.dense(x, w))), target=vta.get_env().target)
    assert factory.built is not None
    found = {each.name: (each.place, each.rule) for each in reports(factory.built)}
    assert found == {
        "nn.dense": ("host", f"the accelerator has no operator for {Op.DENSE}"),
        "nn.softmax": ("host", f"the accelerator has no operator for {Op.SOFTMAX}"),
    }


def test_br_154_attention_in_real_numbers_is_the_hosts_node_by_node_and_right() -> None:
    rng = np.random.default_rng(154)
    given = {name: rng.standard_normal((1, 2, 5, 8)).astype(np.float32) for name in "qkv"}
    attention = onnx.helper.make_node("Attention", [*given], ["y"], name="attention")
    model = model_of([attention], {name: ("float32", value.shape) for name, value in given.items()}, opset=23)
    session = InferenceSession(model, jobs=1)
    assert session.built is not None
    found = reports(session.built)
    assert {each.place for each in found} == {"host"}
    assert {str(Op.SOFTMAX)} <= {str(each.callee) for each in calls(session.built.function)}
    assert all(each.rule for each in found)
    assert {node for each in found for node in each.nodes} == {"attention"}
    scores = given["q"] @ np.swapaxes(given["k"], 2, 3) / np.sqrt(np.float32(8))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    wanted = weights / weights.sum(axis=-1, keepdims=True) @ given["v"]
    np.testing.assert_allclose(session.run(None, given)[0], wanted, rtol=1e-4, atol=1e-5)
