"""Quantised operators of ONNX and onnxruntime, imported as what they mean: onnxruntime's numbers."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from runtime.executor.operators.names import Op
from tests.support.relay.onnx_models import model_of, node
from tests.support.relay.quantised_models import expected
from vta.relay.integer import integer_network
from vta.relay.interpreter import run
from vta.relay.ir.traverse import calls
from vta.relay.onnx.importer import from_onnx

Array = npt.NDArray[np.generic]
RNG = np.random.default_rng(11)
DATA = RNG.integers(-128, 128, (1, 4, 6, 5)).astype(np.int8)
OTHER = RNG.integers(-128, 128, (1, 4, 6, 5)).astype(np.int8)
SCALES: Mapping[str, Array] = {
    "xs": np.float32(0.05), "xz": np.int8(3), "ys": np.float32(0.11), "yz": np.int8(-7), "ws": np.float32(0.02),
    "wz": np.int8(0), "zs": np.float32(0.09), "zz": np.int8(5),
}  # fmt: skip
WEIGHTS = RNG.integers(-127, 128, (3, 4, 3, 3)).astype(np.int8)
MATRIX = np.random.default_rng(12).integers(-127, 128, (5, 7)).astype(np.int8)


def microsoft(kind: str, inputs: list[str], **attributes: object) -> onnx.NodeProto:
    return onnx.helper.make_node(kind, inputs, ["y"], name="y", domain="com.microsoft", **attributes)


CASES: dict[str, tuple[onnx.NodeProto, dict[str, Array]]] = {
    "QLinearConv": (
        node("QLinearConv", ["x", "xs", "xz", "w", "wsc", "wzc", "ys", "yz", "b"], "y", pads=[1] * 4),
        {"w": WEIGHTS, "wsc": np.array([0.01, 0.02, 0.004], np.float32), "wzc": np.zeros(3, np.int8),
         "b": np.array([100, -200, 3], np.int32)},
    ),
    "ConvInteger": (node("ConvInteger", ["x", "w", "xzu", "wzu"], "y"),
                    {"w": WEIGHTS, "xzu": np.int8(3), "wzu": np.int8(0)}),
    "QLinearMatMul": (
        node("QLinearMatMul", ["x", "xs", "xz", "m", "ws", "wz", "ys", "yz"], "y"), {"m": MATRIX},
    ),
    "MatMulInteger": (node("MatMulInteger", ["x", "m", "xzu", "wzu"], "y"),
                      {"m": MATRIX, "xzu": np.int8(3), "wzu": np.int8(0)}),
    "QLinearSoftmax": (
        microsoft("QLinearSoftmax", ["x", "xs", "xz", "ss", "sz"], axis=-1, opset=13),
        {"ss": np.float32(1 / 256), "sz": np.int8(-128)},
    ),
    "QLinearAdd": (microsoft("QLinearAdd", ["x", "xs", "xz", "o", "zs", "zz", "ys", "yz"]), {"o": OTHER}),
    "QLinearMul": (microsoft("QLinearMul", ["x", "xs", "xz", "o", "zs", "zz", "ys", "yz"]), {"o": OTHER}),
    "QLinearConcat": (
        microsoft("QLinearConcat", ["ys", "yz", "x", "xs", "xz", "o", "zs", "zz"], axis=1), {"o": OTHER},
    ),
    "QLinearAveragePool": (
        microsoft("QLinearAveragePool", ["x", "xs", "xz", "ys", "yz"], kernel_shape=[2, 2], strides=[2, 1]), {},
    ),
    "QLinearGlobalAveragePool": (microsoft("QLinearGlobalAveragePool", ["x", "xs", "xz", "ys", "yz"]), {}),
    "QLinearSigmoid": (microsoft("QLinearSigmoid", ["x", "xs", "xz", "ys", "yz"]), {}),
    "QLinearLeakyRelu": (microsoft("QLinearLeakyRelu", ["x", "xs", "xz", "ys", "yz"], alpha=0.2), {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_an_operator_on_integers_is_within_one_of_onnxruntimes(kind: str) -> None:
    made, weights = CASES[kind]
    model = model_of([made], {"x": ("int8", DATA.shape)}, weights={**SCALES, **weights})
    if kind == "MatMulInteger":  # onnxruntime has these two for uint8 alone: the definition is the judge
        wanted: Array = ((DATA.astype(int) - 3) @ MATRIX.astype(int)).astype(np.int32)
    elif kind == "ConvInteger":
        x = np.pad(DATA.astype(int) - 3, ((0, 0),) * 4)
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        wanted = np.einsum("nchwij,ocij->nohw", windows, WEIGHTS.astype(int)).astype(np.int32)
    else:
        [wanted] = expected(model, {"x": DATA})
    found = run(from_onnx(model), [DATA])
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    difference = np.abs(found.astype(int) - wanted.astype(int))
    assert difference.max() <= 1
    assert (difference != 0).mean() <= 0.01


def test_qgemm_with_a_bias_and_scales_for_channels() -> None:
    weights = {
        **SCALES, "w": RNG.integers(-127, 128, (5, 8)).astype(np.int8), "wsc": np.full(5, 0.01, np.float32),
        "wzc": np.zeros(5, np.int8), "b": RNG.integers(-99, 99, 5).astype(np.int32),
    }  # fmt: skip
    gemm = microsoft("QGemm", ["x", "xs", "xz", "w", "wsc", "wzc", "b", "ys", "yz"], transB=1)
    model = model_of([gemm], {"x": ("int8", (3, 8))}, weights=weights)
    x = DATA.reshape(-1)[:24].reshape(3, 8)
    difference = np.abs(run(from_onnx(model), [x]).astype(int) - expected(model, {"x": x})[0].astype(int))  # type: ignore[union-attr]
    assert difference.max() <= 1


def test_scales_for_blocks_and_those_that_depend_on_the_data_are_not_for_integers_but_run() -> None:
    dynamic = onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"], name="d")
    blocked = node("DequantizeLinear", ["x", "s2"], "y", block_size=2)
    rng = np.random.default_rng(4)
    for made, dtype in ((dynamic, "float32"), (blocked, "int8")):
        model = model_of([made], {"x": (dtype, (4, 4))}, weights={"s2": rng.random((4, 2), np.float32)})
        x = (50 * rng.standard_normal((4, 4))).astype(dtype)
        difference = run(from_onnx(model), [x]).astype(float) - expected(model, {"x": x})[0].astype(float)
        assert np.abs(difference).max() <= (1 if made is dynamic else 1e-6)


@pytest.mark.parametrize("scale", [np.inf, np.nan])
def test_a_scale_that_is_no_number_makes_no_integers(scale: float) -> None:
    """Whatever onnxruntime makes of it: its node is left to it, and the others have no traceback."""
    weights = {"s": np.float32(scale), "z": np.int8(0)}
    pairs = [node("DequantizeLinear", [name, "s", "z"], f"{name}.real") for name in "ab"]
    nodes = [*pairs, node("Add", ["a.real", "b.real"], "sum"), node("QuantizeLinear", ["sum", "s", "z"], "y")]
    function = integer_network(from_onnx(model_of(nodes, {"a": ("int8", (4,)), "b": ("int8", (4,))}, weights=weights)))
    assert not {Op.RESCALE, Op.QNN_ADD, Op.DEQUANTIZE} & {each.callee for each in calls(function)}
