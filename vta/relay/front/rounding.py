"""Where a graph of real numbers is rounded to int8, and the graph with that in it.

A layer's sums are rounded behind its activation and the addition of a residual; of two layers that are added, the
earlier one is rounded. Tests: tests/vta/relay/front/test_quantize.py.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from runtime.executor.operators.convolution import Conv2dTransposeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.quantize import DequantizeAttrs, QuantizeAttrs
from vta.quantize.encoding import Encoding
from vta.quantize.weights import weight_scales, weights_at
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, constant, tensor_type
from vta.relay.ir.traverse import children, post_order, use_counts
from vta.relay.ops.call import call, with_args
from vta.relay.ops.rewrite import with_body, with_children

__all__ = ["rounded_graph", "rounded_values"]

_CONVS = (Op.CONV2D, Op.CONV2D_TRANSPOSE)
_AVERAGES = (Op.AVG_POOL2D, Op.GLOBAL_AVG_POOL2D, Op.MEAN)
_MOVING = (Op.MAX_POOL2D, Op.BATCH_FLATTEN, Op.RESHAPE, Op.TRANSPOSE, Op.SQUEEZE, Op.GLOBAL_MAX_POOL2D)
_UNARY = (Op.RELU, Op.CLIP, Op.BIAS_ADD)
_ANY = Encoding(1.0, 0)


def rounded_values(function: Function, *, skip_convs: Collection[int], skip_dense: bool) -> list[Expr]:
    """Return the values of ``function`` that are rounded and have a scale of their own."""
    walk = _Walk(function, {}, skip_convs, skip_dense, power_of_two=False)
    walk.body()
    return list(walk.asked)


def rounded_graph(
    function: Function,
    encodings: Mapping[Expr, Encoding],
    *,
    skip_convs: Collection[int],
    skip_dense: bool,
    power_of_two: bool,
) -> Function:
    """Return ``function`` with these values rounded, and with int8 weights."""
    walk = _Walk(function, encodings, skip_convs, skip_dense, power_of_two=power_of_two)
    return with_body(function, walk.body())


@dataclass(eq=False)
class _Walk:
    function: Function
    encodings: Mapping[Expr, Encoding]
    skip_convs: Collection[int]
    skip_dense: bool
    power_of_two: bool
    new: dict[Expr, Expr] = field(default_factory=dict)
    open: set[Expr] = field(default_factory=set)
    """Sums of a layer that may still be added to something."""
    sums: set[Expr] = field(default_factory=set)
    """Values that are made of integers and not yet rounded."""
    roots: dict[Expr, Expr] = field(default_factory=dict)
    """Value whose elements were only moved -> where they come from."""
    asked: dict[Expr, None] = field(default_factory=dict)
    convs: int = 0

    def body(self) -> Expr:
        self.counts = use_counts(self.function.body)
        for expr in post_order(self.function.body):
            self.new[expr] = self._call(expr) if isinstance(expr, Call) else self._other(expr)
        return self._settled(self.function.body)

    def _settled(self, expr: Expr) -> Expr:
        return self._rounded(expr) if expr in self.sums else self.new[expr]

    def _other(self, expr: Expr) -> Expr:
        if isinstance(expr, Tuple) or children(expr):
            return with_children(expr, tuple(self._settled(child) for child in children(expr)))
        return expr

    def _rounded(self, expr: Expr) -> Expr:
        """Return a value rounded to int8 and as real numbers again."""
        root = self.roots.get(expr, expr)
        self.asked[root] = None
        encoding = self.encodings.get(root, _ANY)
        scale, zero = constant(encoding.scale, "float32"), constant(encoding.zero, "int8")
        cells = call(Op.QUANTIZE, (self.new[expr], scale, zero), QuantizeAttrs("int8"), _origins(expr))
        return call(Op.DEQUANTIZE, (cells, scale, zero), DequantizeAttrs(), _origins(expr))

    def _call(self, expr: Call) -> Expr:
        args, op = expr.args, expr.callee
        if op in _CONVS or op is Op.DENSE:
            return self._layer(expr)
        if op in _AVERAGES and args[0] in self._known:
            self._made(expr, open_=True)
            return with_args(expr, [self._rounded(args[0])])
        if op in _MOVING and args[0] in self._known:
            self.roots[expr] = self.roots.get(args[0], args[0])
            return with_args(expr, [self._settled(args[0])])
        if op in _UNARY or (op in (Op.ADD, Op.MULTIPLY) and any(isinstance(arg, Constant) for arg in args)):
            return self._follows(expr)
        if op is Op.ADD and self._same_shapes(expr) and any(arg in self._known for arg in args):
            return self._sum(expr)
        return with_args(expr, [self._settled(arg) for arg in args])

    @property
    def _known(self) -> Collection[Expr]:
        return self.sums | self.roots.keys()

    def _made(self, expr: Expr, *, open_: bool) -> None:
        self.sums.add(expr)
        if open_:
            self.open.add(expr)

    def _layer(self, expr: Call) -> Expr:
        number = self.convs
        self.convs += expr.callee in _CONVS
        skipped = self.skip_dense if expr.callee is Op.DENSE else number in self.skip_convs
        weight = expr.args[1]
        if skipped or not isinstance(weight, Constant) or weight.value.dtype != np.float32:
            return with_args(expr, [self._settled(arg) for arg in expr.args])
        self._made(expr, open_=True)
        return with_args(expr, [self._rounded(expr.args[0]), self._weights(expr, weight)])

    def _weights(self, expr: Call, weight: Constant) -> Expr:
        axis = 1 if expr.callee is Op.CONV2D_TRANSPOSE else 0
        grouped = isinstance(expr.attrs, Conv2dTransposeAttrs) and expr.attrs.groups > 1
        scales = weight_scales(
            weight.value, None if grouped else axis, bias=None, input_scale=1.0, power_of_two=self.power_of_two
        )
        made = weights_at(weight.value, scales, axis)
        along = scales if scales.size > 1 else scales.reshape(())
        zeros = Constant(np.zeros(along.shape, np.int8))
        return call(Op.DEQUANTIZE, (Constant(made.cells), Constant(along), zeros), DequantizeAttrs(axis))

    def _follows(self, expr: Call) -> Expr:
        """An activation, an offset or a factor is done on the sums, if nothing else reads these."""
        data = next((arg for arg in expr.args if not isinstance(arg, Constant)), None)
        if data is None or data not in self._known:
            return with_args(expr, [self._settled(arg) for arg in expr.args])
        alone = data in self.sums and self.counts[data] == 1
        self._made(expr, open_=data in self.open and alone and expr.callee not in (Op.RELU, Op.CLIP))
        return with_args(expr, [self.new[arg] if arg is data and alone else self._settled(arg) for arg in expr.args])

    def _sum(self, expr: Call) -> Expr:
        candidates = [arg for arg in expr.args if arg in self.open and self.counts[arg] == 1]
        kept = candidates[-1] if candidates and expr.args[0] is not expr.args[1] else None
        self._made(expr, open_=False)
        return with_args(expr, [self.new[arg] if arg is kept else self._rounded(arg) for arg in expr.args])

    def _same_shapes(self, expr: Call) -> bool:
        return tensor_type(expr.args[0]) == tensor_type(expr.args[1])


def _origins(expr: Expr) -> tuple:  # type: ignore[type-arg]
    return expr.origins if isinstance(expr, Call) else ()
