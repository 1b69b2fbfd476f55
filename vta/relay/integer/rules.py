"""What each float operator means for integers: a rule an operator, from the values of its operands to its own.

A rule returns None where integers do not help; the operator then stays as it is. Tests:
tests/vta/relay/integer/test_convert.py, tests/vta/relay/integer/test_patterns.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from typing import TypeAlias

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.elementwise import CastAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs, PadMode
from runtime.executor.operators.pooling import Pool2dAttrs
from runtime.executor.operators.qnn.quantize import QuantizeAttrs
from runtime.executor.operators.selection import ConcatenateAttrs
from runtime.executor.operators.types import TensorType
from vta.relay.integer import bent, layers, pointwise, resizing
from vta.relay.integer.scaling import Target, looked_up, rescaled
from vta.relay.integer.values import Cells, Ints, Moved, Sums, Term, Value
from vta.relay.integer.weights import known, scalar
from vta.relay.ir.nodes import Call, Expr, TupleGetItem, constant, tensor_type
from vta.relay.ir.origin import Origin, merged
from vta.relay.ops.call import call, with_args

__all__ = ["RULES"]

Rule: TypeAlias = Callable[[Call, list[Value]], Value | None]


def _quantize(expr: Call, arguments: list[Value]) -> Value | None:
    attrs = expr.attrs
    assert isinstance(attrs, QuantizeAttrs)
    scale, zero = scalar(expr.args[1]), scalar(expr.args[2])
    if scale is None or zero is None or attrs.out_dtype not in ("int8", "uint8"):
        return None
    offset = 128 if attrs.out_dtype == "uint8" else 0
    target = Target(scale, int(zero) - offset, expr.origins)
    made = _cells_at(arguments[0], target) or _quantised_real(arguments[0], target)
    return _integer(Ints(made, offset))


def _integer(ints: Ints) -> Value:
    """Return an integer tensor of the model, whose own type is uint8 where there is an offset."""

    def expr() -> Expr:
        if not ints.offset:
            return ints.expr
        wide = call(Op.CAST, (ints.expr,), CastAttrs("int32"))
        return call(Op.CAST, (call(Op.ADD, (wide, constant(ints.offset, "int32"))),), CastAttrs("uint8"))

    return Value(expr, ints=ints)


def _cells_at(value: Value, target: Target) -> Expr | None:
    """Return the cells of a value at a scale, or None where it is not known in integers."""
    if value.cells is not None:
        return rescaled(Sums(None, (value.cells,), 1), target)
    if value.sums is not None and (made := rescaled(value.sums, target)) is not None:
        return made
    if value.table is not None:
        return looked_up(value.table, target)
    if value.bent is not None:
        return bent.rescaled_bent(value.bent, target)
    if value.moved is not None:  # it is quantised before it is moved: the numbers are the same
        source = _cells_at(value.moved.source, Target(target.scale, target.zero))
        return None if source is None else value.moved.move(source, target.origins)
    if value.parts is not None and value.axis is not None:  # a concatenation of several scales
        inner = Target(target.scale, target.zero)  # a part is not yet what the model's node quantises
        parts = [_cells_at(part, inner) or _quantised_real(part, inner) for part in value.parts]
        return call(Op.CONCATENATE, parts, ConcatenateAttrs(value.axis), target.origins)
    return None


def _quantised_real(value: Value, target: Target) -> Expr:
    scale, zero = constant(target.scale, "float32"), constant(target.zero, "int8")
    return call(Op.QUANTIZE, (value.expr, scale, zero), QuantizeAttrs("int8", 0), target.origins)


def _dequantize(expr: Call, arguments: list[Value]) -> Value | None:
    scale, zero, ints = scalar(expr.args[1]), scalar(expr.args[2]), arguments[0].ints
    if ints is None and tensor_type(expr.args[0]).dtype == "uint8" and known(expr.args[0]) is None:
        wide = call(Op.CAST, (arguments[0].expr,), CastAttrs("int32"))
        ints = Ints(call(Op.CAST, (call(Op.SUBTRACT, (wide, constant(128, "int32"))),), CastAttrs("int8")), 128)
    if scale is None or zero is None or ints is None:
        return None
    return layers.of_cells(Cells(ints.expr, scale, int(zero) - ints.offset), expr.origins)


def _relu(expr: Call, arguments: list[Value]) -> Value | None:
    return _clipped(expr, arguments, 0.0, inf)


def _clip(expr: Call, arguments: list[Value]) -> Value | None:
    return _clipped(expr, arguments, expr.attrs.a_min, expr.attrs.a_max)  # type: ignore[attr-defined]


def _clipped(expr: Call, arguments: list[Value], low: float, high: float) -> Value | None:
    [value] = arguments
    table = pointwise.applied(expr, arguments)
    sums = layers.sums_of(value)
    if sums is None:
        return table
    limits = max(sums.low, min(low, sums.high)), min(sums.high, max(high, sums.low))
    return layers.of_sums(
        Sums(sums.term, sums.cells, sums.axis, sums.offset, *limits, merged((sums.origins, expr.origins))),
        expr.origins,
        None if table is None else table.table,
    )


def _add(expr: Call, arguments: list[Value]) -> Value | None:
    return layers.added(expr, arguments, pointwise.applied(expr, arguments))


def _moving(expr: Call, arguments: list[Value]) -> Value | None:
    """An operator that moves elements moves cells as well."""
    value = arguments[0]
    others = [argument.expr for argument in arguments[1:]]
    if value.ints is not None:
        return _tuple_of(expr, lambda made: _integer(Ints(made, value.ints.offset)), value.ints.expr, others)  # type: ignore[union-attr]
    if value.cells is None:
        return _moved_sums(expr, value) or _moved_later(expr, value, others)
    cells = value.cells
    return _tuple_of(
        expr, lambda made: layers.of_cells(Cells(made, cells.scale, cells.zero), expr.origins), cells.expr, others
    )


def _moved_sums(expr: Call, value: Value) -> Value | None:
    """Sums move where every element has the same scale, or channels stay what they are."""
    sums, old, new = value.sums, tensor_type(expr.args[0]).shape, expr.type
    if sums is None or sums.term is None or sums.cells or not isinstance(new, TensorType) or len(expr.args) != 1:
        return None
    same_channels = (
        len(new.shape) > 1 and sums.axis == 1 and new.shape[:2] == old[:2] and expr.callee is not Op.TRANSPOSE
    )
    if (sums.term.scale.size > 1 or sums.offset.size > 1) and not (
        same_channels and max(new.shape[2:], default=1) == 1
    ):
        return None
    assert isinstance(expr.callee, Op)
    made = call(expr.callee, (sums.term.expr,), expr.attrs, expr.origins)
    moved = replace(sums, term=Term(made, sums.term.scale), axis=min(sums.axis, len(new.shape) - 1))
    return layers.of_sums(moved, expr.origins)


def _moved_later(expr: Call, value: Value, others: list[Expr]) -> Value | None:
    """Return a value that will be moved once it is cells, at whichever scale: rounding is monotonous."""
    known_in_integers = value.sums or value.table or value.moved or (value.parts and value.axis is not None)
    if not known_in_integers or not isinstance(expr.type, TensorType):
        return None

    def move(cells: Expr, origins: tuple[Origin, ...]) -> Expr:
        assert isinstance(expr.callee, Op)
        return call(expr.callee, (cells, *others), expr.attrs, merged((expr.origins, origins)))

    return Value(lambda: with_args(expr, [value.expr, *others]), moved=Moved(value, move))


def _tuple_of(expr: Call, wrap: Callable[[Expr], Value], data: Expr, others: list[Expr]) -> Value:
    assert isinstance(expr.callee, Op)
    made = call(expr.callee, (data, *others), expr.attrs, expr.origins)
    if isinstance(made.type, TensorType):
        return wrap(made)
    parts = tuple(wrap(TupleGetItem(made, index)) for index in range(len(made.type.fields)))
    return Value(lambda: made, parts=parts)


def _max_pool(expr: Call, arguments: list[Value]) -> Value | None:
    assert isinstance(expr.attrs, Pool2dAttrs)
    return _moving(expr, arguments)


def _resize(expr: Call, arguments: list[Value]) -> Value | None:
    return resizing.resize(expr, arguments, _moving)


def _pad(expr: Call, arguments: list[Value]) -> Value | None:
    """Constant pads become the cell that stands for them, if there is one exactly."""
    attrs, value = expr.attrs, arguments[0]
    assert isinstance(attrs, PadAttrs)
    if attrs.pad_mode is not PadMode.CONSTANT:
        return _moving(expr, arguments)
    if value.cells is None:
        return None
    cell = attrs.pad_value / value.cells.scale + value.cells.zero
    if abs(cell - round(cell)) > 1e-6 or not -128 <= round(cell) <= 127:
        return None
    changed: Attrs = PadAttrs(attrs.pad_width, float(round(cell)), attrs.pad_mode)
    made = call(Op.PAD, (value.cells.expr,), changed, expr.origins)
    return layers.of_cells(Cells(made, value.cells.scale, value.cells.zero), expr.origins)


def _concatenate(expr: Call, arguments: list[Value]) -> Value | None:
    assert isinstance(expr.attrs, ConcatenateAttrs)
    cells = [value.cells for value in arguments]
    first = cells[0]
    if first is not None and all(c is not None and (c.scale, c.zero) == (first.scale, first.zero) for c in cells):
        made = call(Op.CONCATENATE, [c.expr for c in cells if c is not None], expr.attrs, expr.origins)
        return layers.of_cells(Cells(made, first.scale, first.zero), expr.origins)
    if any(value.cells or value.sums or value.table for value in arguments):
        return Value(
            lambda: with_args(expr, [value.expr for value in arguments]), parts=tuple(arguments), axis=expr.attrs.axis
        )
    return None


def _pointwise(expr: Call, arguments: list[Value]) -> Value | None:
    return pointwise.applied(expr, arguments)


_MOVING = (
    Op.BATCH_FLATTEN, Op.BROADCAST_TO, Op.COPY, Op.DEPTH_TO_SPACE, Op.DROPOUT, Op.EXPAND_DIMS, Op.GLOBAL_MAX_POOL2D,
    Op.MAX, Op.RESHAPE, Op.SPACE_TO_DEPTH, Op.SPLIT, Op.SQUEEZE, Op.STRIDED_SLICE, Op.TAKE, Op.TILE, Op.TRANSPOSE,
    Op.UPSAMPLING,
)  # fmt: skip

_POINTWISE = (
    Op.ABS, Op.CEIL, Op.ELU, Op.ERF, Op.EXP, Op.FLOOR, Op.LOG, Op.MAXIMUM, Op.MINIMUM, Op.NEGATIVE, Op.POWER, Op.ROUND,
    Op.RSQRT, Op.SIGMOID, Op.SIGN, Op.SQRT, Op.SUBTRACT, Op.TANH,
)  # fmt: skip

RULES: Mapping[Op, Rule] = {
    **dict.fromkeys(_MOVING, _moving),
    **dict.fromkeys(_POINTWISE, _pointwise),
    Op.ADD: _add,
    Op.AVG_POOL2D: layers.average_pool,
    Op.BATCH_MATMUL: layers.batch_matmul,
    Op.BIAS_ADD: layers.bias_add,
    Op.CLIP: _clip,
    Op.CONCATENATE: _concatenate,
    Op.CONV2D: layers.conv2d,
    Op.CONV2D_TRANSPOSE: layers.conv2d_transpose,
    Op.DENSE: layers.dense,
    Op.DEQUANTIZE: _dequantize,
    Op.DIVIDE: layers.divide,
    Op.GLOBAL_AVG_POOL2D: layers.global_average_pool,
    Op.HARD_SIGMOID: bent.hard_sigmoid,
    Op.HARD_SWISH: bent.hard_swish,
    Op.LEAKY_RELU: bent.leaky_relu,
    Op.MATMUL: layers.matmul,
    Op.MAX_POOL2D: _max_pool,
    Op.MEAN: layers.mean,
    Op.MULTIPLY: layers.multiply,
    Op.PAD: _pad,
    Op.PRELU: bent.prelu,
    Op.QUANTIZE: _quantize,
    Op.RELU: _relu,
    Op.RESIZE2D: _resize,
}
"""The rule of every operator that has one."""
