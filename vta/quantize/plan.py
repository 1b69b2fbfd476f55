"""Which tensors of a float graph become int8, and which are computed and limited before anything is rounded.

A layer keeps its sums until its activation and, with a residual, the addition are done: only what comes out is a
*point*, a tensor that is quantised. Functions of one tensor (hard swish, sigmoid of a product with itself) are points
at their ends alone. What only moves elements keeps the scale of what it moves.
Tests: tests/vta/quantize/test_plan.py.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np
import onnx

from vta.quantize.graph import Graph, attribute, name_of

__all__ = ["LAYERS", "Plan", "Point", "plan", "weight_axis"]

LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""Operators with weights."""

_LIMITS = {"Relu", "Clip"}
_AVERAGES = {"AveragePool", "GlobalAveragePool", "ReduceMean"}
_MOVING = {
    "MaxPool", "GlobalMaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Split",
    "DepthToSpace", "SpaceToDepth",
}  # fmt: skip
_POINTWISE = {
    "Abs", "Elu", "Erf", "Exp", "HardSigmoid", "HardSwish", "LeakyRelu", "Neg", "PRelu", "Selu", "Sigmoid", "Softplus",
    "Softsign", "Sqrt", "Tanh", "Relu", "Clip", "Add", "Sub", "Mul", "Div", "Pow", "Max", "Min",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """A tensor that is quantised: ``root`` is itself, or the point whose scale it shares since only places changed."""

    name: str
    root: str
    made_by: tuple[str, ...]
    """Names of the nodes whose work ends here, the last one last; of an input of the model, none."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The points by name, and the layers whose weights become int8, in the graph's order."""

    points: Mapping[str, Point]
    layers: tuple[onnx.NodeProto, ...]

    @property
    def roots(self) -> tuple[str, ...]:
        """The points that have a scale of their own."""
        return tuple(name for name, point in self.points.items() if point.root == name)


class _Kind(Enum):
    """What is known of a tensor in integers."""

    REAL = auto()
    """Nothing."""
    SUMS = auto()
    """Sums of a layer or average, which may be added to something."""
    ENDED = auto()
    """Sums that are limited or added to something, and may not be added again."""
    FUNCTION = auto()
    """A function of one point."""
    MOVED = auto()
    """Another point's elements in other places."""


@dataclass(slots=True)
class _State:
    kind: _Kind
    root: str = ""
    work: tuple[str, ...] = ()


@dataclass(slots=True)
class _Planner:
    graph: Graph
    keep: Collection[str]
    readers: dict[str, list[onnx.NodeProto]] = field(init=False)
    states: dict[str, _State] = field(default_factory=dict)
    points: dict[str, Point] = field(default_factory=dict)
    layers: list[onnx.NodeProto] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.readers = self.graph.readers()

    # --- what nodes ask of tensors

    def state(self, name: str) -> _State:
        return self.states.get(name, _State(_Kind.REAL, name))

    def require(self, name: str) -> None:
        """Make a tensor a point."""
        if name in self.points:
            return
        state = self.state(name)
        root = self.points[state.root].root if state.kind is _Kind.MOVED else name
        self.points[name] = Point(name, root, state.work)

    def alone(self, name: str) -> bool:
        """Return whether a tensor has one reader, and the outside is none."""
        return len(self.readers.get(name, ())) == 1 and name not in self.graph.outputs and name not in self.points

    def root_of(self, name: str) -> str | None:
        """Return the point that a tensor is a function of, making it one; None for what must stay real."""
        state = self.state(name)
        if state.kind is _Kind.FUNCTION and name not in self.points:
            return state.root
        if state.kind is _Kind.REAL and name not in self.points:
            return None
        self.require(name)
        return name

    # --- nodes

    def visit(self, node: onnx.NodeProto) -> None:
        work = (name_of(node),)
        if name_of(node) in self.keep:
            self.real(node)
            return
        data = [name for name in node.input if name and name not in self.graph.constants]
        kind = node.op_type
        if kind in LAYERS:
            self.layer(node, data, work)
        elif kind in _AVERAGES and data and self._averages_images(node):
            self.require(data[0])
            self._set(node, _State(_Kind.SUMS, work=work))
        elif kind in _LIMITS and self.state(data[0]).kind in (_Kind.SUMS, _Kind.ENDED) and self.alone(data[0]):
            self._set(node, _State(_Kind.ENDED, work=(*self.state(data[0]).work, *work)))
        elif kind == "Add" and len(data) == 2 and data[0] != data[1]:
            self.add(node, data, work)
        elif kind == "Concat" and len(data) > 1:
            self.concat(node, data, work)
        elif kind in _POINTWISE:
            self.pointwise(node, data, work)
        elif (kind in _MOVING or (kind == "Resize" and _is_nearest(node))) and self._known(data[0]):
            self.require(data[0])
            self._set(node, _State(_Kind.MOVED, data[0], work))
        else:
            self.real(node)

    def layer(self, node: onnx.NodeProto, data: list[str], work: tuple[str, ...]) -> None:
        weight = self.graph.constants.get(node.input[1])
        if node.input[0] in self.graph.constants or (weight is None and node.op_type != "MatMul"):
            self.real(node)
            return
        for name in data[:2]:
            self.require(name)
        if weight is not None:
            self.layers.append(node)
        self._set(node, _State(_Kind.SUMS, work=work))

    def add(self, node: onnx.NodeProto, data: list[str], work: tuple[str, ...]) -> None:
        """One addend may be sums that nothing else reads: the later of two, whose kernel then does the addition."""
        open_ones = [n for n in data if self.state(n).kind is _Kind.SUMS and self.alone(n)]
        kept = open_ones[-1] if open_ones else ""
        if len(open_ones) == 2:
            order = {name: at for at, each in enumerate(self.graph.nodes) for name in each.output}
            kept = max(open_ones, key=lambda name: order[name])
        if not any(self._known(name) for name in data):
            self.real(node)
            return
        for name in data:
            if name != kept:
                self.require(name)
        self._set(node, _State(_Kind.ENDED, work=(*self.state(kept).work, *work) if kept else work))

    def concat(self, node: onnx.NodeProto, data: list[str], work: tuple[str, ...]) -> None:
        """Sums that nothing else reads are rounded at the scale of the whole."""
        if not any(self._known(name) for name in data):
            self.real(node)
            return
        parts: tuple[str, ...] = ()
        for name in data:
            state = self.state(name)
            if state.kind in (_Kind.SUMS, _Kind.ENDED) and self.alone(name):
                parts += state.work
            else:
                self.require(name)
        self._set(node, _State(_Kind.ENDED, work=(*parts, *work)))

    def pointwise(self, node: onnx.NodeProto, data: list[str], work: tuple[str, ...]) -> None:
        if not any(self._known(name) for name in data):
            self.real(node)
            return
        roots = {self.root_of(name) for name in data}
        if len(roots) == 1 and None not in roots:
            [root] = roots
            before = tuple(step for name in data for step in self.state(name).work if name not in self.points)
            self._set(node, _State(_Kind.FUNCTION, str(root), tuple(dict.fromkeys((*before, *work)))))
        elif node.op_type == "Mul" and len(data) == 2:
            for name in data:
                self.require(name)
            self._set(node, _State(_Kind.SUMS, work=work))
        else:
            self.real(node)

    def real(self, node: onnx.NodeProto) -> None:
        """A node that stays float: layers in front of it end in int8."""
        for name in node.input:
            if name and self.state(name).kind in (_Kind.SUMS, _Kind.ENDED):
                self.require(name)
        self._set(node, _State(_Kind.REAL, work=(name_of(node),)))

    def _known(self, name: str) -> bool:
        return name in self.points or self.state(name).kind is not _Kind.REAL

    def _set(self, node: onnx.NodeProto, state: _State) -> None:
        for name in node.output:
            if name:
                self.states[name] = state

    def _averages_images(self, node: onnx.NodeProto) -> bool:
        """Return whether a mean is one over rows and columns."""
        if node.op_type != "ReduceMean":
            return True
        axes = attribute(node, "axes")
        if axes is None and len(node.input) > 1:
            axes = self.graph.constants.get(node.input[1])
        return axes is not None and sorted(int(axis) % 4 for axis in np.asarray(axes).reshape(-1)) == [2, 3]


def plan(graph: Graph, keep: Collection[str] = ()) -> Plan:
    """Return what becomes int8 in ``graph``; nodes named in ``keep`` stay float."""
    planner = _Planner(graph, keep)
    for node in graph.nodes:
        planner.visit(node)
    for name in graph.outputs:
        if planner.state(name).kind in (_Kind.SUMS, _Kind.ENDED):
            planner.require(name)
    made = {name: at for at, node in enumerate(graph.nodes) for name in node.output}
    ordered = sorted(planner.points, key=lambda name: made.get(name, -1))
    return Plan({name: planner.points[name] for name in ordered}, tuple(planner.layers))


def _is_nearest(node: onnx.NodeProto) -> bool:
    return attribute(node, "mode", b"nearest") == b"nearest"


def weight_axis(node: onnx.NodeProto) -> int:
    """Return the axis of a layer's weights along which the channels of its result lie."""
    match node.op_type:
        case "Conv":
            return 0
        case "ConvTranspose":
            return 1
        case "Gemm":
            return 0 if attribute(node, "transB", 0) else 1
        case _:
            return -1
