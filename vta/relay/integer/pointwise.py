"""Functions of one tensor of cells, element by element: whatever they are, 256 numbers say what they do.

Tests: tests/vta/relay/integer/test_patterns.py.
"""

import numpy as np

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from vta.relay.integer.values import Table, Value
from vta.relay.integer.weights import known
from vta.relay.ir.nodes import Call, Constant, Expr, Var, constant, tensor_type
from vta.relay.ir.origin import merged
from vta.relay.ops.call import call, with_args

__all__ = ["applied"]


def applied(expr: Call, arguments: list[Value]) -> Value | None:
    """Return the value of an operator as a function of the one tensor of cells that it depends on, or None.

    Constants are single numbers, or one for each channel (axis 1).
    """
    if tensor_type(expr).dtype != "float32":
        return None
    tables = [_table(value) for value in arguments]
    sources = [table for table in tables if table is not None]
    if not sources or any(table.cells.expr is not sources[0].cells.expr for table in sources):
        return None
    if any(
        t is not None and tensor_type(a).shape != tensor_type(expr).shape
        for t, a in zip(tables, expr.args, strict=True)
    ):
        return None
    if any(table.cells is not sources[0].cells for table in sources):
        return None  # one tensor at two scales
    made: list[Expr] = []
    for table, argument in zip(tables, expr.args, strict=True):
        part = table.expr if table is not None else _constant(argument, expr)
        if part is None:
            return None
        made.append(part)
    value = _prelu(*made) if expr.callee is Op.PRELU else with_args(expr, made)

    def whole() -> Expr:
        return with_args(expr, [argument.expr for argument in arguments])

    origins = merged((*(table.origins for table in sources), expr.origins))
    return Value(whole, table=Table(sources[0].cells, sources[0].var, value, origins))


def _prelu(data: Expr, slopes: Expr) -> Call:
    """Return a PReLU whose slopes broadcast: its own lie along an axis, and here every channel is a row."""
    is_positive = call(Op.GREATER_EQUAL, (data, constant(0, "float32")))
    return call(Op.WHERE, (is_positive, data, call(Op.MULTIPLY, (data, slopes))))


def _table(value: Value) -> Table | None:
    """Return a value as a function of cells; cells themselves are the simplest one."""
    if value.table is not None or value.cells is None:
        return value.table
    var = Var("cells", TensorType((1, 256), "float32"))
    value.table = Table(value.cells, var, var)
    return value.table


def _constant(argument: Expr, expr: Call) -> Expr | None:
    """Return a constant as it stands beside the 256 numbers: a scalar, or one row for each channel."""
    numbers, shape = known(argument), tensor_type(expr).shape
    if numbers is None or numbers.dtype != np.float32:
        return None
    if numbers.size == 1:
        return Constant(numbers.reshape(1, 1))
    if expr.callee is Op.PRELU:
        assert isinstance(expr.attrs, AxisAttrs)
        is_by_channel = expr.attrs.axis % len(shape) == 1 and numbers.shape == shape[1:2]
        return Constant(numbers.reshape(-1, 1)) if is_by_channel else None
    wide = (1,) * (len(shape) - numbers.ndim) + numbers.shape
    if len(shape) > 1 and wide == tuple(extent if axis == 1 else 1 for axis, extent in enumerate(shape)):
        return Constant(numbers.reshape(-1, 1))
    return None
