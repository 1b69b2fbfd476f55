"""``from_pytorch`` and ``from_keras``: what the exporters are asked, what comes of it, and every refusal.

The exporters stand in here: they are too large to install for a test. One test runs PyTorch's where there is one.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from runtime.executor.operators.types import RelayError
from tests.support.relay.float_models import small_network
from vta import relay
from vta.relay.interpreter import run

IMAGE = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)


class Dtype:
    """An element type of the stand-in for PyTorch."""


def pytorch(calls: list[Any], *, dynamo: bool) -> ModuleType:
    """Return a stand-in whose exporter writes ``small_network`` and notes what it was asked."""

    def old(module: Any, args: tuple[Any, ...], file: Any, *, input_names: list[str], opset_version: int) -> None:
        calls.append((module, args, input_names, opset_version))
        if module == "bad":
            raise ValueError("no such operator: aten::magic\nmore lines")
        file.write(small_network().SerializeToString())

    def new(
        module: Any,
        args: tuple[Any, ...],
        file: Any,
        *,
        input_names: list[str],
        opset_version: int,
        dynamo: bool = True,
    ) -> None:
        assert not dynamo
        old(module, args, file, input_names=input_names, opset_version=opset_version)

    made = ModuleType("torch")
    made.dtype, made.float32, made.int8 = Dtype, Dtype(), Dtype()  # type: ignore[attr-defined]
    made.zeros = lambda shape, dtype: (shape, dtype)  # type: ignore[attr-defined]
    made.onnx = SimpleNamespace(export=new if dynamo else old)  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("info", [("image", (1, 3, 8, 8)), ("image", ([1, 3, 8, 8], "int8"))])
def test_a_pytorch_module_comes_through_its_onnx_exporter(
    info: tuple[str, Any], dynamo: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    torch = pytorch(calls, dynamo=dynamo)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(onnx, "load_model_from_string", _with_one_sample(onnx.load_model_from_string))
    mod, params = relay.frontend.from_pytorch("module", [info])
    [(module, [(shape, dtype)], names, opset)] = calls
    assert (module, shape, names, opset) == ("module", (1, 3, 8, 8), ["image"], 13)
    assert dtype is (torch.int8 if info[1][1] == "int8" else torch.float32)
    assert params == {}
    np.testing.assert_array_equal(run(mod["main"], [IMAGE]), run(_imported(), [IMAGE]))


def _with_one_sample(load: Any) -> Any:
    """The exporter fixes sizes by its examples; the stand-in's model leaves one open."""

    def loaded(data: bytes) -> onnx.ModelProto:
        model = load(data)
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
        return model

    return loaded


def _imported() -> relay.Function:
    return relay.frontend.from_onnx(small_network(), {"image": (1, 3, 8, 8)})[0]["main"]


class Keras3:
    """A model with an exporter of its own."""

    def export(self, path: str, format: str = "tf_saved_model", verbose: bool | None = None) -> None:  # noqa: A002
        assert (format, verbose) == ("onnx", False)
        Path(path).write_bytes(small_network().SerializeToString())


class Keras2:
    """A model that tf2onnx exports."""

    inputs = (SimpleNamespace(name="image:0"),)


def test_keras_3_exports_itself() -> None:
    mod, params = relay.frontend.from_keras(Keras3(), {"image": (1, 3, 8, 8)})
    assert params == {}
    np.testing.assert_array_equal(run(mod["main"], [IMAGE]), run(_imported(), [IMAGE]))


@pytest.mark.parametrize(("layout", "turned"), [("NCHW", ["image"]), ("NHWC", None)])
def test_keras_2_comes_through_tf2onnx(layout: str, turned: list[str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def from_keras(model: Any, opset: int, inputs_as_nchw: list[str] | None) -> tuple[onnx.ModelProto, None]:
        assert isinstance(model, Keras2)
        assert (opset, inputs_as_nchw) == (13, turned)
        return small_network(), None

    tf2onnx = ModuleType("tf2onnx")
    tf2onnx.convert = SimpleNamespace(from_keras=from_keras)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tf2onnx", tf2onnx)
    mod, _ = relay.frontend.from_keras(Keras2(), {"image": (1, 3, 8, 8)}, layout=layout)
    np.testing.assert_array_equal(run(mod["main"], [IMAGE]), run(_imported(), [IMAGE]))


def test_exporters_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, Callable[[], object], str]] = [
        ("torch", lambda: relay.frontend.from_pytorch("module", [("x", (1, 2))]), "from_pytorch needs torch"),
        ("tf2onnx", lambda: relay.frontend.from_keras(Keras2()), "from_keras needs tf2onnx and tensorflow"),
    ]
    for name, call, needed in calls:
        monkeypatch.setitem(sys.modules, name, None)  # as if it was not installed
        with pytest.raises(RelayError) as caught:
            call()
        assert str(caught.value) == (
            f"{needed}, which cannot be imported here (import of {name} halted; None in sys.modules); install it, or "
            "export the network to ONNX where it is installed and use from_onnx"
        )


@pytest.mark.parametrize(
    ("infos", "sentence"),
    [
        ([], "from_pytorch: input_infos is empty; give (name, sizes) for each argument of the module"),
        (
            [(1, 3, 8, 8)],
            "from_pytorch: input_infos are (name, sizes) or (name, (sizes, element type)), not (1, 3, 8, 8)",
        ),
        ([("x", ((1, 2), "int3"))], "from_pytorch: input 'x': PyTorch has no element type 'int3'"),
        (
            [("x", (1, 2))],
            "from_pytorch: torch.onnx.export refused the network: ValueError: no such operator: aten::ma",
        ),
    ],
)
def test_what_pytorch_cannot_export_is_refused(
    infos: list[Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", pytorch([], dynamo=True))
    with pytest.raises(RelayError) as caught:
        relay.frontend.from_pytorch("bad", infos)
    assert str(caught.value).startswith(sentence)


def test_what_is_no_keras_model_is_refused() -> None:
    for model, layout, sentence in (
        (3, "NCHW", "from_keras: int is no Keras model: it has neither export nor inputs"),
        (Keras3(), "HWCN", "from_keras: layout is 'NCHW' or 'NHWC', not 'HWCN'"),
    ):
        with pytest.raises(RelayError) as caught:
            relay.frontend.from_keras(model, layout=layout)
        assert str(caught.value) == sentence


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_pytorch_itself_exports_a_network_with_the_same_results() -> None:
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(1)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(128, 5),
    ).eval()  # fmt: skip
    example = torch.zeros(1, 3, 8, 8)
    for module in (net, torch.jit.trace(net, example)):
        mod, _ = relay.frontend.from_pytorch(module, [("image", (1, 3, 8, 8))])
        wanted = net(torch.tensor(IMAGE.tolist())).tolist()
        np.testing.assert_allclose(run(mod["main"], [IMAGE]), wanted, rtol=1e-4, atol=1e-5)
