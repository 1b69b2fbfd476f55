"""Biases that make up for what rounding the weights adds on the average.

A channel's mean moves by ``sum((w8 - w) * mean(x))``, which is taken off its bias (Nagel et al. 2019, section 4.2, with
means from data). Tests: tests/vta/quantize/improve/test_bias_correction.py.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import onnx

from runtime.executor.operators.types import Array
from vta.quantize.graph import Graph, attribute, name_of
from vta.quantize.plan import Plan
from vta.quantize.weights import WeightCells

__all__ = ["corrected_biases"]

Reals = npt.NDArray[np.float64]


def corrected_biases(
    graph: Graph,
    plan: Plan,
    weights: Mapping[str, WeightCells],
    biases: Mapping[str, Array],
    means: Mapping[str, Reals],
) -> dict[str, Array]:
    """Return the biases of all layers, corrected where the layer has one; ``means`` are of channels, by tensor."""
    made = dict(biases)
    for node in plan.layers:
        name, root = name_of(node), plan.points[node.input[0]].root
        mean = means.get(root)
        if name not in biases or mean is None or (root != node.input[0] and node.op_type == "Gemm"):
            continue  # a flattened tensor has other channels than what it was made of
        shift = _shift(node, weights[name].real() - graph.constants[node.input[1]], mean)
        if shift is not None:
            made[name] = (biases[name].reshape(-1) - shift).astype(np.float32)
    return made


def _shift(node: onnx.NodeProto, error: Array, mean: Reals) -> Array | None:
    """Return by how much the mean of every channel of a layer's result has moved."""
    match node.op_type:
        case "Conv":
            groups = len(mean) // error.shape[1]
            summed = error.sum(axis=tuple(range(2, error.ndim)), dtype=np.float64).reshape(groups, -1, error.shape[1])
            shift: Array = np.einsum("goi,gi->go", summed, mean.reshape(groups, -1)).reshape(-1)
            return shift
        case "Gemm":
            rows = error if attribute(node, "transB", 0) else error.T
            found: Reals | None = rows.astype(np.float64) @ mean if rows.shape[1] == len(mean) else None
            return found
        case _:
            return None
