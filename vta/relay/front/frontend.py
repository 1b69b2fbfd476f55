"""``relay.frontend`` under TVM's names. Tests: tests/vta/relay/front/test_build.py, test_exporters.py."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from vta import nd
from vta.relay.front.exporters import exported_keras, exported_pytorch
from vta.relay.ir.module import IRModule
from vta.relay.onnx.importer import from_onnx as imported

__all__ = ["from_keras", "from_onnx", "from_pytorch"]


def from_onnx(
    model: str | os.PathLike[str] | onnx.ModelProto,
    shape: Mapping[str, Sequence[int]] | None = None,
    **_: object,
) -> tuple[IRModule, dict[str, nd.NDArray]]:
    """Return a model as a module, and its parameters: none, since weights are constants in it.

    ``shape`` settles what the model leaves open, by the names of its inputs.
    """
    return IRModule.from_expr(imported(model, dict(shape or {}))), {}


def from_pytorch(
    script_module: Any, input_infos: Sequence[tuple[str, Any]], default_dtype: str = "float32", **_: object
) -> tuple[IRModule, dict[str, nd.NDArray]]:
    """Return a PyTorch module as a module, through ONNX.

    ``input_infos`` are (name, sizes) or (name, (sizes, element type)), in the order of the module's arguments.
    """
    return from_onnx(exported_pytorch(script_module, input_infos, default_dtype))


def from_keras(
    model: Any, shape: Mapping[str, Sequence[int]] | None = None, layout: str = "NCHW", **_: object
) -> tuple[IRModule, dict[str, nd.NDArray]]:
    """Return a Keras model as a module, through ONNX; sizes that it leaves open are those of ``shape``.

    ``layout`` is that of inputs where Keras 2 and tf2onnx make the ONNX model; Keras 3 keeps its own.
    """
    return from_onnx(exported_keras(model, layout), shape)
