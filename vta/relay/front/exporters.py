"""Networks of Keras and PyTorch as ONNX models, by the exporters that these have.

Nothing of theirs is imported before it is asked for. Tests: tests/vta/relay/front/test_exporters.py.
"""

import importlib
import inspect
import io
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx

from runtime.executor.operators.types import RelayError

__all__ = ["exported_keras", "exported_pytorch"]

_OPSET = 13
"""New enough for scales by channel, old enough for every exporter that is in use."""


def exported_pytorch(module: Any, input_infos: Sequence[tuple[str, Any]], dtype: str) -> onnx.ModelProto:
    """Return a PyTorch module, traced or not, as ONNX.

    ``input_infos`` are (name, sizes) or (name, (sizes, element type)), in the order of the module's arguments.
    """
    torch = _imported("torch", "from_pytorch", "torch")
    names, examples = [], []
    for info in input_infos:
        name, shape, kind = _input_info(info, dtype)
        if not isinstance(getattr(torch, kind, None), torch.dtype):
            raise RelayError(f"from_pytorch: input {name!r}: PyTorch has no element type {kind!r}")
        names.append(name)
        examples.append(torch.zeros(shape, dtype=getattr(torch, kind)))
    if not names:
        raise RelayError("from_pytorch: input_infos is empty; give (name, sizes) for each argument of the module")
    options: dict[str, Any] = {"input_names": names, "opset_version": _OPSET}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # the exporter that takes traced modules, and needs nothing else
    data = io.BytesIO()
    _done("from_pytorch", "torch.onnx.export", lambda: torch.onnx.export(module, tuple(examples), data, **options))
    return onnx.load_model_from_string(data.getvalue())


def exported_keras(model: Any, layout: str) -> onnx.ModelProto:
    """Return a Keras model as ONNX: by Keras 3 itself, or by tf2onnx for models of Keras 2."""
    if layout not in ("NCHW", "NHWC"):
        raise RelayError(f"from_keras: layout is 'NCHW' or 'NHWC', not {layout!r}")
    if hasattr(model, "export") and "format" in inspect.signature(model.export).parameters:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.onnx")
            _done("from_keras", "Keras's own exporter", lambda: model.export(path, format="onnx", verbose=False))
            return onnx.load(path)
    if not hasattr(model, "inputs"):
        raise RelayError(f"from_keras: {type(model).__name__} is no Keras model: it has neither export nor inputs")
    tf2onnx = _imported("tf2onnx", "from_keras", "tf2onnx and tensorflow")
    turned = [each.name.split(":")[0] for each in model.inputs] if layout == "NCHW" else None
    found = _done(
        "from_keras", "tf2onnx",
        lambda: tf2onnx.convert.from_keras(model, opset=_OPSET, inputs_as_nchw=turned),
    )  # fmt: skip
    made: onnx.ModelProto = found[0]
    return made


def _input_info(info: Any, dtype: str) -> tuple[str, tuple[int, ...], str]:
    match info:
        case (str(name), (Iterable() as shape, str(kind))):
            return name, tuple(int(size) for size in shape), kind
        case (str(name), Iterable() as shape):
            return name, tuple(int(size) for size in shape), dtype
        case _:
            raise RelayError(
                f"from_pytorch: input_infos are (name, sizes) or (name, (sizes, element type)), not {info!r}"
            )


def _imported(name: str, asked: str, needed: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RelayError(
            f"{asked} needs {needed}, which cannot be imported here ({error}); install it, or export the network to "
            "ONNX where it is installed and use from_onnx"
        ) from None


def _done(asked: str, exporter: str, export: Callable[[], Any]) -> Any:
    """Return what an exporter returns; whatever it raises is one sentence."""
    try:
        return export()
    except Exception as error:  # exporters raise what they like
        first = next(iter(str(error).strip().splitlines()), "")
        raise RelayError(f"{asked}: {exporter} refused the network: {type(error).__name__}: {first}") from None
