"""``relay.quantize``: ranges, what stays float, and sums that saturate instead of wrapping."""

import numpy as np
import pytest

import vta
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError
from tests.support.relay.float_models import float_model, node, small_network
from vta.relay.front.build import build
from vta.relay.front.frontend import from_onnx
from vta.relay.front.graph_executor import GraphModule
from vta.relay.front.quantize import current_qconfig, qconfig, quantize
from vta.relay.integer.pipeline import integer_network
from vta.relay.interpreter import run
from vta.relay.ir.module import IRModule
from vta.relay.ir.traverse import calls

RNG = np.random.default_rng(4)
DATA = RNG.standard_normal((8, 3, 8, 8)).astype(np.float32)


def module(model: object, shape: dict[str, tuple[int, ...]] | None = None) -> IRModule:
    return from_onnx(model, shape or {"image": (1, 3, 8, 8)})[0]


def ops(made: IRModule) -> list[object]:
    return [each.callee for each in calls(integer_network(made["main"]))]


def on_sim(made: IRModule, *inputs: np.ndarray) -> np.ndarray:
    env = vta.get_env()
    runner = GraphModule(build(made, {"cpu": "llvm", "ext_dev": env.target})["default"](vta.nd.ext_dev(0)))
    runner.run(**dict(zip([param.name for param in made["main"].params], inputs, strict=True)))
    return runner.get_output(0).numpy()


def test_calibrated_graphs_are_close_and_have_the_same_bits_on_the_device() -> None:
    mod = module(small_network())
    with qconfig(skip_conv_layers=None, skip_dense_layer=False, weight_scale="max"):
        made = quantize(mod, dataset=[{"image": DATA[at : at + 1]} for at in range(6)])
    assert ops(made).count(Op.QNN_CONV2D) == 3
    assert ops(made).count(Op.QNN_DENSE) == 1
    assert Op.CONV2D not in ops(made)
    for image in DATA[6:, None]:
        real, found = run(mod, [image]), on_sim(made, image)
        assert (real * found).sum() / np.linalg.norm(real) / np.linalg.norm(found) > 0.99
        np.testing.assert_array_equal(found, run(integer_network(made["main"]), [image]))


def test_br_134_skipping_the_first_convolution_skips_no_dense_layer() -> None:
    with qconfig(skip_conv_layers=[0], skip_dense_layer=False):
        found = ops(quantize(module(small_network())))
    assert found.count(Op.CONV2D) == 1
    assert found.count(Op.QNN_CONV2D) == 2
    assert found.count(Op.QNN_DENSE) == 1
    assert Op.DENSE not in found
    assert ops(quantize(module(small_network()))).count(Op.DENSE) == 1  # TVM's default


def test_br_137_batch_norms_are_folded_whatever_the_level_of_optimisation_is() -> None:
    with vta.PassContext(opt_level=0):
        found = ops(quantize(module(small_network())))
    assert Op.BATCH_NORM not in found
    assert Op.MULTIPLY not in found


@pytest.mark.parametrize("last", ["conv", "average", "none"])
def test_br_132_a_sum_of_eight_and_more_saturates_and_does_not_wrap(last: str) -> None:
    eye = np.eye(16, dtype=np.float32).reshape(16, 16, 1, 1)
    nodes = [node("Conv", ["l", "w"], "a"), node("Conv", ["r", "w"], "b"), node("Add", ["a", "b"], "out")]
    if last == "conv":
        nodes += [node("Conv", ["out", "w"], "c")]
    if last == "average":
        nodes += [node("GlobalAveragePool", ["out"], "c")]
    model = float_model(nodes, {"w": eye}, image=(1, 16, 8, 8), outputs=[nodes[-1].output[0]], inputs=("l", "r"))
    mod = from_onnx(model)[0]
    data = np.linspace(0, 4, 1024, dtype=np.float32).reshape(1, 16, 8, 8)
    with qconfig(skip_conv_layers=None):
        found = on_sim(quantize(mod), data, data)
    exact = run(mod, [data, data])
    assert found.min() >= 0
    assert np.abs(found - exact).max() <= 0.25
    with qconfig(skip_conv_layers=None, global_scale=4.0):
        narrow = on_sim(quantize(mod), data, data)
    assert narrow.min() >= 0
    assert np.abs(narrow - np.minimum(2 * data, 127 / 32).mean((2, 3), keepdims=True)).max() < 0.1 or last != "average"


def test_biases_have_32_bits_and_are_no_powers_of_two() -> None:
    weights = {"w": np.zeros((16, 3, 1, 1), np.float32), "b": np.linspace(-7, 7, 16).astype(np.float32)}
    mod = module(float_model([node("Conv", ["image", "w", "b"], "out")], weights, outputs=["out"]))
    with qconfig(skip_conv_layers=None):
        found = on_sim(quantize(mod), DATA[:1])
    assert np.abs(found[0, :, 0, 0] - weights["b"]).max() <= 8 / 128 / 2 + 0.02


def test_settings_hold_inside_of_with_and_wrong_ones_are_refused() -> None:
    assert current_qconfig().global_scale == 8.0
    with qconfig(global_scale=23.0, round_for_shift=True, store_lowbit_output=False):
        assert current_qconfig().global_scale == 23.0
    assert current_qconfig().global_scale == 8.0
    for settings, sentence in (
        ({"global_scal": 1.0}, "qconfig: there is no setting 'global_scal'; did you mean 'global_scale'?"),
        ({"nbit_weight": 4}, "qconfig: inputs and weights have 8 bits, not 8 and 4"),
        (
            {"calibrate_mode": "magic"},
            "qconfig: calibrate_mode is one of global_scale, kl_divergence, percentile, not 'magic'",
        ),
        ({"weight_scale": "min"}, "qconfig: weight_scale is 'power2' or 'max', not 'min'"),
        ({"global_scale": 0}, "qconfig: global_scale is positive, not 0"),
    ):
        with pytest.raises(RelayError) as caught:
            qconfig(**settings)
        assert str(caught.value) == sentence
    with pytest.raises(RelayError, match=r"^quantize: the dataset is empty"):
        quantize(module(small_network()), dataset=[])
