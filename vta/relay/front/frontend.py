"""``relay.frontend`` under TVM's names. Tests: tests/vta/relay/front/test_build.py."""

import os
from collections.abc import Mapping, Sequence

import onnx

from vta import nd
from vta.relay.ir.module import IRModule
from vta.relay.onnx.importer import from_onnx as imported

__all__ = ["from_onnx"]


def from_onnx(
    model: str | os.PathLike[str] | onnx.ModelProto,
    shape: Mapping[str, Sequence[int]] | None = None,
    **_: object,
) -> tuple[IRModule, dict[str, nd.NDArray]]:
    """Return a model as a module, and its parameters: none, since weights are constants in it.

    ``shape`` settles what the model leaves open, by the names of its inputs.
    """
    return IRModule.from_expr(imported(model, dict(shape or {}))), {}
