"""The same elements in other places: shapes, axes, parts, copies.

Tests: tests/vta/relay/onnx/test_backend_cases.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from runtime.executor.operators.broadcast import ShapeAttrs
from runtime.executor.operators.elementwise import CastAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import AxesAttrs, ReshapeAttrs, TileAttrs, TransposeAttrs
from runtime.executor.operators.resize import DepthSpaceAttrs, DepthSpaceMode
from runtime.executor.operators.selection import ConcatenateAttrs, OneHotAttrs, SplitAttrs, StridedSliceAttrs, TakeAttrs
from vta.relay.ir.nodes import Constant, Expr, TupleGetItem
from vta.relay.onnx.convert.converter import Converter, all_inputs
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS"]


def _axis(node: Node, axis: int, rank: int) -> int:
    """Return ``axis`` counted from the beginning."""
    if not -rank <= axis < rank:
        node.refuse(f"axis {axis} is none of its {rank} dimensions")
    return axis % rank


def _reshape(node: Node) -> Sequence[Expr]:
    shape = node.known_wholes(1)
    if shape is None:
        shape = node.wholes("shape")
    data = node.type(0).shape
    if node.flag("allowzero"):
        if -1 in shape and 0 in shape:
            node.refuse(f"with allowzero, the shape {shape} may have 0 or -1, not both")
        if 0 in shape:
            if any(data):  # relay's 0 means the data's size; here it means none, and then there are no elements
                node.refuse(f"{data} cannot become {shape}")
            return [Constant(np.zeros(shape, node.type(0).dtype))]
    return [node.call(Op.RESHAPE, (node.input(0),), ReshapeAttrs(shape))]


def _flatten(node: Node) -> Sequence[Expr]:
    shape = node.type(0).shape
    axis = node.whole("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        node.refuse(f"axis {axis} is none of its {len(shape)} dimensions")
    split = axis + len(shape) if axis < 0 else axis
    rows = int(np.prod(shape[:split], dtype=np.int64))
    columns = int(np.prod(shape[split:], dtype=np.int64))
    return [node.call(Op.RESHAPE, (node.input(0),), ReshapeAttrs((rows, columns)))]


def _transpose(node: Node) -> Sequence[Expr]:
    return [node.call(Op.TRANSPOSE, (node.input(0),), TransposeAttrs(node.maybe_wholes("perm")))]


def _squeeze(node: Node) -> Sequence[Expr]:
    return [node.call(Op.SQUEEZE, (node.input(0),), AxesAttrs(node.axes()))]


def _unsqueeze(node: Node) -> Sequence[Expr]:
    axes = node.axes()
    if axes is None:
        node.refuse("its axes are missing")
    shape = node.type(0).shape
    rank = len(shape) + len(axes)
    places = {_axis(node, axis, rank) for axis in axes}
    if len(places) != len(axes):
        node.refuse(f"axes {axes} name one axis twice")
    rest = iter(shape)
    return [_reshaped(node, node.input(0), tuple(1 if at in places else next(rest) for at in range(rank)))]


def _reshaped(node: Node, data: Expr, shape: tuple[int, ...]) -> Expr:
    """Return ``data`` in a shape that is meant as it stands: a size of 0 is none of relay's signs."""
    if 0 in shape:
        return Constant(np.zeros(shape, node.type(0).dtype))
    return node.call(Op.RESHAPE, (data,), ReshapeAttrs(shape))


def _concat(node: Node) -> Sequence[Expr]:
    return [node.call(Op.CONCATENATE, all_inputs(node), ConcatenateAttrs(node.whole("axis")))]


