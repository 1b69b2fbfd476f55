"""A report in full: operators whose meaning moved from attributes to inputs, at every version where a form exists.

Models pass ONNX's checker; results are compared with numpy.
"""

import re
from typing import Any

import numpy as np
import onnx
import pytest

from tests.support.relay.float_models import float_model
from tests.support.relay.onnx_models import model_of, node
from vta.quantize import Options, quantise
from vta.relay.backend.session import InferenceSession
from vta.relay.interpreter import run
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import from_onnx

OPSETS = (6, 11, 12, 13, 17, 18)


def result(nodes: list[onnx.NodeProto], x: np.ndarray, opset: int, **weights: Any) -> Any:
    arrays = {name: np.asarray(value) for name, value in weights.items()}
    model = model_of(nodes, {"x": (x.dtype.name, x.shape)}, weights=arrays, opset=opset)
    if opset < 7:  # such files list constants among the inputs
        model.graph.input.extend(
            onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in model.graph.initializer
        )
        model.ir_version = 3
    found = run(from_onnx(model), [x])
    kind = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", kind, np.shape(found)))
    onnx.checker.check_model(model)
    return found


def with_axes(
    kind: str, axes: list[int], opset: int, since: int, **attributes: Any
) -> tuple[onnx.NodeProto, dict[str, Any]]:
    """Return a node with its axes as an attribute before ``since``, and as an input from then on."""
    if opset < since:
        return node(kind, ["x"], "y", axes=axes, **attributes), {}
    return node(kind, ["x", "axes"], "y", **attributes), {"axes": np.array(axes)}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("low", [0.0, None])
def test_br_121_clip(opset: int, low: float | None) -> None:
    x = np.array([-3, -1, 0, 5, 7, 9], np.float32)
    if opset < 11:
        attributes = {"max": 6.0} if low is None else {"min": low, "max": 6.0}
        found = result([node("Clip", ["x"], "y", **attributes)], x, opset)
    else:
        inputs = ["x", "" if low is None else "low", "high"]
        weights = {"high": np.float32(6)} if low is None else {"low": np.float32(low), "high": np.float32(6)}
        found = result([node("Clip", inputs, "y")], x, opset, **weights)
    np.testing.assert_array_equal(found, [-3, -1, 0, 5, 6, 6] if low is None else [0, 0, 0, 5, 6, 6])


@pytest.mark.parametrize("opset", [6, 11, 13])
def test_br_121_relu6_between_quantised_convolutions_is_on_the_accelerator(opset: int) -> None:
    rng = np.random.default_rng(6)
    attributes = {"min": 0.0, "max": 6.0} if opset < 11 else {}
    limits = [] if opset < 11 else ["low", "high"]
    nodes = [node("Conv", ["image", "w"], "a", pads=[1] * 4), node("Clip", ["a", *limits], "b", **attributes),
             node("Conv", ["b", "w"], "c", pads=[1] * 4)]  # fmt: skip
    weights = {"w": rng.standard_normal((16, 16, 3, 3)).astype(np.float32) / 4}
    if limits:
        weights |= {"low": np.array(0, np.float32), "high": np.array(6, np.float32)}
    data = 4 * rng.standard_normal((4, 16, 8, 8)).astype(np.float32)
    model = float_model(nodes, weights, image=("n", 16, 8, 8), outputs=["c"], opset=opset)
    session = InferenceSession(
        quantise(model, {"image": data}, Options(equalise=False)).model, {"image": (1, 16, 8, 8)}
    )
    assert session.built is not None
    [found] = session.run(None, {"image": data[:1]})
    real = run(from_onnx(model, {"n": 1}), [data[:1]])
    assert np.abs(found - real).max() < 0.05 * np.abs(real).max()
    devices = {each.node: each.on_device for each in session.runner.nodes}
    assert devices["a"]
    assert devices["c"]
    assert not any(name.startswith("b") and not where and "quantize" not in name for name, where in devices.items())


@pytest.mark.parametrize("opset", [11, 12, 13, 17, 18])
def test_br_122_reduce_mean(opset: int) -> None:
    mean, weights = with_axes("ReduceMean", [2, 3], opset, 18, keepdims=1)
    found = result([mean], np.arange(96, dtype=np.float32).reshape(2, 3, 4, 4), opset, **weights)
    np.testing.assert_array_equal(found, np.reshape([7.5, 23.5, 39.5, 55.5, 71.5, 87.5], (2, 3, 1, 1)))


@pytest.mark.parametrize("opset", [11, 12, 13, 17, 18])
def test_br_122_squeeze_and_unsqueeze(opset: int) -> None:
    x = np.arange(3, dtype=np.float32).reshape(1, 3, 1)
    squeeze, weights = with_axes("Squeeze", [0], opset, 13)
    np.testing.assert_array_equal(result([squeeze], x, opset, **weights), x[0])
    unsqueeze, weights = with_axes("Unsqueeze", [0], opset, 13)
    np.testing.assert_array_equal(result([unsqueeze], x[0], opset, **weights), x)


