"""The walk over a graph: shapes, names, order, graphs within graphs; and what is refused."""

import re

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.support.relay.onnx_models import model_of, node
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Call
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import from_onnx

X = {"x": ("float32", (2, 3))}


def says(text: str) -> str:
    return f"^{re.escape(text)}$"


def refused(model: onnx.ModelProto, text: str, **options: object) -> None:
    with pytest.raises(OnnxError, match=says(text)):
        from_onnx(model, **options)  # type: ignore[arg-type]


def test_calls_know_their_nodes() -> None:
    function = from_onnx(model_of([node("Relu", ["x"], "act")], X))
    assert isinstance(function.body, Call)
    assert [str(origin) for origin in function.body.origins] == ["Relu 'act'"]
    assert [param.name for param in function.params] == ["x"]


def test_open_dimensions_need_a_size_by_name_or_a_shape_by_input() -> None:
    model = model_of([node("Relu", ["x"], "y")], {"x": ("float32", ("n", 3))})
    assert from_onnx(model, {"n": 5}).params[0].type == from_onnx(model, {"x": (5, 3)}).params[0].type
    refused(
        model, "input 'x': dimension n is not known; give it a size, as shapes={'n': 1} (vta's option: --shape n=1)"
    )
    refused(model, "input 'x': the model says (?n, 3), and shape (5, 4) was given", shapes={"x": (5, 4)})
    refused(
        model,
        "a size was given for 'm', which is neither an input nor one of their dimensions",
        shapes={"m": 1, "n": 2},
    )


def test_inputs_can_become_constants() -> None:
    model = model_of([node("Reshape", ["x", "shape"], "y")], {**X, "shape": ("int64", (1,))})
    refused(model, "Reshape 'y': input 1 depends on the model's inputs, and it must be constant here")
    function = from_onnx(model, constants={"shape": np.array([6])})
    assert np.shape(run(function, [np.zeros((2, 3), np.float32)])) == (6,)
    refused(model, "a constant was given for 'z', which is no input", constants={"z": np.array([6])})


def test_shape_arithmetic_is_folded() -> None:
    nodes = [
        node("Shape", ["x"], "shape"),
        node("Gather", ["shape", "zero"], "rows"),
        node("Unsqueeze", ["rows", "axes"], "row"),
        node("Concat", ["row", "minus"], "target", axis=0),
        node("Reshape", ["x", "target"], "y"),
    ]
    weights = {"zero": np.array(0), "axes": np.array([0]), "minus": np.array([-1])}
    function = from_onnx(model_of(nodes, {"x": ("float32", (2, 3, 4))}, weights=weights))
    assert np.shape(run(function, [np.zeros((2, 3, 4), np.float32)])) == (2, 12)


def test_br_128_an_empty_name_is_an_input_that_was_left_out() -> None:
    nodes = [node("Pad", ["x", "pads", "", "axes"], "y")]
    weights = {"pads": np.array([1, 1]), "axes": np.array([-1])}
    result = run(from_onnx(model_of(nodes, X, weights=weights)), [np.ones((2, 3), np.float32)])
    np.testing.assert_array_equal(result, [[0, 1, 1, 1, 0]] * 2)


def test_br_128_one_shape_serves_two_nodes() -> None:
    nodes = [node("Reshape", ["x", "s"], "a"), node("Reshape", ["a", "s"], "b")]
    function = from_onnx(model_of(nodes, X, weights={"s": np.array([3, 2])}))
    assert np.shape(run(function, [np.zeros((2, 3), np.float32)])) == (3, 2)


@pytest.mark.parametrize("opset", [6, 11, 13])
def test_br_121_clip_takes_attributes_or_inputs(opset: int) -> None:
    x = np.array([-3, -1, 0, 5, 7, 9], np.float32)
    given = {"x": ("float32", (6,))}
    if opset < 11:
        model = model_of([node("Clip", ["x"], "y", min=0.0, max=6.0)], given, opset=max(opset, 7))
    else:
        weights = {"low": np.float32(0), "high": np.float32(6)}
        model = model_of([node("Clip", ["x", "low", "high"], "y")], given, weights=weights, opset=opset)
    np.testing.assert_array_equal(run(from_onnx(model), [x]), [0, 0, 0, 5, 6, 6])


def test_br_121_clip_without_a_lower_bound() -> None:
    model = model_of([node("Clip", ["x", "", "high"], "y")], {"x": ("float32", (3,))}, weights={"high": np.float32(6)})
    np.testing.assert_array_equal(run(from_onnx(model), [np.array([-3, 5, 9], np.float32)]), [-3, 5, 6])


def test_br_122_reduce_mean_of_an_old_model_has_its_axes_as_an_attribute() -> None:
    nodes = [node("ReduceMean", ["x"], "y", axes=[2, 3], keepdims=1)]
    model = model_of(nodes, {"x": ("float32", (2, 3, 4, 4))}, opset=11)
    result = run(from_onnx(model), [np.arange(96, dtype=np.float32).reshape(2, 3, 4, 4)])
    np.testing.assert_array_equal(result, 7.5 + 16 * np.arange(6).reshape(2, 3, 1, 1))


@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_br_125_gemm_with_factors_and_an_input_as_its_third_operand(transposed: tuple[int, int]) -> None:
    rng = np.random.default_rng(125)
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3), (3, 4), (2, 4)))
    given = {"a": a.T if transposed[0] else a, "b": b.T if transposed[1] else b, "c": c}
    gemm = node("Gemm", ["a", "b", "c"], "y", alpha=2.0, beta=3.0, transA=transposed[0], transB=transposed[1])
    model = model_of([gemm], {name: ("float32", value.shape) for name, value in given.items()})
    np.testing.assert_allclose(run(from_onnx(model), given), 2 * a @ b + 3 * c, rtol=1e-5)


