"""Whole networks: what comes out is standard, close to float, and the same on every engine."""

import numpy as np
import onnx
import pytest

import vta
from tests.support.relay.float_models import float_model, node, small_network
from vta.quantize import CalibrationError, Method, Options, QuantizeError, quantise
from vta.quantize.calibrate.float_run import Runner
from vta.relay.backend.compare import against_integers, against_onnxruntime
from vta.relay.backend.session import InferenceSession
from vta.relay.integer import integer_network
from vta.relay.onnx.importer import from_onnx

DATA = np.random.default_rng(8).standard_normal((32, 3, 8, 8)).astype(np.float32)


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(symmetric=False),
        Options(per_channel=False),
        Options(power_of_two=True),
        Options(methods=(Method.MIN_MAX,), equalise=False, correct_bias=False, optimise_rounding=False),
    ],
    ids=["default", "asymmetric", "per tensor", "powers of two", "plain"],
)
def test_a_network_loses_little_and_has_the_same_bits_everywhere(options: Options) -> None:
    made = quantise(small_network(), {"image": DATA}, options)
    onnx.checker.check_model(made.model, full_check=True)
    assert made.report.score.cosine > 0.995
    session = InferenceSession(made.model, env=vta.get_env(), target="sim")
    assert session.built is not None
    feed = {"image": DATA[:1]}
    assert [each.node for each in against_integers(session.built, session.runner, feed) if each.different] == []
    nodes = against_onnxruntime(session.built.function, made.model, feed)
    assert max(each.largest for each in nodes) <= 1
    assert sum(each.different for each in nodes) <= 0.002 * sum(each.elements for each in nodes) + 2
    convolutions = [step for step in session.built.network.steps if hasattr(step, "launches")]
    assert len(convolutions) >= 6  # every layer, the pooling and the average


def test_powers_of_two_are_all_the_scales_that_there_are() -> None:
    made = quantise(small_network(), {"image": DATA}, Options(power_of_two=True))
    for each in made.model.graph.initializer:
        if each.name.endswith(".scale"):
            scales = onnx.numpy_helper.to_array(each)
            assert (np.log2(scales) == np.rint(np.log2(scales))).all()


def test_with_powers_of_two_every_layer_rounds_as_onnxruntime_does() -> None:
    made = quantise(small_network(), {"image": DATA}, Options(power_of_two=True))
    session = InferenceSession(made.model, env=vta.get_env(), target="sim")
    assert session.built is not None
    for at in range(8):
        nodes = against_onnxruntime(session.built.function, made.model, {"image": DATA[at : at + 1]})
        assert {each.node for each in nodes if each.different} <= {"average.quantize"}  # which has no bias
        assert sum(each.elements for each in nodes) > 1000


def test_layers_whose_sums_are_as_coarse_as_their_results_round_as_onnxruntime_does() -> None:
    """Data far beyond the limits behind a layer: a whole sum is as large as a cell of the result, or larger."""
    rng = np.random.default_rng(1)
    weights = {
        "w": rng.standard_normal((8, 3, 1, 1)).astype(np.float32), "b": np.linspace(0.1, 5, 8).astype(np.float32),
        "v": rng.standard_normal((8, 8, 1, 1)).astype(np.float32), "low": np.float32(0), "high": np.float32(6),
    }  # fmt: skip
    weights["w"][::2] /= 64
    nodes = [node("Conv", ["image", "w", "b"], "wide"), node("Clip", ["wide", "low", "high"], "limited")]
    model = float_model([*nodes, node("Conv", ["limited", "v"], "out")], weights, outputs=["out"], image=(1, 3, 8, 8))
    made = quantise(model, {"image": 100 * DATA}, Options(power_of_two=True, symmetric=True, equalise=False))
    function = integer_network(from_onnx(made.model))
    compared = against_onnxruntime(function, made.model, {"image": 100 * DATA[:1]})
    assert [each.node for each in compared if each.different] == []
    assert len(compared) == 3


def test_only_tensors_that_pads_are_read_of_have_zero_in_the_middle() -> None:
    zeros = {row.tensor: row.zero for row in quantise(small_network(), {"image": DATA}).report.layers}
    assert zeros["image"] == zeros["relu6"] == 0
    assert zeros["relu"] == zeros["relu3"] == -128
    everywhere = {row.zero for row in quantise(small_network(), {"image": DATA}, Options(symmetric=True)).report.layers}
    assert everywhere == {0}


def test_the_report_names_every_tensor_with_a_scale() -> None:
    report = quantise(small_network(), {"image": DATA}).report
    assert [row.tensor for row in report.layers] == ["image", "relu6", "relu", "relu3", "average", "logits"]
    assert sum(row.error_share for row in report.layers) == pytest.approx(1, abs=0.02)
    assert all(row.weight_sqnr_db for row in report.layers if row.tensor in ("relu6", "relu", "relu3", "logits"))
    assert report.samples == 32


