"""A node that ONNX itself defines by simpler ones, written out as these.

Many operators (attention, losses, normalisations, windows) are functions of ONNX: their definition has a graph of other
operators. What has no converter is taken as that graph. Tests: tests/vta/relay/onnx/test_functions.py.
"""

from collections.abc import Mapping

import onnx
import onnx.inliner

from runtime.executor.operators.types import TensorType
from vta.relay.onnx.one_node import model_of_node

__all__ = ["function_of"]


def function_of(
    node: onnx.NodeProto, inputs: Mapping[str, TensorType], opsets: Mapping[str, int]
) -> onnx.ModelProto | None:
    """Return the model that ONNX defines ``node`` by, or None if it is no function."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return None
    if not (schema.has_function or schema.has_context_dependent_function):  # type: ignore[attr-defined]  # made in C++
        return None
    if any(not _is_known(attribute, schema) for attribute in node.attribute):
        return None
    whole = model_of_node(_with_defaults(node, schema), inputs, {}, opsets)
    try:
        written = onnx.inliner.inline_selected_functions(
            onnx.shape_inference.infer_shapes(whole), [(domain, node.op_type)], inline_schema_functions=True
        )
    except Exception:  # the definition does not cover these types: of several classes, in C++
        return None
    again = any(each.op_type == node.op_type and each.domain == node.domain for each in written.graph.node)
    return None if again else written


def _is_known(attribute: onnx.AttributeProto, schema: onnx.defs.OpSchema) -> bool:
    """Return whether the operator has such an attribute, of this type."""
    found = schema.attributes.get(attribute.name)
    wanted = onnx.AttributeProto.AttributeType.Name(attribute.type)
    return found is not None and found.type == getattr(onnx.defs.OpSchema.AttrType, wanted)


def _with_defaults(node: onnx.NodeProto, schema: onnx.defs.OpSchema) -> onnx.NodeProto:
    """Return ``node`` with the attributes that it leaves to their defaults: definitions refer to them."""
    given = {attribute.name for attribute in node.attribute}
    whole = onnx.NodeProto()
    whole.CopyFrom(node)
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            whole.attribute.append(attribute.default_value)
    return whole
