"""Integer calls as steps of an epilogue, with the arrays that they read.

Tests: tests/vta/relay/backend/test_build.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.rescale import OutputAttrs, WeightedAttrs
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from runtime.executor.operators.qnn.tables import LookupAttrs
from runtime.executor.operators.types import Array
from vta.relay.integer.formulas import formula_steps
from vta.relay.integer.weights import known
from vta.relay.ir.nodes import Call, Expr
from vta.topi.core.epilogue import Add, Clip, Epilogue, Fork, Joint, Multiply, Residual, ShiftRight, Step
from vta.topi.core.fitted_steps import fitted_steps
from vta.topi.core.fixed_point import FixedPoint, OutputSteps, ScaledResidual, output_steps
from vta.topi.core.table_steps import TableError, table_steps

__all__ = ["JOINTS", "CallSteps", "add_steps", "fork_steps", "lookup_steps", "requantize_steps"]

_CELL = (-128, 127)
_MOST_OPERATIONS = 64
"""Operations on each number up to which a function is computed by the accelerator: the host looks it up in a table."""


@dataclass(frozen=True, slots=True, eq=False)
class CallSteps:
    """Steps, and what they read, in order: constant arrays, and expressions for residuals."""

    steps: Epilogue
    reads: tuple[Array | Expr, ...] = ()


def requantize_steps(call: Call) -> CallSteps:
    """Return the steps of a ``qnn.rescale``; raises ``FixedPointError`` where 32 bits are not enough."""
    attrs = call.attrs
    assert isinstance(attrs, RescaleAttrs)
    bias, narrow, multiplier = (_numbers(argument) for argument in call.args[1:4])
    scale = FixedPoint(multiplier, narrow, attrs.shift, attrs.ties_to_even)
    residual = None
    if len(call.args) == 5:
        residual = ScaledResidual(attrs.residual_multiplier, attrs.residual_zero_point)
    # The limits of the steps have the zero point among them; tighter ones follow.
    low, high = min(attrs.out_min, attrs.zero_point), max(attrs.out_max, attrs.zero_point)
    made = output_steps(scale, bias=bias, zero_point=attrs.zero_point, low=low, high=high, residual=residual)
    return _with_limits(made, (low, high), (attrs.out_min, attrs.out_max), call)


def _with_limits(made: OutputSteps, had: tuple[int, int], wanted: tuple[int, int], call: Call) -> CallSteps:
    steps: list[Step] = [*made.steps]
    if had != wanted:
        steps.append(Clip(*wanted))
    return CallSteps(tuple(steps), (*made.arrays, *call.args[4:]))


JOINTS: Mapping[object, Joint] = {
    Op.MAXIMUM: Joint.MAXIMUM,
    Op.MINIMUM: Joint.MINIMUM,
    Op.MULTIPLY: Joint.MULTIPLY,
}
"""How operators join what two chains of steps give."""


def fork_steps(joint: Joint, sides: Sequence[Call]) -> CallSteps:
    """Return the steps that join two requantisations of a number, or one and the number itself."""
    made = [requantize_steps(side) for side in sides]
    assert all(isinstance(read, np.ndarray) for each in made for read in each.reads), "they have no residuals"
    fork = Fork(joint, *(each.steps for each in made))
    return CallSteps((fork,), tuple(read for each in made for read in each.reads))


def add_steps(call: Call, side: int) -> CallSteps:
    """Return the steps of a ``qnn.add`` for what is its operand ``side``; the other one is a residual."""
    attrs = call.attrs
    assert isinstance(attrs, WeightedAttrs)
    multipliers = (attrs.lhs_multiplier, attrs.rhs_multiplier)
    steps: list[Step] = []
    if multipliers[side] != 1:
        steps.append(Multiply(multipliers[side]))
    if attrs.addend:
        steps.append(Add(attrs.addend))
    steps.append(Residual(multiplier=multipliers[1 - side]))
    if attrs.shift:
        steps.append(ShiftRight(attrs.shift))
    steps.append(Clip(attrs.out_min, attrs.out_max))
    return CallSteps(tuple(steps), (call.args[1 - side],))


def lookup_steps(call: Call) -> CallSteps:
    """Return the steps of a ``qnn.lookup``: those of its formula, or a polyline; raises ``EpilogueError``.

    Whichever they are, they make the table's numbers of every cell that there can be.
    """
    attrs, table = call.attrs, known(call.args[1])
    assert isinstance(attrs, LookupAttrs)
    assert table is not None, "a function has a constant table"
    low, high = _range_of(call.args[0])
    if attrs.formula:
        made = formula_steps(attrs.formula, attrs.parameters)
        rows = table.reshape(-1, 256)[:, low + 128 : high + 129].astype(np.int32)
        cells = np.broadcast_to(np.arange(low, high + 1, dtype=np.int32), rows.shape)
        fitted = fitted_steps(made, cells, rows)
        if fitted is not None:
            return CallSteps(fitted, made.arrays)
    if table.ndim > 1:
        raise TableError("it has a function for each channel, and the accelerator has none for them all")
    if table.dtype != "int8":
        raise TableError(f"its results are {table.dtype}, and the accelerator stores int8")
    return CallSteps(table_steps(table, low=low, high=high, most=_MOST_OPERATIONS))


def _range_of(expr: Expr) -> tuple[int, int]:
    """Return from where to where the cells of an expression go."""
    if isinstance(expr, Call) and isinstance(expr.attrs, OutputAttrs) and expr.attrs.out_dtype == "int8":
        return expr.attrs.out_min, expr.attrs.out_max
    return _CELL


def _numbers(argument: Expr) -> Array:
    value = known(argument)
    assert value is not None, "a requantisation has constant tables"
    return np.atleast_1d(value.reshape(-1).astype(np.int64))
