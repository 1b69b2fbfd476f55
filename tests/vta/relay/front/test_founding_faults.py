"""Faults of the founding document's flow: from ONNX or Relay, quantised, packed, built and run on the accelerator.

Each network is one that upstream's flow computed wrongly, refused, or ran instruction by instruction.
"""

import numpy as np
import onnx
import pytest

import vta
from runtime.executor.network import DeviceStep
from runtime.executor.operators.names import Op
from tests.support.relay.float_models import float_model, node
from vta import graph_executor, relay
from vta.relay.front.build import Factory
from vta.relay.integer.pipeline import integer_network
from vta.relay.interpreter import run
from vta.relay.ir.traverse import calls
from vta.top import graph_pack

RNG = np.random.default_rng(13)


def weight(*shape: int, gain: float = 1.0) -> np.ndarray:
    return (gain * RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def image(*shape: int) -> np.ndarray:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def quantised(
    mod: relay.IRModule, data: list[dict[str, np.ndarray]] | None = None, **settings: object
) -> relay.Function:
    with relay.quantize.qconfig(**{"skip_conv_layers": None, "skip_dense_layer": False, **settings}):
        function: relay.Function = relay.quantize.quantize(mod, dataset=data)["main"]
    return function


def packed(function: relay.Function, start: str = "nn.conv2d", stop: str | None = None) -> relay.Function:
    env = vta.get_env()
    return graph_pack(function, env.BATCH, env.BLOCK_OUT, env.WGT_WIDTH, start_name=start, stop_name=stop)


def built(function: relay.Function, level: int = 3) -> Factory:
    env = vta.get_env()
    with vta.build_config(opt_level=level, disabled_pass={"AlterOpLayout"}):
        return relay.build(function, {"cpu": env.target_vta_cpu, "ext_dev": env.target})


def on_device(factory: Factory, **inputs: np.ndarray) -> np.ndarray:
    module = graph_executor.GraphModule(factory["default"](vta.nd.ext_dev(0), vta.nd.cpu(0)))
    module.run(**inputs)
    return module.get_output(0).numpy()


def checked(function: relay.Function, level: int = 3, **inputs: np.ndarray) -> np.ndarray:
    """Return what the accelerator computes; it has the bits of the integer graph."""
    factory = built(function, level)
    found = on_device(factory, **inputs)
    np.testing.assert_array_equal(found, run(factory.built.function, inputs))
    return found


def from_onnx(model: onnx.ModelProto, shape: tuple[int, ...]) -> relay.IRModule:
    return relay.frontend.from_onnx(model, {"image": shape})[0]


@pytest.mark.parametrize("shift", [14, 15, 16, 17, 20, 23])
def test_rounding_constants_of_shifts_of_16_and_more_keep_their_bits(shift: int) -> None:
    """The last weight scale is a power of two, so that sums are shifted by exactly ``shift``."""
    inputs = 3 * (1 << max(4, shift - 13))
    cells = RNG.integers(0, 128, (16, inputs, 1, 1)) * np.arange(1, 17).reshape(16, 1, 1, 1) // 16
    cells[:, 0] = 127  # settles the scale
    shape = (1, inputs, 3, 3)
    model = float_model([node("Conv", ["image", "w"], "out")], {"w": np.ldexp(cells, -shift).astype(np.float32)},
                        image=shape, outputs=["out"])  # fmt: skip
    data = RNG.integers(-40, 128, shape) / 16
    found = checked(packed(quantised(from_onnx(model, shape))), image=data.astype(np.float32))
    sums = np.einsum("oi,ihw->ohw", cells[:, :, 0, 0], (data[0] * 16).astype(np.int64))
    wanted = np.clip(np.floor(sums / 2.0**shift + 0.5), -128, 127)
    assert len(np.unique(wanted)) > 1
    assert np.abs(sums / 2.0**shift - np.floor(sums / 2.0**shift)).max() >= 0.5  # something to round up
    np.testing.assert_array_equal(found[0] * 16, wanted)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("kind", ["ReduceMean", "GlobalAveragePool"])
def test_networks_that_end_in_a_mean_are_packed_up_to_it(kind: str, keepdims: int) -> None:
    shape = (1, 16, 9, 7)
    mean = node("ReduceMean", ["relu"], "mean", axes=[2, 3], keepdims=keepdims) if kind == "ReduceMean" else node(
        "GlobalAveragePool", ["relu"], "mean"
    )  # fmt: skip
    nodes = [node("Conv", ["image", "w"], "conv", pads=[1] * 4), node("Relu", ["conv"], "relu"), mean,
             node("Flatten", ["mean"], "flat"), node("Gemm", ["flat", "d", "b"], "out", transB=1)]  # fmt: skip
    weights = {"w": weight(20, 16, 3, 3), "d": weight(7, 20, gain=3), "b": weight(7, 1)[:, 0]}
    mod = from_onnx(float_model(nodes, weights, image=shape, outputs=["out"]), shape)
    data = image(*shape)
    function = quantised(mod, [{"image": data}])
    stop = "mean" if kind == "ReduceMean" else "nn.global_avg_pool2d"
    found, real = checked(packed(function, stop=stop), image=data), run(mod["main"], [data])
    assert Op.MEAN not in [each.callee for each in calls(integer_network(function))]
    assert (found * real).sum() / np.linalg.norm(found) / np.linalg.norm(real) > 0.999


def test_convolutions_that_do_not_say_their_channels_are_packed() -> None:
    x = relay.var("image", shape=(1, 16, 8, 8))
    made = relay.nn.conv2d(x, relay.const(weight(24, 16, 3, 3)), padding=(1, 1))
    made = relay.nn.conv2d(relay.nn.relu(made), relay.const(weight(5, 24, 1, 1)))
    plain = relay.IRModule.from_expr(relay.Function([x], made))
    data = image(1, 16, 8, 8)
    found, real = checked(packed(quantised(plain, [{"image": data}])), image=data), run(plain["main"], [data])
    assert found.shape == (1, 5, 8, 8)
    assert np.abs(found - real).max() < 0.05 * np.abs(real).max()


@pytest.mark.parametrize("way", ["conv", "bias_add", "add", "batch norm"])
def test_biases_are_on_the_accelerator_at_every_level_of_optimisation(way: str) -> None:
    x = relay.var("image", shape=(1, 16, 8, 8))
    bias, scale = weight(16, 1, gain=3)[:, 0], RNG.uniform(0.5, 2, 16).astype(np.float32)
    conv = relay.nn.conv2d(x, relay.const(weight(16, 16, 3, 3)), padding=(1, 1), channels=16, kernel_size=(3, 3))
    match way:
        case "bias_add":
            conv = relay.nn.bias_add(conv, relay.const(bias))
        case "add":
            conv = relay.add(conv, relay.const(bias.reshape(16, 1, 1)))
        case "batch norm":
            stats = (scale, bias, bias[::-1].copy(), scale[::-1].copy())
            conv = relay.nn.batch_norm(conv, *(relay.const(each) for each in stats))[0]
        case _:
            nodes = [node("Conv", ["image", "w", "b"], "out", pads=[1] * 4)]
            weights = {"w": weight(16, 16, 3, 3), "b": bias}
            model = float_model(nodes, weights, image=(1, 16, 8, 8), outputs=["out"])
    mod = from_onnx(model, (1, 16, 8, 8)) if way == "conv" else relay.IRModule.from_expr(relay.Function([x], conv))
    data = image(1, 16, 8, 8)
    real, results = run(mod["main"], [data]), []
    for level in range(4):
        with vta.PassContext(opt_level=level):
            function = quantised(mod, [{"image": data}])
        ops = {each.callee for each in calls(integer_network(function))}
        assert not ops & {Op.CONV2D, Op.BIAS_ADD, Op.BATCH_NORM, Op.MULTIPLY, Op.ADD}, level
        results.append(checked(packed(function), level, image=data))
    for found in results:
        np.testing.assert_array_equal(found, results[0])
    assert np.abs(results[0] - real).max() < 0.03 * np.abs(real).max()


@pytest.mark.parametrize("skipped", [None, [0], [1]])
def test_a_first_convolution_whose_weights_another_one_shares(skipped: list[int] | None) -> None:
    nodes = [node("Conv", ["image", "w"], "first", pads=[1] * 4), node("Relu", ["first"], "relu"),
             node("MaxPool", ["relu"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", ["pool", "w"], "second", pads=[1] * 4), node("Relu", ["second"], "out")]  # fmt: skip
    mod = from_onnx(float_model(nodes, {"w": weight(16, 16, 3, 3, gain=2)}, image=(1, 16, 8, 8), outputs=["out"]),
                    (1, 16, 8, 8))  # fmt: skip
    data = image(1, 16, 8, 8)
    function = quantised(mod, [{"image": data}], skip_conv_layers=skipped)
    ops = [each.callee for each in calls(integer_network(function))]
    assert ops.count(Op.CONV2D) == len(skipped or ())
    assert ops.count(Op.QNN_CONV2D) == 2 - len(skipped or ())
    found, real = checked(packed(function, start="nn.max_pool2d"), image=data), run(mod["main"], [data])
    assert np.abs(found - real).max() < 0.05 * np.abs(real).max()


def test_adds_are_done_by_the_tile_and_not_by_the_vector() -> None:
    """Upstream's additions of ResNet-18 were one loop over vectors: 330,702 instructions for the network."""
    shape = (1, 64, 56, 56)
    nodes = [node("Relu", ["image"], "x"), node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "b"),
             node("MaxPool", ["b"], "c", kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1]),
             node("Add", ["b", "c"], "d"), node("Relu", ["d"], "out")]  # fmt: skip
    model = float_model(nodes, {"w": weight(64, 64, 1, 1)}, image=shape, outputs=["out"])
    data = image(*shape)
    factory = built(packed(quantised(from_onnx(model, shape))))
    vectors = 64 * 56 * 56 // 16
    steps = {step.node: step for step in factory.network.steps if isinstance(step, DeviceStep)}
    counts = {name: sum(len(launch) for launch in step.launches) for name, step in steps.items()}
    assert {"a", "c"} <= counts.keys()  # the addition is done where the pool is
    assert sum(counts.values()) < vectors / 4  # upstream's addition alone took one for each vector
    np.testing.assert_array_equal(on_device(factory, image=data), run(factory.built.function, [data]))


@pytest.mark.parametrize("names", [("cpu", "ext_dev"), ("ext_dev", "cpu")])
def test_a_build_for_two_devices_runs_parts_on_each(names: tuple[str, str]) -> None:
    env = vta.get_env()
    nodes = [node("Conv", ["image", "w"], "a", pads=[1] * 4), node("Relu", ["a"], "b"),
             node("MaxPool", ["b"], "p", kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", ["p", "v"], "c"), node("GlobalAveragePool", ["c"], "out")]  # fmt: skip
    weights = {"w": weight(16, 3, 3, 3, gain=2), "v": weight(16, 16, 1, 1, gain=2)}
    mod = from_onnx(float_model(nodes, weights, image=(1, 3, 8, 8), outputs=["out"]), (1, 3, 8, 8))
    data = image(1, 3, 8, 8)
    int8 = quantised(mod, [{"image": data}], skip_conv_layers=[0])
    function = packed(int8, "nn.max_pool2d", "nn.global_avg_pool2d")
    targets = {"cpu": env.target_vta_cpu, "ext_dev": env.target}
    with vta.build_config(opt_level=3, disabled_pass={"AlterOpLayout"}):
        graph, library, params = relay.build(function, {name: targets[name] for name in names})
    devices = {"cpu": vta.nd.cpu(0), "ext_dev": vta.nd.ext_dev(0)}
    module = graph_executor.create(graph, library, [devices[name] for name in names])
    module.set_input(**params)
    module.run(image=data)
    found, real = module.get_output(0).numpy(), run(mod["main"], [data])
    where = {step.node: isinstance(step, DeviceStep) for step in library.network.steps}
    assert set(where.values()) == {True, False}
    assert where["c"]
    np.testing.assert_array_equal(found, run(library.built.function, [data]))
    assert np.abs(found - real).max() < 0.03 * np.abs(real).max()