def _split(node: Node) -> Sequence[Expr]:
    shape = node.type(0).shape
    axis = _axis(node, node.whole("axis", 0), len(shape))
    sizes = node.maybe_wholes("split") or node.known_wholes(1)
    if sizes is None:
        parts = node.whole("num_outputs", len(node.outputs))
        if parts != len(node.outputs):
            node.refuse(f"num_outputs is {parts}, and the node has {len(node.outputs)} outputs")
        step = -(-shape[axis] // parts)
        sizes = tuple(max(min(step, shape[axis] - step * part), 0) for part in range(parts))
    if sum(sizes) != shape[axis]:
        node.refuse(f"the parts {sizes} do not add up to {shape[axis]}, the size of axis {axis}")
    whole = node.call(Op.SPLIT, (node.input(0),), SplitAttrs(sizes, axis))
    return [TupleGetItem(whole, part) for part in range(len(sizes))]


def _slice(node: Node) -> Sequence[Expr]:
    rank = node.rank()
    if node.has("starts"):  # up to version 9
        begin, end = node.wholes("starts"), node.wholes("ends")
        axes, steps = node.maybe_wholes("axes"), None
    else:
        known = [node.known_wholes(index) for index in range(1, 5)]
        if known[0] is None or known[1] is None:
            node.refuse("its starts or ends are missing")
        begin, end, axes, steps = known[0], known[1], known[2], known[3]
    places = tuple(_axis(node, axis, rank) for axis in (axes if axes is not None else range(len(begin))))
    steps = steps if steps is not None else (1,) * len(begin)
    if not len(begin) == len(end) == len(places) == len(steps):
        node.refuse(f"it has {len(begin)} starts, {len(end)} ends, {len(places)} axes and {len(steps)} steps")
    if 0 in steps:
        node.refuse("a step is 0")
    shape = node.type(0).shape
    bounds = [_python_slice(b, e, s, shape[axis]) for b, e, s, axis in zip(begin, end, steps, places, strict=True)]
    attrs = StridedSliceAttrs(tuple(b for b, _ in bounds), tuple(e for _, e in bounds), tuple(steps), places)
    return [node.call(Op.STRIDED_SLICE, (node.input(0),), attrs)]


def _python_slice(begin: int, end: int, step: int, extent: int) -> tuple[int | None, int | None]:
    """Return ONNX's bounds as Python's: clamped to the axis, and None where a walk backwards ends before place 0."""
    begin, end = (value + extent if value < 0 else value for value in (begin, end))
    if step > 0:
        return min(max(begin, 0), extent), min(max(end, 0), extent)
    begin, end = min(max(begin, 0), extent - 1), min(max(end, -1), extent - 1)
    return begin, None if end < 0 else end


def _gather(node: Node) -> Sequence[Expr]:
    axis = _axis(node, node.whole("axis", 0), node.rank())
    return [node.call(Op.TAKE, (node.input(0), node.input(1)), TakeAttrs(axis))]


def _gather_elements(node: Node) -> Sequence[Expr]:
    axis = _axis(node, node.whole("axis", 0), node.rank())
    return [node.call(Op.GATHER, (node.input(0), node.input(1)), TakeAttrs(axis))]


def _tile(node: Node) -> Sequence[Expr]:
    repeats = node.known_wholes(1)
    if repeats is None:
        node.refuse("its repeats are missing")
    return [node.call(Op.TILE, (node.input(0),), TileAttrs(repeats))]


def _expand(node: Node) -> Sequence[Expr]:
    wanted = node.known_wholes(1)
    if wanted is None:
        node.refuse("its shape is missing")
    try:
        shape = np.broadcast_shapes(node.type(0).shape, wanted)
    except ValueError:
        node.refuse(f"{node.type(0).shape} does not broadcast to {wanted}")
    return [node.call(Op.BROADCAST_TO, (node.input(0),), ShapeAttrs(tuple(int(e) for e in shape)))]


def _shape(node: Node) -> Sequence[Expr]:
    shape = node.type(0).shape
    start, end = node.whole("start", 0), node.whole("end", len(shape))
    return [Constant(np.array(shape[start:end], np.int64))]


def _size(node: Node) -> Sequence[Expr]:
    return [Constant(np.array(node.type(0).size, np.int64))]


def _depth_to_space(node: Node) -> Sequence[Expr]:
    mode = DepthSpaceMode(node.text("mode", "DCR", choices=("DCR", "CRD")))
    return [node.call(Op.DEPTH_TO_SPACE, (node.input(0),), DepthSpaceAttrs(node.whole("blocksize"), mode))]


def _space_to_depth(node: Node) -> Sequence[Expr]:
    return [node.call(Op.SPACE_TO_DEPTH, (node.input(0),), DepthSpaceAttrs(node.whole("blocksize")))]


def _one_hot(node: Node) -> Sequence[Expr]:
    depth, values = node.known_wholes(1), node.input(2)
    if depth is None or len(depth) != 1:
        node.refuse("its depth is missing, or not one number")
    off, on = (_element(node, values, place) for place in (0, 1))
    indices = node.input(0)
    if node.type(0).dtype != "int64":
        indices = node.call(Op.CAST, (indices,), CastAttrs("int64"))
    attrs = OneHotAttrs(depth[0], node.whole("axis", -1), node.type(2).dtype)
    return [node.call(Op.ONE_HOT, (indices, on, off), attrs)]


def _element(node: Node, vector: Expr, place: int) -> Expr:
    """Return one element of a vector as a scalar."""
    part = node.call(Op.STRIDED_SLICE, (vector,), StridedSliceAttrs((place,), (place + 1,)))
    return node.call(Op.RESHAPE, (part,), ReshapeAttrs(()))


def _constant_of_shape(node: Node) -> Sequence[Expr]:
    shape, value = node.known_wholes(0), node.tensor("value")
    fill = np.zeros(1, np.float32) if value is None else value
    if fill.size != 1:
        node.refuse(f"value has {fill.size} elements, and it must have one")
    if np.prod(shape or (), dtype=np.float64) > 1 << 28:
        node.refuse(f"a constant of shape {shape} is larger than 2**28 elements")
    return [Constant(np.full(shape or (), fill.reshape(-1)[0], fill.dtype))]


def _range(node: Node) -> Sequence[Expr]:
    bounds = [node.known(index) for index in range(3)]
    if any(bound is None or bound.size != 1 for bound in bounds):
        node.refuse("start, limit and delta must be one number each")
    start, limit, delta = (bound.reshape(-1)[0] for bound in bounds if bound is not None)
    if delta == 0 or abs((float(limit) - float(start)) / float(delta)) > 1 << 28:
        node.refuse(f"a range from {start} to {limit} by {delta} is endless, or longer than 2**28")
    return [Constant(np.arange(start, limit, delta, dtype=node.type(0).dtype))]


def _constant(node: Node) -> Sequence[Expr]:
    found = node.tensor("value")
    if found is None:
        found = node.literal()
    if found is None:
        node.refuse("it has no value of a kind that is supported")
    return [Constant(found, node.outputs[0])]


def _trilu(node: Node) -> Sequence[Expr]:
    shape = node.type(0).shape
    shift = (node.known_wholes(1) or (0,))[0]
    ones = np.ones(shape[-2:], np.bool_)
    kept = np.triu(ones, shift) if node.flag("upper", True) else np.tril(ones, shift)
    return [node.call(Op.WHERE, (Constant(kept), node.input(0), node.scalar(0)))]


def _cast(node: Node) -> Sequence[Expr]:
    node.ignore("saturate", "round_mode")  # for float8 alone, which is refused
    return [node.call(Op.CAST, (node.input(0),), CastAttrs(node.element_type("to")))]


def _cast_like(node: Node) -> Sequence[Expr]:
    node.ignore("saturate", "round_mode")
    return [node.call(Op.CAST, (node.input(0),), CastAttrs(node.type(1).dtype))]


def _dropout(node: Node) -> Sequence[Expr]:
    node.ignore("ratio", "seed", "is_test")
    training = node.known(2)
    if training is not None and bool(training.reshape(-1)[0]):
        node.refuse("it is in training mode; export the model for inference")
    return [node.call(Op.DROPOUT, (node.input(0),))]


CONVERTERS: Mapping[str, Converter] = {
    "Cast": _cast,
    "CastLike": _cast_like,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "DepthToSpace": _depth_to_space,
    "Dropout": _dropout,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "OneHot": _one_hot,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
}
