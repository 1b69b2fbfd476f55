"""The int8 network as a standard ONNX model: ``QuantizeLinear`` and ``DequantizeLinear`` around float operators.

Tests: tests/vta/quantize/test_write.py.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import onnx
from onnx import helper

from runtime.executor.operators.types import Array
from vta.quantize.encoding import Encoding
from vta.quantize.graph import Graph, name_of, whole
from vta.quantize.plan import Plan
from vta.quantize.weights import WeightCells, bias_between, bias_cells, bias_units

__all__ = ["Numbers", "written"]


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was decided: the encoding of every point with a scale of its own, weights and biases by layer."""

    encodings: Mapping[str, Encoding]
    weights: Mapping[str, WeightCells]
    biases: Mapping[str, Array]
    """Real numbers, of the layers that have any."""
    power_of_two: bool = False
    """Whether all scales are powers of two."""


def written(graph: Graph, plan: Plan, numbers: Numbers, only: Collection[str] | None = None) -> onnx.ModelProto:
    """Return the model of ``graph`` with int8 numbers; with ``only``, of these points and layers alone."""
    made = graph.copy()
    layers = {name_of(node) for node in plan.layers}
    nodes: list[onnx.NodeProto] = []
    for node in made.nodes:
        if name_of(node) in layers and (only is None or name_of(node) in only):
            nodes += _write_weights(made, node, plan, numbers)
    chosen = [point for point in plan.points.values() if only is None or point.name in only]
    by_name = {point.name: point for point in chosen}
    for point in chosen:
        if point.name in made.inputs:
            nodes += _pair(made, point.name, point.name, numbers.encodings[point.root])
    for node in made.nodes:
        pairs = []
        for at, name in enumerate(node.output):
            if name not in by_name:
                continue
            source = name
            if name in made.outputs:
                source = node.output[at] = made.fresh(f"{name}.real")
            pairs += _pair(made, source, name, numbers.encodings[by_name[name].root])
        nodes += [node, *pairs]
    return made.to_model(nodes)


def _pair(graph: Graph, source: str, name: str, encoding: Encoding) -> list[onnx.NodeProto]:
    """Return what rounds ``source``, all of whose readers read the result from now on."""
    result = name if source != name else graph.fresh(f"{name}.rounded")
    if source == name:
        graph.rename_reads(name, result)
    scale = graph.constant(f"{name}.scale", np.array(encoding.scale, np.float32))
    zero = graph.constant(f"{name}.zero", np.array(encoding.zero, np.int8))
    cells = graph.fresh(f"{name}.int8")
    return [
        helper.make_node("QuantizeLinear", [source, scale, zero], [cells], name=graph.fresh(f"{name}.quantize")),
        helper.make_node("DequantizeLinear", [cells, scale, zero], [result], name=graph.fresh(f"{name}.dequantize")),
    ]


def _write_weights(graph: Graph, node: onnx.NodeProto, plan: Plan, numbers: Numbers) -> list[onnx.NodeProto]:
    """Let a layer read int8 weights and an int32 bias; return what makes real numbers of them.

    With scales that are powers of two, the bias is a real one between the whole ones (``bias_between``).
    """
    layer = name_of(node)
    weights = numbers.weights[layer]
    input_scale = numbers.encodings[plan.points[node.input[0]].root].scale
    made = [_real(graph, node, 1, weights.cells, weights.scales, weights.axis)]
    if numbers.power_of_two and node.op_type != "MatMul":
        groups = whole(node, "group", 1) if node.op_type == "ConvTranspose" else 1
        channels = weights.cells.shape[weights.axis] * groups
        units = bias_units(channels, input_scale, weights.scales)
        step = _smallest_step(graph, plan, numbers, node)
        bias = bias_between(numbers.biases.get(layer, np.zeros(channels)), units, step)
        del node.input[2:]
        node.input.append(graph.constant(f"{node.output[0]}.bias", bias))
    elif layer in numbers.biases:
        cells, units = bias_cells(numbers.biases[layer], input_scale, weights.scales)
        made.append(_real(graph, node, 2, cells, units, 0))
    return made


def _smallest_step(graph: Graph, plan: Plan, numbers: Numbers, layer: onnx.NodeProto) -> float:
    """Return the smallest scale that a layer's sums are rounded to, or that is added to them before."""
    readers, found, waiting, seen = graph.readers(), [inf], [*layer.output], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in plan.points:
            found.append(numbers.encodings[plan.points[name].root].scale)
            continue
        for node in readers.get(name, ()):
            found += [numbers.encodings[plan.points[each].root].scale for each in node.input if each in plan.points]
            waiting += node.output
    return min(found)


def _real(graph: Graph, node: onnx.NodeProto, at: int, cells: Array, scales: Array, axis: int) -> onnx.NodeProto:
    """Let operand ``at`` of a layer be dequantised cells."""
    name = node.input[at]
    scale = scales if scales.size > 1 else scales.reshape(())
    inputs = [
        graph.constant(f"{name}.int8", cells),
        graph.constant(f"{name}.scale", scale.astype(np.float32)),
        graph.constant(f"{name}.zero", np.zeros(scale.shape, cells.dtype)),
    ]
    result = graph.fresh(f"{name}.real")
    node.input[at] = result
    attributes: dict[str, Any] = {"axis": axis} if scale.ndim else {}
    return helper.make_node("DequantizeLinear", inputs, [result], name=graph.fresh(f"{name}.dequantize"), **attributes)
