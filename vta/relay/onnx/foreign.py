"""A node that the toolchain has no operator for, as one opaque call that onnxruntime runs on the host.

The types of what it gives come from ONNX's shape inference, or from the model where shapes depend on numbers;
onnxruntime is asked at once whether it has the operator. Tests: tests/vta/relay/onnx/test_foreign.py.
"""

from collections.abc import Mapping, Sequence

import onnx
import onnx.shape_inference

from runtime.executor.operators.foreign import OnnxNodeAttrs, foreign_session, model_text
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array, RelayError, TensorType
from vta.relay.interpreter import evaluate
from vta.relay.ir.nodes import Constant, Expr, TupleGetItem, tensor_type
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls, free_vars
from vta.relay.onnx.one_node import model_of_node, nodes_within
from vta.relay.ops.call import call

__all__ = ["declared_type", "foreign_call", "has_onnxruntime"]

_RANDOM = (
    "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
)  # fmt: skip
"""Draws other numbers every time, or does so when it is trained."""

_ENDLESS = ("Loop",)
"""May run for ever: one whose rounds are known is written out."""

_OTHERWISE = ("DFT", "MaxUnpool", "Resize", "STFT")
"""What onnxruntime computes otherwise than ONNX's own cases say (``python -m bench.onnx_cases``)."""

_BOUNDED = ("Compress", "NonMaxSuppression", "NonZero", "Unique")
"""Gives no more elements than its data times their rank, however many that are."""

_LARGE = 1 << 28
"""Bytes of a tensor from which on it is not computed while a model is read."""

_SMALL = 4096
"""Bytes up to which a constant stands in the node's model."""


def has_onnxruntime() -> bool:
    """Return whether onnxruntime can be imported."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


def foreign_call(
    node: onnx.NodeProto,
    reads: Mapping[str, Expr],
    opsets: Mapping[str, int],
    declared: Mapping[str, TensorType],
    *,
    origin: Origin,
    why: str,
) -> list[Expr | None]:
    """Return the values of the outputs of ``node``, None for those that nobody wants.

    ``reads`` has all that it reads, by name; ``declared`` the types that the model says its tensors have. Raises
    ``RelayError`` if it cannot be run so.
    """
    if node.op_type in (*_RANDOM, *_OTHERWISE):
        raise RelayError("onnxruntime's numbers are not those of the definition")
    if node.op_type in _ENDLESS or any(inner.op_type in _ENDLESS for inner in nodes_within(node)):
        raise RelayError("nobody knows how long a loop takes")
    known = {name for name, expr in reads.items() if not free_vars(expr)}
    small = {name for name in known if tensor_type(reads[name]).nbytes <= _SMALL} if len(known) < len(reads) else set()
    constants = {name: _value(reads[name]) for name in reads if name in small}
    arguments = {name: expr for name, expr in reads.items() if name not in small}
    inputs = {name: tensor_type(expr) for name, expr in arguments.items()}
    node = _with_outputs(node, opsets)
    model = model_of_node(node, inputs, constants, _oldest(node, opsets))
    text = model_text(model.SerializeToString())
    foreign_session(text)
    # Shapes are known better where numbers are.
    hints = {**constants, **{n: _value(e) for n, e in arguments.items() if n in known and inputs[n].nbytes <= _SMALL}}
    rest = {name: kind for name, kind in inputs.items() if name not in hints}
    kinds = _inferred(model_of_node(node, rest, hints, opsets), declared)
    names = [name for name in node.output if name]
    gives = [kinds[name] for name in names if name in kinds]
    if len(gives) < len(names):
        gives = _measured(text, node, [*arguments.values()])
    attrs = OnnxNodeAttrs(text, tuple((kind.shape, str(kind.dtype)) for kind in gives), why)
    result = call(Op.ONNX_NODE, list(arguments.values()), attrs, (origin,))
    several: list[Expr] = [TupleGetItem(result, index) for index in range(len(gives))] if len(gives) > 1 else [result]
    parts = iter(several)
    return [next(parts) if name else None for name in node.output]


def _value(expr: Expr) -> Array:
    if any(tensor_type(each).nbytes > _LARGE for each in calls(expr) if isinstance(each.type, TensorType)):
        raise RelayError("it reads constants that are too large to be computed here")
    value = expr.value if isinstance(expr, Constant) else evaluate(expr)
    assert not isinstance(value, tuple)
    return value


def _with_outputs(node: onnx.NodeProto, opsets: Mapping[str, int]) -> onnx.NodeProto:
    """Return ``node`` with names for outputs that nobody wants, where the operator must give them."""
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    except onnx.defs.SchemaError:
        return node
    whole = onnx.NodeProto()
    whole.CopyFrom(node)
    for number, (name, formal) in enumerate(zip(node.output, schema.outputs, strict=False)):
        if not name and formal.option is onnx.defs.OpSchema.FormalParameterOption.Single:
            whole.output[number] = f"output {number} of {node.name}"
    return whole


def _oldest(node: onnx.NodeProto, opsets: Mapping[str, int]) -> dict[str, int]:
    """Return the oldest versions that give ``node`` the same meaning: an onnxruntime may not know the newest."""
    if any(attribute.type == onnx.AttributeProto.GRAPH for attribute in node.attribute):
        return dict(opsets)
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = opsets.get(domain, 1)
    try:
        version = onnx.defs.get_schema(node.op_type, version, domain).since_version
    except onnx.defs.SchemaError:  # com.microsoft, for one, which onnxruntime alone knows
        return {"": min(opsets.get("", 7), 17), domain: version}
    return {domain: max(version, 7) if not domain else version}


def _inferred(model: onnx.ModelProto, declared: Mapping[str, TensorType]) -> dict[str, TensorType]:
    """Return the types of outputs that are known."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except Exception as error:  # of several classes, in C++
        raise RelayError(f"ONNX cannot tell its types: {' '.join(str(error).split())[:200]}") from None
    found = {}
    for value in inferred.graph.output:
        kind = declared_type(value) or declared.get(value.name)
        if kind is not None:
            found[value.name] = kind
    return found


def declared_type(value: onnx.ValueInfoProto) -> TensorType | None:
    """Return the type that a model gives a tensor, or None if it leaves something of it open."""
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape") or not tensor.elem_type:
        return None
    if not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
        return None
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
        return TensorType([int(dim.dim_value) for dim in tensor.shape.dim], dtype)
    except (KeyError, ValueError, TypeError, RelayError):
        return None


def _measured(model: str, node: onnx.NodeProto, arguments: Sequence[Expr]) -> list[TensorType]:
    """Return the types of the outputs for arguments that are known."""
    if node.op_type not in _BOUNDED or any(free_vars(expr) for expr in arguments):
        raise RelayError("the shape of what it gives depends on numbers")
    session = foreign_session(model)
    names = [value.name for value in session.get_inputs()]
    made = session.run(None, {name: _value(expr) for name, expr in zip(names, arguments, strict=True)})
    return [TensorType(each.shape, each.dtype.name) for each in made]
