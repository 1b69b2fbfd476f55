"""``relay.build``: float and integer graphs, parameters, targets, contexts, files."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import vta
from runtime.executor.network import DeviceStep
from runtime.executor.operators.types import RelayError
from tests.support.relay.onnx_models import model_of, node
from vta import graph_executor, nd, relay
from vta.relay.front.build import Factory
from vta.relay.interpreter import run

RNG = np.random.default_rng(7)
IMAGE = RNG.standard_normal((1, 16, 8, 8)).astype(np.float32)
WEIGHTS = RNG.integers(-127, 128, (16, 16, 3, 3)).astype(np.int8)


def quantised(layout: str = "NCHW") -> relay.Function:
    """Return a convolution of int8 numbers in real clothes, as importers make them."""
    shape, weights, kernel_layout = IMAGE.shape, WEIGHTS, "OIHW"
    if layout == "NHWC":
        shape, weights, kernel_layout = (1, 8, 8, 16), WEIGHTS.transpose(2, 3, 1, 0), "HWIO"
    x = relay.var("x", shape=shape)

    def both(value: relay.Expr, scale: float) -> relay.Expr:
        cells = relay.qnn.op.quantize(value, relay.const(scale), relay.const(0))
        return relay.qnn.op.dequantize(cells, relay.const(scale), relay.const(0))

    w = relay.qnn.op.dequantize(relay.const(weights), relay.const(0.01), relay.const(0))
    conv = relay.nn.conv2d(both(x, 0.05), w, padding=1, data_layout=layout, kernel_layout=kernel_layout)
    return relay.Function([x], both(relay.nn.relu(conv), 0.25))


def floats() -> tuple[relay.Function, dict[str, np.ndarray]]:
    shapes = {"w": (5, 16, 3, 3), "gamma": (5,), "beta": (5,), "mean": (5,), "var": (5,)}
    params = {name: np.abs(RNG.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    x = relay.var("x", shape=IMAGE.shape)
    w, *stats = (relay.var(name, shape=shape) for name, shape in shapes.items())
    norm = relay.nn.batch_norm(relay.nn.conv2d(x, w, padding=(1, 1)), *stats)[0]
    return relay.Function([x, w, *stats], relay.nn.relu(norm)), params


def on_device(factory: Factory) -> int:
    return sum(isinstance(step, DeviceStep) for step in factory.network.steps)


def result(factory: Factory, device: nd.Device, x: np.ndarray) -> np.ndarray:
    module = graph_executor.GraphModule(factory["default"](device))
    module.set_input("x", x)
    module.run()
    return module.get_output(0).numpy()


def test_integers_run_on_the_accelerator_with_the_interpreters_bits() -> None:
    factory = relay.build(quantised(), target=vta.get_env().target)
    assert on_device(factory) == 1
    wanted = run(factory.built.function, [IMAGE])
    np.testing.assert_array_equal(result(factory, vta.nd.ext_dev(0), IMAGE), wanted)
    plain = run(quantised(), [IMAGE])
    assert np.abs(wanted - plain).max() <= 0.2501
    assert (wanted != plain).mean() < 0.01


def test_other_layouts_come_to_the_accelerator_too() -> None:
    factory = relay.build(quantised("NHWC"), target=vta.get_env().target)
    assert on_device(factory) == 1
    same = result(relay.build(quantised(), target=vta.get_env().target), vta.nd.ext_dev(0), IMAGE)
    found = result(factory, vta.nd.ext_dev(0), np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1)))
    np.testing.assert_array_equal(found.transpose(0, 3, 1, 2), same)


@pytest.mark.parametrize("target", [None, "llvm", vta.target.Target("llvm")])
def test_without_an_accelerator_the_host_computes(target: object) -> None:
    factory = relay.build(quantised(), target=target)
    assert on_device(factory) == 0
    np.testing.assert_array_equal(
        result(factory, vta.nd.cpu(0), IMAGE),
        result(relay.build(quantised(), vta.get_env().target), vta.nd.ext_dev(0), IMAGE),
    )


def test_a_target_for_each_device_and_the_current_target() -> None:
    env = vta.get_env()
    assert on_device(relay.build(quantised(), {"cpu": "llvm", "ext_dev": env.target})) == 1
    with env.target:
        assert on_device(relay.build(quantised())) == 1


def test_float_graphs_are_simplified_as_the_context_says() -> None:
    function, params = floats()
    wanted = run(function, {"x": IMAGE, **params})
    steps = {}
    for level in (2, 3):
        with vta.build_config(opt_level=level, disabled_pass={"AlterOpLayout"}):
            factory = relay.build(function, "llvm", params=params)
        steps[level] = [step.operator for step in factory.network.steps]
        np.testing.assert_allclose(result(factory, vta.nd.cpu(0), IMAGE), wanted, rtol=1e-4, atol=1e-4)
    assert steps == {2: ["nn.conv2d", "multiply", "add", "nn.relu"], 3: ["nn.conv2d", "add", "nn.relu"]}
    with vta.PassContext(opt_level=3, disabled_pass=["SimplifyInference"]):
        assert "nn.batch_norm" in [s.operator for s in relay.build(function, "llvm", params=params).network.steps]


def test_the_old_triple_is_unpacked() -> None:
    function, params = floats()
    graph, lib, bound = relay.build(relay.IRModule.from_expr(function), target="llvm", params=params)
    assert [each["name"] for each in json.loads(graph)["heads"]] == list(lib.network.outputs)
    assert {name: value.numpy().shape for name, value in bound.items()} == {n: v.shape for n, v in params.items()}
    module = vta.graph_runtime.create(graph, lib, [vta.nd.ext_dev(0), vta.nd.cpu(0)])
    module.set_input(**bound)
    module.set_input("x", vta.nd.array(IMAGE))
    module.run()
    wanted = run(function, {"x": IMAGE, **params})
    np.testing.assert_allclose(module.get_output(0).numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_a_library_is_written_and_read(tmp_path: Path) -> None:
    factory = relay.build(quantised(), vta.get_env().target)
    factory.export_library(tmp_path / "net.tar")
    again = relay.load_module(tmp_path / "net.tar")
    np.testing.assert_array_equal(result(again, vta.nd.ext_dev(0), IMAGE), result(factory, vta.nd.ext_dev(0), IMAGE))


def test_executors_of_every_kind_give_the_same() -> None:
    function, params = floats()
    for kind in ("graph", "vm", "debug"):
        evaluate = relay.create_executor(kind, mod=function, params=params, target="llvm").evaluate()
        np.testing.assert_allclose(evaluate(IMAGE).numpy(), run(function, {"x": IMAGE, **params}), rtol=1e-4, atol=1e-4)
    x = relay.var("x", shape=(2,))
    pair = relay.create_executor("graph", mod=relay.Function([x], relay.Tuple([relay.exp(x), x]))).evaluate()
    assert [each.numpy().tolist() for each in pair(x=np.zeros(2, np.float32))] == [[1, 1], [0, 0]]


def test_a_model_comes_from_onnx() -> None:
    module, params = relay.frontend.from_onnx(model_of([node("Relu", ["x"], "y")], {"x": ("float32", ("n", 2))}),
                                              shape={"x": (3, 2)}, freeze_params=True)  # fmt: skip
    assert params == {}
    data = RNG.standard_normal((3, 2)).astype(np.float32)
    np.testing.assert_array_equal(result(relay.build(module, "llvm", params=params), vta.nd.cpu(0), data), data.clip(0))


def test_what_cannot_be_is_refused() -> None:
    function, params = floats()
    x = relay.var("x", shape=(2,))
    for make, text in (
        (lambda: relay.build(3), "relay.build takes a function or a module of relay, not int"),
        (
            lambda: relay.build(function, params={"w": np.zeros(3)}),
            "parameter 'w' is Tensor[(5, 16, 3, 3), float32], and Tensor[(3,), float64] was given",
        ),
        (
            lambda: relay.build(relay.Function([], relay.exp(x))),
            "the body reads variable 'x', which is not among the function's parameters",
        ),
        (lambda: relay.build(quantised())["main"], "the module has 'default', not 'main'"),
        (lambda: relay.create_executor("fast", function), "an executor is 'graph', 'vm' or 'debug', not 'fast'"),
        (lambda: relay.create_executor(), "create_executor needs the module that is to run, as mod="),
        (
            lambda: relay.create_executor("debug", relay.Function([x], x)).evaluate()(1, 2),
            "the function takes 1 inputs, not 2",
        ),
    ):
        with pytest.raises(RelayError, match=f"^{re.escape(text)}$"):
            make()  # type: ignore[no-untyped-call]
    assert params