def test_layers_that_cost_most_stay_float_until_the_floor_is_reached() -> None:
    plain = quantise(small_network(), {"image": DATA}).report.score.cosine
    floor = 1 - (1 - plain) / 3
    made = quantise(small_network(), {"image": DATA}, Options(floor=floor))
    assert made.report.kept_float
    assert made.report.score.cosine >= floor
    with pytest.raises(QuantizeError, match="no network with int8 layers reaches the floor of 1; "):
        quantise(small_network(), {"image": DATA}, Options(floor=0.99999999))


def test_the_last_sum_of_two_branches_does_not_wrap() -> None:
    """Two branches up to 4 make sums up to 8, which a scale of 8/127 holds and nothing narrower does."""
    eye = np.eye(16, dtype=np.float32).reshape(16, 16, 1, 1)
    nodes = [
        node("Conv", ["l", "a"], "left"), node("Conv", ["r", "b"], "right"), node("Add", ["left", "right"], "sum"),
        node("Conv", ["sum", "c"], "out"),
    ]  # fmt: skip
    weights = {"a": eye, "b": eye, "c": eye}
    data = np.linspace(0, 4, 1024, dtype=np.float32).reshape(1, 16, 8, 8)
    for extra in (
        [],
        [node("GlobalAveragePool", ["out"], "average")],
        [node("Add", ["k", "out"], "shifted")],
    ):
        model = float_model(
            [*nodes, *extra], {**weights, "k": np.ones((16, 1, 1), np.float32)}, image=(1, 16, 8, 8),
            outputs=[extra[0].output[0] if extra else "out"], inputs=("l", "r"),
        )  # fmt: skip
        made = quantise(model, {"l": data, "r": data})
        feed = {"l": data, "r": data}
        exact = Runner(model, [model.graph.output[0].name], onnxruntime=False)(feed)[model.graph.output[0].name]
        [found] = InferenceSession(made.model, env=vta.get_env(), target="sim").run(None, feed)
        [again] = InferenceSession(made.model, env=vta.get_env(), target="reference").run(None, feed)
        np.testing.assert_array_equal(found, again)
        assert np.abs(found - exact).max() <= 0.25
        assert found.min() >= 0
        if not extra:
            assert (np.diff(found.reshape(-1)) >= 0).all()


def test_three_branches_are_added_without_wrapping() -> None:
    eye = np.eye(16, dtype=np.float32).reshape(16, 16, 1, 1)
    nodes = [node("Conv", ["image", "w"], name) for name in "abc"]
    nodes += [node("Add", ["a", "b"], "two"), node("Add", ["two", "c"], "three"), node("Conv", ["three", "w"], "out")]
    model = float_model(nodes, {"w": eye}, outputs=["out"], image=(1, 16, 8, 8))
    data = np.linspace(0, 4, 1024, dtype=np.float32).reshape(1, 16, 8, 8)
    made = quantise(model, {"image": data})
    [found] = InferenceSession(made.model, env=vta.get_env(), target="sim").run(None, {"image": data})
    assert np.abs(found - 3 * data).max() <= 0.35


def test_squeeze_and_excite_and_a_factor_on_the_left_are_quantised() -> None:
    rng = np.random.default_rng(1)
    weights = {
        "w": rng.standard_normal((16, 3, 3, 3)).astype(np.float32) / 5, "c": np.full((16, 1, 1), 0.5, np.float32),
        "v": rng.standard_normal((16, 16, 1, 1)).astype(np.float32) / 4,
    }  # fmt: skip
    nodes = [
        node("Conv", ["image", "w"], "x", pads=[1] * 4), node("Relu", ["x"], "r"), node("Mul", ["c", "r"], "scaled"),
        node("GlobalAveragePool", ["scaled"], "g"), node("Conv", ["g", "v"], "h"), node("Sigmoid", ["h"], "s"),
        node("Mul", ["scaled", "s"], "out"),
    ]  # fmt: skip
    made = quantise(float_model(nodes, weights, outputs=["out"]), {"image": DATA})
    assert made.report.score.cosine > 0.995


def test_a_model_without_layers_and_nodes_that_are_not_there_are_refused() -> None:
    with pytest.raises(QuantizeError, match=r"^no layer of the model can be quantised"):
        quantise(float_model([node("Relu", ["image"], "y")], {}, outputs=["y"]), {"image": DATA})
    with pytest.raises(QuantizeError, match=r"^the model has no node 'nothing' to keep in float; it has "):
        quantise(small_network(), {"image": DATA}, Options(keep=("nothing",)))
    with pytest.raises(CalibrationError, match=r"^the data have pictures, and the model takes 'image'"):
        quantise(small_network(), {"pictures": DATA})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"methods": ()}, "no method to find ranges; give some of min-max, percentile, mse, kl"),
        ({"percentile": 40.0}, "percentile must be above 50 and at most 100, not 40"),
        ({"floor": 1.5}, "floor is a cosine between 0 and 1, not 1.5"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(QuantizeError) as caught:
        Options(**options)
    assert str(caught.value) == sentence
