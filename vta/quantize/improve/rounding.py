"""Weights rounded up or down so that the layer's sums, not the weights, come closest.

A rounding error in one weight is made up for by the weights that are not rounded yet, as far as the layer's inputs on
data go together (the greedy form of AdaRound's problem, solved with a factor of the inputs' second moments: GPTQ,
Frantar et al. 2022). A channel keeps it only where it lowers the error on inputs. Grouped and depthwise convolutions
have a problem for each group. Tests: tests/vta/quantize/improve/test_rounding.py.
"""

import numpy as np
import onnx

from isa.progress import tell, told
from runtime.executor.operators.types import Array
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.calibrate.samples import Samples
from vta.quantize.encoding import Encoding
from vta.quantize.graph import Graph, attribute, name_of, whole, wholes
from vta.quantize.plan import Plan
from vta.quantize.weights import WeightCells
from vta.quantize.write import Numbers

__all__ = ["optimised_weights", "rounded_rows"]

_SAMPLES = 16
_POSITIONS = 2048
"""Places of the inputs that a layer's second moments are taken from."""
_MOST_INPUTS = 1280
"""Weights of one output beyond which it takes longer than it brings."""
_DAMPING = 0.01
_BLOCK = 64


def optimised_weights(graph: Graph, plan: Plan, numbers: Numbers, samples: Samples) -> dict[str, WeightCells]:
    """Return the weights of all layers, rounded for the inputs that the int8 network gives them on ``samples``."""
    layers = [node for node in plan.layers if _problem_size(graph, node) <= _MOST_INPUTS]
    made = dict(numbers.weights)
    runner = Runner(graph.to_model(), [node.input[0] for node in layers])
    rng = np.random.default_rng(0)
    moments: dict[str, Array] = {}
    for feed in samples.head(_SAMPLES).batches():
        inputs = runner(feed)
        for done, node in enumerate(layers):
            tell("rounding weights", done, len(layers), "layers")
            encoding = numbers.encodings[plan.points[node.input[0]].root]
            share = max(1, _POSITIONS * len(next(iter(feed.values()))) // min(_SAMPLES, samples.count))
            found = _moments(_columns(graph, node, inputs[node.input[0]], share, rng), encoding)
            moments[name_of(node)] = moments[name_of(node)] + found if name_of(node) in moments else found
    for node in layers:
        made[name_of(node)] = _optimised(graph, node, made[name_of(node)], moments[name_of(node)])
    told("rounding weights")
    return made


def _problem_size(graph: Graph, node: onnx.NodeProto) -> int:
    weight = graph.constants[node.input[1]]
    match node.op_type:
        case "Conv":
            return int(np.prod(weight.shape[1:])) if weight.ndim == 4 else _MOST_INPUTS + 1
        case "Gemm":
            return int(weight.shape[1] if attribute(node, "transB", 0) else weight.shape[0])
        case _:
            return _MOST_INPUTS + 1


def _rows(node: onnx.NodeProto, weight: Array) -> Array:
    """Return weights as a row for each output."""
    if node.op_type == "Conv":
        return weight.reshape(len(weight), -1)
    return weight if attribute(node, "transB", 0) else weight.T


def _moments(columns: Array, encoding: Encoding) -> Array:
    """Return the second moments of what a layer multiplies, in int8, for each group: (groups, k, k)."""
    rounded = encoding.rounded(columns)
    found: Array = rounded.transpose(0, 2, 1) @ rounded
    return found


def _columns(graph: Graph, node: onnx.NodeProto, data: Array, share: int, rng: np.random.Generator) -> Array:
    """Return what a layer multiplies, of a convolution at ``share`` places drawn at random: (groups, places, k)."""
    if node.op_type == "Gemm":
        return data[None].astype(np.float32)
    kernel = graph.constants[node.input[1]].shape[2:]
    pads = wholes(node, "pads", [0] * 4)
    if attribute(node, "auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        pads = [k // 2 for k in (*kernel, *kernel)]  # close enough for moments
    strides = wholes(node, "strides", [1, 1])
    dilations = wholes(node, "dilations", [1, 1])
    padded = np.pad(data, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    n, channels, height, width = padded.shape
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    rows, cols = (height - reach[0]) // strides[0] + 1, (width - reach[1]) // strides[1] + 1
    count = min(share, n * rows * cols)
    places = rng.choice(n * rows * cols, count, replace=False)
    image, row, col = places // (rows * cols), places // cols % rows, places % cols
    steps_down, steps_right = (np.arange(k) * d for k, d in zip(kernel, dilations, strict=True))
    down = (row * strides[0])[:, None, None] + steps_down[None, :, None]
    right = (col * strides[1])[:, None, None] + steps_right[None, None, :]
    taken = padded[image[:, None, None], :, down, right]  # places, kh, kw, channels
    groups = whole(node, "group", 1)
    shaped = taken.transpose(3, 0, 1, 2).reshape(groups, channels // groups, count, -1)
    return np.ascontiguousarray(shaped.transpose(0, 2, 1, 3).reshape(groups, count, -1), np.float32)


def _optimised(graph: Graph, node: onnx.NodeProto, weights: WeightCells, moments: Array) -> WeightCells:
    weight = graph.constants[node.input[1]]
    rows = _rows(node, weight).astype(np.float64)
    scales = np.broadcast_to(weights.scales.astype(np.float64), (len(rows),))
    grouped = rows.reshape(len(moments), -1, rows.shape[1])
    by_group = scales.reshape(len(moments), -1)
    cells = rounded_rows(grouped, by_group, moments.astype(np.float64)).reshape(rows.shape)
    plain = (
        cells.reshape(weight.shape) if node.op_type == "Conv" else cells if attribute(node, "transB", 0) else cells.T
    )
    return WeightCells(np.ascontiguousarray(plain).astype(np.int8), weights.scales, weights.axis)


def rounded_rows(rows: Array, scales: Array, moments: Array) -> Array:
    """Return the cells whose sums over inputs of second moments ``moments`` (groups, k, k) come closest.

    ``rows`` are (groups, outputs, k), ``scales`` (groups, outputs). Never worse than rounding to the nearest, by row.
    """
    scaled = rows / scales[..., None]
    nearest = np.clip(np.rint(scaled), -127, 127)
    size = moments.shape[-1]
    mean = np.trace(moments, axis1=1, axis2=2) / size
    damped = moments + np.eye(size) * np.where(mean > 0, mean * _DAMPING, 1.0)[:, None, None]
    order = np.argsort(-np.diagonal(damped, axis1=1, axis2=2), axis=1, kind="stable")
    cells = np.empty_like(nearest)
    columns = np.broadcast_to(order[:, None, :], scaled.shape)
    sorted_moments = np.take_along_axis(np.take_along_axis(damped, order[:, :, None], 1), order[:, None, :], 2)
    found = _with_feedback(np.take_along_axis(scaled, columns, 2), _feedback(sorted_moments))
    np.put_along_axis(cells, columns, found, 2)
    old, new = (((e @ moments) * e).sum(-1) for e in (nearest - scaled, cells - scaled))
    return np.where((new < old)[..., None], cells, nearest)


def _feedback(moments: Array) -> Array:
    """Return what share of a column's loss each later one makes up for: (groups, k, k), above the diagonal.

    With ``moments = (1 + u) d (1 + u)'`` the error is the sum over columns of ``d`` times the square of the column's
    own loss and ``u`` times those before it (Chee et al. 2023, section 3). ``u`` comes of the Cholesky factor of the
    moments in the opposite order.
    """
    upper = np.linalg.cholesky(moments[:, ::-1, ::-1])[:, ::-1, ::-1]
    shares: Array = upper / np.diagonal(upper, axis1=1, axis2=2)[:, None, :]
    return shares


def _with_feedback(scaled: Array, shares: Array) -> Array:
    """Round column by column; what a column loses is given to those that follow."""
    plain = np.ascontiguousarray(scaled.transpose(0, 2, 1))
    lost = np.zeros_like(plain)
    for begin in range(0, plain.shape[1], _BLOCK):
        end = min(begin + _BLOCK, plain.shape[1])
        rest = plain[:, begin:end] + shares[:, :begin, begin:end].transpose(0, 2, 1) @ lost[:, :begin]
        for at in range(begin, end):
            column = np.clip(np.rint(rest[:, at - begin]), -127, 127)
            lost[:, at] = plain[:, at] - column
            rest[:, at - begin + 1 :] += shares[:, at, at + 1 : end, None] * lost[:, None, at]
    cells: Array = (plain - lost).transpose(0, 2, 1)
    return np.rint(cells)
