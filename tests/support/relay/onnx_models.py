"""Small ONNX models for tests."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

__all__ = ["model_of", "node"]

Array = npt.NDArray[np.generic]


def node(kind: str, inputs: Sequence[str], output: str, **attributes: object) -> onnx.NodeProto:
    """Return a node that is called as its output."""
    return helper.make_node(kind, inputs, [output], name=output, **attributes)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[str, Sequence[int | str]]],
    *,
    outputs: Sequence[str] = (),
    weights: Mapping[str, Array] | None = None,
    opset: int = 21,
) -> onnx.ModelProto:
    """Return a model; ``inputs`` has (element type, shape) by name; by default the last node's output is its own."""
    kinds = {name: helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for name, (dtype, _) in inputs.items()}
    given = [helper.make_tensor_value_info(name, kinds[name], list(shape)) for name, (_, shape) in inputs.items()]
    wanted = [helper.make_empty_tensor_value_info(name) for name in outputs or [nodes[-1].output[0]]]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in (weights or {}).items()]
    graph = helper.make_graph(nodes, "small", given, wanted, tensors)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)
