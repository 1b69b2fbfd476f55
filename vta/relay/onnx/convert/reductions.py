"""Along axes: sums, means, places of the largest. Tests: tests/vta/relay/onnx/test_backend_cases.py."""

from collections.abc import Callable, Mapping, Sequence

from runtime.executor.operators.names import Op
from runtime.executor.operators.reduction import ArgAttrs, ReduceAttrs
from vta.relay.ir.nodes import Expr
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS"]

_Step = Callable[[Node, Expr], Expr]


def _reduce(op: Op, before: _Step | None = None, after: _Step | None = None) -> Converter:
    """Return a converter that reduces along the node's axes, of ``before`` of the data, and then does ``after``."""

    def convert(node: Node) -> Sequence[Expr]:
        axes = node.axes()
        keep, nothing = node.flag("keepdims", True), node.flag("noop_with_empty_axes")
        data = node.input(0) if before is None else before(node, node.input(0))
        result: Expr = data
        if axes or not nothing:
            result = node.call(op, (data,), ReduceAttrs(axes or None, keep))
        return [result if after is None else after(node, result)]

    return convert


def _apply(op: Op) -> _Step:
    return lambda node, data: node.call(op, (data,))


def _square(node: Node, data: Expr) -> Expr:
    return node.call(Op.MULTIPLY, (data, data))


def _log_sum_exp(node: Node) -> Sequence[Expr]:
    # Around the largest element, so that no power overflows.
    axes = node.axes()
    keep, nothing = node.flag("keepdims", True), node.flag("noop_with_empty_axes")
    data = node.input(0)
    if not axes and nothing:
        return [data]
    largest = node.call(Op.MAX, (data,), ReduceAttrs(axes or None, True))
    powers = node.call(Op.EXP, (node.call(Op.SUBTRACT, (data, largest)),))
    log = node.call(Op.LOG, (node.call(Op.SUM, (powers,), ReduceAttrs(axes or None, keep)),))
    shift = largest if keep else node.call(Op.MAX, (data,), ReduceAttrs(axes or None, False))
    return [node.call(Op.ADD, (log, shift))]


def _place(op: Op) -> Converter:
    def convert(node: Node) -> Sequence[Expr]:
        attrs = ArgAttrs(node.whole("axis", 0), node.flag("keepdims", True), node.flag("select_last_index"))
        return [node.call(op, (node.input(0),), attrs)]

    return convert


CONVERTERS: Mapping[str, Converter] = {
    "ArgMax": _place(Op.ARGMAX),
    "ArgMin": _place(Op.ARGMIN),
    "ReduceL1": _reduce(Op.SUM, _apply(Op.ABS)),
    "ReduceL2": _reduce(Op.SUM, _square, _apply(Op.SQRT)),
    "ReduceLogSum": _reduce(Op.SUM, None, _apply(Op.LOG)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _reduce(Op.MAX),
    "ReduceMean": _reduce(Op.MEAN),
    "ReduceMin": _reduce(Op.MIN),
    "ReduceProd": _reduce(Op.PROD),
    "ReduceSum": _reduce(Op.SUM),
    "ReduceSumSquare": _reduce(Op.SUM, _square),
}
