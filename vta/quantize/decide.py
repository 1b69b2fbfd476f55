"""From encodings of points to all numbers of the int8 network. Tests: tests/vta/quantize/test_write.py."""

from collections.abc import Mapping

from runtime.executor.operators.types import Array
from vta.quantize.encoding import Encoding
from vta.quantize.graph import Graph, name_of
from vta.quantize.options import Options
from vta.quantize.plan import Plan, weight_axis
from vta.quantize.weights import WeightCells, weight_scales, weights_at
from vta.quantize.write import Numbers

__all__ = ["decided"]


def decided(graph: Graph, plan: Plan, encodings: Mapping[str, Encoding], options: Options) -> Numbers:
    """Return weights and biases for the encodings of the points, each rounded to the nearest."""
    weights: dict[str, WeightCells] = {}
    biases: dict[str, Array] = {}
    for node in plan.layers:
        name, weight = name_of(node), graph.constants[node.input[1]]
        bias = graph.constants[node.input[2]] if len(node.input) > 2 and node.input[2] else None
        axis = weight_axis(node) % weight.ndim
        grouped = node.op_type == "ConvTranspose" and weight.shape[1] == 1 and weight.shape[0] > 1
        by_channel = options.per_channel and weight.ndim > 1 and not (node.op_type == "MatMul" and weight.ndim > 2)
        scales = weight_scales(
            weight, axis if by_channel and not grouped else None, bias=bias,
            input_scale=encodings[plan.points[node.input[0]].root].scale, power_of_two=options.power_of_two,
        )  # fmt: skip
        weights[name] = weights_at(weight, scales, axis)
        if bias is not None:
            biases[name] = bias
    return Numbers(encodings, weights, biases, options.power_of_two)
