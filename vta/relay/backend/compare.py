"""Where a network's numbers differ first, and by how much: device against integer graph, integer graph against ONNX.

Tests: tests/vta/relay/backend/test_compare.py.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from runtime.executor.layouts import unpacked
from runtime.executor.operators.names import Op
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import Array, RelayError, TensorType
from runtime.executor.runner import NetworkRunner
from vta.relay.backend.build import Built
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from vta.relay.ir.traverse import post_order

__all__ = ["NodeDifference", "against_integers", "against_onnxruntime", "onnxruntime_tensors"]

Value = Array | tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """How the numbers of one node differ: how many elements, and how many of them by how much."""

    node: str
    operator: str
    elements: int
    histogram: Mapping[int, int]
    """Difference -> number of elements; equal ones are not in it."""

    @property
    def different(self) -> int:
        """How many elements differ."""
        return sum(self.histogram.values())

    @property
    def largest(self) -> int:
        """The largest difference."""
        return max((abs(each) for each in self.histogram), default=0)


def against_integers(built: Built, runner: NetworkRunner, inputs: Mapping[str, Array]) -> list[NodeDifference]:
    """Return, for every node, how what ``runner``'s device computes differs from the integer graph's meaning."""
    wanted: dict[Call, object] = {}
    run(built.function, dict(inputs), wanted.__setitem__)
    found: list[NodeDifference] = []
    seen: set[str] = set()

    def watch(name: str, array: Array) -> None:
        call = built.results.get(name)
        if call is None or name in seen:  # a step shows what it reads as well
            return
        seen.add(name)
        expected = wanted[call]
        assert isinstance(expected, np.ndarray)
        plain = array
        if built.network.tensor(name).on_device:
            images, channels = expected.shape[:2]
            plain = unpacked(array, images=images, channels=channels).reshape(expected.shape)
        found.append(_difference(call, plain, expected))

    runner.run(inputs, watch=watch)
    return found


def against_onnxruntime(
    function: Function, model: onnx.ModelProto, inputs: Mapping[str, Array], *, fed: bool = True
) -> list[NodeDifference]:
    """Return, for every quantised tensor, how the integer graph's numbers differ from onnxruntime's.

    With ``fed``, every node gets onnxruntime's inputs, so that a difference is the node's own; otherwise the graph's
    own, so that differences add up. onnxruntime runs without optimisations, which change numbers.
    """
    theirs = onnxruntime_tensors(model, inputs)
    return list(_compared(function, theirs, inputs, fed=fed))


def onnxruntime_tensors(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return what every ``QuantizeLinear`` of a model gives, by the node's name."""
    try:
        import onnxruntime
    except ImportError:
        raise RelayError("comparing with onnxruntime needs it: pip install 'vta-toolchain[onnxruntime]'") from None
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    names = {n.output[0]: n.name or n.output[0] for n in model.graph.node if n.op_type == "QuantizeLinear"}
    given = {value.name for value in model.graph.output}
    for name in names:
        if name not in given:
            whole.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options)
    wanted = list(names)
    return {
        names[name]: np.asarray(value) for name, value in zip(wanted, session.run(wanted, dict(inputs)), strict=True)
    }


def _compared(
    function: Function, theirs: Mapping[str, Array], inputs: Mapping[str, Array], *, fed: bool
) -> Iterator[NodeDifference]:
    values: dict[Expr, Value] = {}
    for expr in post_order(function.body):
        match expr:
            case Var():
                values[expr] = inputs[expr.name]
            case Constant():
                values[expr] = expr.value
            case Tuple():
                values[expr] = tuple(_array(values[each]) for each in expr.fields)
            case TupleGetItem():
                whole = values[expr.value]
                assert isinstance(whole, tuple)
                values[expr] = whole[expr.index]
            case Call():
                assert isinstance(expr.callee, Op)
                made = operator(expr.callee).evaluate([_array(values[each]) for each in expr.args], expr.attrs)
                values[expr] = made
                name = _quantised_by(expr)
                if name is None or name not in theirs:
                    continue
                other = theirs[name]
                cells = other if other.dtype == np.int8 else (other.astype(np.int16) - 128).astype(np.int8)
                yield _difference(expr, _array(made), cells)
                if fed:
                    values[expr] = cells
            case _:
                raise RelayError("networks are compared node by node in graphs of operators alone")


def _quantised_by(call: Call) -> str | None:
    """Return the name of the QuantizeLinear node whose result an int8 call computes: its last origin."""
    is_cells = isinstance(call.type, TensorType) and call.type.dtype == "int8"
    if not is_cells or not call.origins or call.origins[-1].operator != "QuantizeLinear":
        return None
    return call.origins[-1].name


def _array(value: Value) -> Array:
    assert isinstance(value, np.ndarray)
    return value


def _difference(call: Call, found: Array, wanted: Array) -> NodeDifference:
    name = call.origins[0].name if call.origins else str(call.callee)
    if found.dtype.kind == "f":
        off = (found != wanted) & ~(np.isnan(found) & np.isnan(wanted))
        histogram = {1: int(off.sum())} if off.any() else {}
    else:
        difference = found.astype(np.int64) - wanted.astype(np.int64)
        histogram = {int(k): v for k, v in sorted(Counter(difference[difference != 0].tolist()).items())}
    return NodeDifference(name, str(call.callee), found.size, histogram)