@pytest.mark.parametrize("opset", [6, 11, 12, 13, 17, 18])
@pytest.mark.parametrize("value", [None, 2.5])
def test_br_122_pad(opset: int, value: float | None) -> None:
    x = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2)
    pads = [0, 0, 0, 1, 0, 0, 2, 1]
    if opset < 11:
        attributes: dict[str, Any] = {"pads": pads} | ({} if value is None else {"value": value})
        found = result([node("Pad", ["x"], "y", mode="constant", **attributes)], x, opset)
    else:
        inputs = ["x", "pads"] if value is None else ["x", "pads", "value"]
        weights = {"pads": np.array(pads)} | ({} if value is None else {"value": np.float32(value)})
        found = result([node("Pad", inputs, "y")], x, opset, **weights)
    np.testing.assert_array_equal(found, np.pad(x, ((0, 0), (0, 0), (0, 2), (1, 1)), constant_values=value or 0))


@pytest.mark.parametrize("opset", [6, 11, 12, 13, 17, 18])
def test_br_122_dropout_is_nothing(opset: int) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    if opset < 12:
        found = result([node("Dropout", ["x"], "y", ratio=0.9)], x, opset)
    else:
        found = result([node("Dropout", ["x", "ratio"], "y")], x, opset, ratio=np.float32(0.9))
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize(("opset", "attributes"), [(6, {"is_test": 1}), (11, {}), (13, {}), (17, {"training_mode": 0})])
def test_br_122_batch_normalization(opset: int, attributes: dict[str, int]) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 3, 4, 4)).astype(np.float32)
    stats = {name: rng.uniform(0.5, 2, 3).astype(np.float32) for name in ("gamma", "beta", "mean", "var")}
    norm = node("BatchNormalization", ["x", *stats], "y", epsilon=0.01, **attributes)
    gamma, beta, mean, var = (stats[name].reshape(3, 1, 1) for name in stats)
    wanted = gamma * (x - mean) / np.sqrt(var + 0.01) + beta
    np.testing.assert_allclose(result([norm], x, opset, **stats), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "opset"), [("Upsample", 7), ("Upsample", 9), ("Resize", 10), ("Resize", 11), ("Resize", 18)]
)
def test_br_122_upsample_and_resize(kind: str, opset: int) -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    scales = np.array([1, 1, 2, 3], np.float32)
    if opset == 7:
        found = result([node(kind, ["x"], "y", mode="nearest", scales=scales.tolist())], x, opset)
    elif opset < 11:
        found = result([node(kind, ["x", "scales"], "y", mode="nearest")], x, opset, scales=scales)
    else:
        steps = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        weights = {"roi": np.zeros(0, np.float32), "scales": scales}
        found = result([node(kind, ["x", "roi", "scales"], "y", mode="nearest", **steps)], x, opset, **weights)
    np.testing.assert_array_equal(found, x.repeat(2, 2).repeat(3, 3))


@pytest.mark.parametrize("opset", [6, 11, 12, 13, 17, 18])
def test_br_122_split(opset: int) -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    inputs, attributes = (["x"], {"split": [1, 2, 3]}) if opset < 13 else (["x", "split"], {})
    split = onnx.helper.make_node("Split", inputs, ["a", "b", "c"], name="split", axis=1, **attributes)
    parts = result([split, node("Neg", ["b"], "y")], x, opset, **({} if opset < 13 else {"split": np.array([1, 2, 3])}))
    np.testing.assert_array_equal(parts, -x[:, 1:3])


@pytest.mark.parametrize(
    ("made", "opset", "text"),
    [
        (node("ReduceMean", ["x"], "y", axes=[7]), 13, "mean (from ReduceMean 'y')"),
        (node("BatchNormalization", ["x", "w", "w", "w", "w"], "y", training_mode=1), 17, "BatchNormalization 'y'"),
        (node("Clip", ["x"], "y", min=0.0), 13, "Clip 'y'"),
        (node("Upsample", ["x"], "y", scales=[1.0, 1.0, 2.0, 2.0]), 6, "Upsample 'y'"),
    ],
)
def test_forms_that_are_not_known_are_refused_by_operator_and_node(made: onnx.NodeProto, opset: int, text: str) -> None:
    model = model_of([made], {"x": ("float32", (1, 2, 3, 3))}, weights={"w": np.ones(2, np.float32)}, opset=opset)
    with pytest.raises(OnnxError, match=f"^{re.escape(text)}: ") as caught:
        from_onnx(model)
    assert "\n" not in str(caught.value)


def test_a_version_that_is_not_known_is_refused() -> None:
    model = model_of([node("Relu", ["x"], "y")], {"x": ("float32", (1,))})
    model.opset_import[0].version = 999
    with pytest.raises(OnnxError, match=r"999"):
        from_onnx(model)
