"""Models of version 6 of ONNX's operators, in version 7: operands there are broadcast along an axis, if a node says so.

ONNX's own converter puts such an operand on a wrong axis. Tests: tests/vta/relay/onnx/test_old_versions.py.
"""

import onnx
from onnx import helper

from vta.relay.onnx.errors import OnnxError

__all__ = ["in_known_version"]

_BROADCAST = {"Add", "And", "Div", "Equal", "Gemm", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"}
_TRAINING = {"BatchNormalization", "Dropout"}
"""Operators that say whether they train, which a version later is not asked."""
_OTHER = {"GRU", "LSTM", "PRelu", "RNN", "Upsample"}
"""Operators that mean something else in version 7."""


def in_known_version(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model of version 6 in version 7, and any other as it is; raises ``OnnxError``."""
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if not versions or max(versions) != 6:
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for entry in made.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = 7
    ranks = _ranks(model)
    del made.graph.node[:]
    for node in model.graph.node:
        made.graph.node.extend(_modern(node, ranks))
    return made


def _modern(node: onnx.NodeProto, ranks: dict[str, int]) -> list[onnx.NodeProto]:
    """Return a node as version 7 has it, with one before it that puts its second operand in place."""
    where = f"{node.op_type} {node.name or (node.output or [''])[0]!r}"
    if node.op_type in _OTHER:
        raise OnnxError(f"{where}: version 6 of this operator is not supported; export the model with a newer version")
    changed = onnx.NodeProto()
    changed.CopyFrom(node)
    gone = {"broadcast", "axis"} if node.op_type in _BROADCAST else {"is_test"} if node.op_type in _TRAINING else set()
    del changed.attribute[:]
    changed.attribute.extend(each for each in node.attribute if each.name not in gone)
    values = {each.name: helper.get_attribute_value(each) for each in node.attribute if each.name in gone}
    if not values.get("broadcast") or "axis" not in values or node.op_type == "Gemm":
        return [changed]
    first, second = node.input[:2]
    if first not in ranks or second not in ranks:
        raise OnnxError(f"{where}: the sizes of its operands are not known, and version 6 broadcasts by axis")
    axis = values["axis"] + (ranks[first] if values["axis"] < 0 else 0)
    behind = ranks[first] - axis - ranks[second]
    if behind < 0:
        raise OnnxError(f"{where}: {ranks[second]} axes do not fit into {ranks[first]} from axis {axis}")
    if not behind:
        return [changed]
    changed.input[1] = f"{changed.output[0]}.{second}.in_place"
    axes = list(range(ranks[second], ranks[second] + behind))
    return [helper.make_node("Unsqueeze", [second], [changed.input[1]], name=changed.input[1], axes=axes), changed]


def _ranks(model: onnx.ModelProto) -> dict[str, int]:
    """Return how many axes each tensor has, as far as ONNX can tell."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # of a damaged model; what needs sizes refuses
        graph = model.graph
    found = {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            found.setdefault(value.name, len(value.type.tensor_type.shape.dim))
    return found
