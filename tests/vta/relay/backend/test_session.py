"""``InferenceSession``: onnxruntime's interface, batches in pieces, files, and what is refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import vta
from runtime.executor.network import NetworkError
from runtime.executor.session import InferenceError
from runtime.session import Session
from tests.support.relay.onnx_models import model_of
from tests.support.relay.quantised_models import Quantised, expected
from vta.relay.backend.session import InferenceSession


def model(batch: int | str = "n") -> onnx.ModelProto:
    q = Quantised(9)
    weights, scales = q.weight((5, 3, 3, 3))
    conv = q.op("Conv", [q.both("image", 0.05), weights, q.bias(scales * np.float32(0.05), 5)], pads=[1] * 4)
    real = q.both(q.op("Relu", [conv]), 0.1)
    q.op("Identity", [real])
    found = model_of(q.nodes, {"image": ("float32", (batch, 3, 8, 8))}, weights=q.weights)
    found.graph.node[-1].output[0] = found.graph.output[0].name = "features"
    return found


IMAGES = np.random.default_rng(1).standard_normal((6, 3, 8, 8)).astype(np.float32)


def test_it_has_onnxruntimes_interface() -> None:
    session = InferenceSession(model(), jobs=1)
    assert [(t.name, t.shape, t.dtype) for t in session.get_inputs()] == [("image", (1, 3, 8, 8), "float32")]
    assert [(t.name, t.shape, t.dtype) for t in session.get_outputs()] == [("features", (1, 5, 8, 8), "float32")]
    [found] = session.run(["features"], {"image": IMAGES[:1]})
    [wanted] = expected(model(), {"image": IMAGES[:1]})
    assert np.abs(found - wanted).max() <= 0.1001
    assert {node.on_device for node in session.nodes} == {True, False}


def test_a_batch_is_run_in_pieces_where_the_model_leaves_it_open() -> None:
    single, triple = InferenceSession(model(), jobs=1), InferenceSession(model(), {"n": 3}, jobs=1)
    [one], [three] = (session.run(None, {"image": IMAGES}) for session in (single, triple))
    np.testing.assert_array_equal(one, three)
    assert one.shape == (6, 5, 8, 8)
    with pytest.raises(
        NetworkError, match=r"^input 'image' is float32 of shape \(3, 3, 8, 8\), not float32 of shape \(4, "
    ):
        triple.run(None, {"image": IMAGES[:4]})


def test_a_fixed_batch_stays_what_it_is() -> None:
    session = InferenceSession(model(2), jobs=1)
    with pytest.raises(NetworkError, match=r"^input 'image' is float32 of shape \(2, 3, 8, 8\), not"):
        session.run(None, {"image": IMAGES})


def test_a_compiled_file_gives_the_same(tmp_path: Path) -> None:
    first = InferenceSession(model(), jobs=1)
    first.save(tmp_path / "m.vtam")
    second = InferenceSession(tmp_path / "m.vtam", target="reference")
    assert second.built is None
    assert second.device.device.name == "reference"
    np.testing.assert_array_equal(*(s.run(None, {"image": IMAGES[:2]})[0] for s in (first, second)))


def test_it_is_a_name_of_the_front() -> None:
    assert vta.InferenceSession is InferenceSession


def test_unknown_outputs_and_inputs_are_refused() -> None:
    session = InferenceSession(model(), jobs=1)
    with pytest.raises(InferenceError, match=r"^the network has outputs features, not 'logits'$"):
        session.run(["logits"], {"image": IMAGES})
    with pytest.raises(NetworkError, match=r"^the network takes inputs image, not picture$"):
        session.run(None, {"picture": IMAGES})


def test_it_runs_on_a_session_that_it_or_its_environment_was_given() -> None:
    device = Session(vta.get_env().config, "reference")
    assert InferenceSession(model(), jobs=1, target=device).device is device
    env = vta.Environment(vta.get_env().config)
    env.run_on(device)
    session = InferenceSession(model(), jobs=1, env=env)
    assert session.device is device
    [found] = session.run(None, {"image": IMAGES[:1]})
    np.testing.assert_array_equal(found, InferenceSession(model(), jobs=1).run(None, {"image": IMAGES[:1]})[0])
    assert InferenceSession(model(), jobs=1, env=env, target="sim").device is not device