@pytest.mark.parametrize(("axis", "shape"), [(0, (1, 120)), (1, (2, 60)), (2, (6, 20)), (-1, (24, 5))])
def test_br_126_flatten_follows_its_axis(axis: int, shape: tuple[int, int]) -> None:
    model = model_of([node("Flatten", ["x"], "y", axis=axis)], {"x": ("float32", (2, 3, 4, 5))})
    assert np.shape(run(from_onnx(model), [np.zeros((2, 3, 4, 5), np.float32)])) == shape


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
def test_br_130_places_are_int64(kind: str) -> None:
    result = run(from_onnx(model_of([node(kind, ["x"], "y")], X)), [np.zeros((2, 3), np.float32)])
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.int64


def test_br_130_places_of_the_largest_are_int64() -> None:
    nodes = [helper.make_node("TopK", ["x", "k"], ["values", "y"], name="top", axis=1)]
    model = model_of(nodes, X, weights={"k": np.array([2])}, outputs=["y"])
    result = run(from_onnx(model), [np.array([[1, 3, 2], [6, 4, 5]], np.float32)])
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, [[1, 2], [0, 2]])


def test_br_131_round_has_ties_to_even() -> None:
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
    result = run(from_onnx(model_of([node("Round", ["x"], "y")], {"x": ("float32", (6,))})), [x])
    np.testing.assert_array_equal(result, [-2, -2, -0.0, 0, 2, 2])


def test_br_139_scales_go_along_their_axis() -> None:
    weights = {"s": np.array([0.5, 2, 10], np.float32), "z": np.array([0, 1, -1], np.int8)}
    model = model_of([node("DequantizeLinear", ["x", "s", "z"], "y", axis=1)], {"x": ("int8", (2, 3))}, weights=weights)
    result = run(from_onnx(model), [np.array([[1, 1, 1], [4, 4, 4]], np.int8)])
    np.testing.assert_array_equal(result, [[0.5, 0, 20], [2, 6, 50]])


def test_br_139_one_axis_has_one_scale_or_one_each() -> None:
    for scales, wanted in (([0.5], [1, 2, 3]), ([0.5, 2, 10], [1, 8, 60])):
        weights = {"s": np.array(scales if len(scales) > 1 else scales[0], np.float32)}
        given = {"x": ("int8", (3,))}
        model = model_of([node("DequantizeLinear", ["x", "s"], "y", axis=0)], given, weights=weights)
        np.testing.assert_array_equal(run(from_onnx(model), [np.array([2, 4, 6], np.int8)]), wanted)


def test_br_139_a_layer_rescales_by_its_output_channels() -> None:
    scales = np.array([0.5, 1, 0.25], np.float32)
    weights = {"xs": np.float32(1), "xz": np.int8(0), "w": np.full((3, 1, 1, 1), 8, np.int8), "ws": scales,
               "wz": np.zeros(3, np.int8), "ys": np.float32(2), "yz": np.int8(1)}  # fmt: skip
    made = node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], "y")
    model = model_of([made], {"x": ("int8", (2, 1, 1, 2))}, weights=weights)
    x = np.array([1, 2, 3, -1], np.int8).reshape(2, 1, 1, 2)
    wanted = x * 8 * scales.reshape(1, 3, 1, 1) / 2 + 1
    np.testing.assert_array_equal(run(from_onnx(model), [x]), wanted)


def test_a_branch_that_is_known_is_written_out() -> None:
    branches = [
        helper.make_graph([node(kind, ["x"], "out")], kind, [], [helper.make_tensor_value_info("out", 1, None)])
        for kind in ("Relu", "Neg")
    ]
    choice = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branches[0], else_branch=branches[1])
    for condition, expected in ((True, 0.0), (False, 1.0)):
        function = from_onnx(model_of([choice], X, weights={"c": np.array(condition)}))
        np.testing.assert_array_equal(run(function, [np.full((2, 3), -1, np.float32)]), np.full((2, 3), expected))


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([node("Relu", ["b"], "a"), node("Relu", ["a"], "b")],
         "Relu 'a': it reads 'b', which nothing before it makes; the graph may have a cycle"),
        ([node("Relu", ["x"], "x")], "Relu 'x': it makes 'x', which was made before"),
        ([node("Rellu", ["x"], "y")], "Rellu 'y': this operator is not supported; is Relu meant?"),
        ([node("Softmax", ["x"], "y", axis=1, odd=3)],
         "Softmax 'y': attribute odd is not supported; export the model without it"),
        ([node("Softmax", ["x"], "y", axis=1.5)], "Softmax 'y': attribute axis is of type int in ONNX, and not here"),
        ([node("Concat", ["x"], "y")], "Concat 'y': attribute axis is missing"),
        ([node("MatMul", ["x", ""], "y")], "MatMul 'y': input 1 is missing"),
        ([helper.make_node("MaxPool", ["x"], ["y", "i"], name="p", kernel_shape=[2, 2])],
         "MaxPool 'p': its data have 2 dimensions, and pooling of images, which have 4, is supported"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_refused_by_the_nodes_name(nodes: list[onnx.NodeProto], text: str) -> None:
    refused(model_of(nodes, X), text)


def test_a_type_that_does_not_fit_is_refused_by_the_nodes_name() -> None:
    model = model_of([node("Add", ["x", "w"], "sum")], X, weights={"w": np.zeros(4, np.float32)})
    with pytest.raises(OnnxError, match=r"^add \(from Add 'sum'\): "):
        from_onnx(model)
