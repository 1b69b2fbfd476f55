"""Integers at another scale: multipliers and shifts for what was decided, as calls of integer operators.

A scale is a multiplier and a shift (``FixedPoint``), so that a result is at most 1/2 + 2**-6 from the exact one; limits
of the real numbers become limits of the result. Where scales are powers of two apart, or a small number of them, the
result is that of the real numbers: exact ties go to the even number, as ONNX has it.
Tests: tests/vta/relay/integer/test_scaling.py, tests/vta/relay/integer/test_ties.py.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.quantize import quantized
from runtime.executor.operators.qnn.rescale import WeightedAttrs
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from runtime.executor.operators.qnn.tables import LookupAttrs
from vta.relay.integer.formulas import Formula, formula_of
from vta.relay.integer.values import Cells, Ints, Reals, Sums, Table
from vta.relay.interpreter import evaluate
from vta.relay.ir.nodes import Call, Constant, Expr, constant, tensor_type
from vta.relay.ir.origin import Origin, merged
from vta.relay.ops.call import call
from vta.relay.ops.rewrite import substitute
from vta.topi.core.fixed_point import FixedPoint, FixedPointError, ScaledResidual

__all__ = ["Target", "along", "looked_up", "moved", "rescaled"]

_INT32 = (-(1 << 31), (1 << 31) - 1)
_CELL = (-128, 127)
_IMMEDIATE = (1 << 15) - 1
"""The largest constant that is one operation of the ALU."""
_MOST_TIED = 256
"""Ties beyond are saturated, whatever the zero point is."""
_FLOAT32_ERROR = 2.0**-22
"""How far products and quotients of a few float32 numbers are from exact ones, relatively."""
_MOST_WHOLE = 1 / 16
"""How far from a whole number of sums a bias may be, for that reason."""
_MOST_LOST = 1 / 8
"""How far from the exact result a bias in whole sums may bring it, in cells; coarser sums stay real numbers."""
_MOST_SIMPLE = 10
"""Bits of numerators and denominators that are no chance."""
_FINE_SHIFT = 12
"""A smaller one, which such constants need for a ratio above 8, loses more than 1/16: constants are larger then."""


@dataclass(frozen=True, slots=True)
class Target:
    """What results stand for: ``(cell - zero) * scale``; and the nodes of the model that ask for it."""

    scale: float
    zero: int
    origins: tuple[Origin, ...] = ()

    def limits(self, low: float, high: float) -> tuple[int, int]:
        """Return the cells that real numbers from ``low`` to ``high`` become."""
        lowest, highest = (
            end
            if math.isinf(value)
            else min(max(round(np.float32(value) / np.float32(self.scale)) + self.zero, -128), 127)
            for value, end in ((low, _CELL[0]), (high, _CELL[1]))
        )
        return lowest, highest


def rescaled(sums: Sums, target: Target) -> Expr | None:
    """Return the cells of ``sums`` at another scale, or None where there is no integer operator for it."""
    low, high = target.limits(sums.low, sums.high)
    if low > high:
        return None
    target = replace(target, origins=merged((sums.origins, target.origins)))
    try:
        match sums.term, sums.cells:
            case None, (one,):
                return _of_cells(one, sums, target, low, high)
            case None, (lhs, rhs):
                return _of_two(lhs, rhs, sums, target, low, high)
            case (term, ()) if term is not None:
                return _of_term(term.expr, term.scale, None, sums, target, low, high)
            case (term, (residual,)) if term is not None:
                return _of_term(term.expr, term.scale, residual, sums, target, low, high)
            case _:
                return None
    except FixedPointError:
        return None


def _of_cells(cells: Cells, sums: Sums, target: Target, low: int, high: int) -> Expr | None:
    """Return one tensor at another scale; itself where nothing changes but, perhaps, limits."""
    if (cells.scale, cells.zero) == (target.scale, target.zero) and not sums.offset.any():
        return cells.expr if (low, high) == _CELL else _limited(cells.expr, low, high, target)
    made = _of_term(cells.expr, np.array([cells.scale]), None, sums, target, low, high, zero=cells.zero)
    return made if made is None or sums.offset.any() else _as_floats(made, cells, sums, target)


def _as_floats(made: Expr, cells: Cells, sums: Sums, target: Target) -> Expr:
    """Return ``made``, or, where one formula has just the numbers of the float operators, a function with them."""
    assert isinstance(made, Call)
    numbers = np.clip(_numbers(cells), np.float32(sums.low), np.float32(sums.high))
    every = Constant(np.arange(-128, 128, dtype=np.int8).reshape(1, 256))
    has = np.asarray(evaluate(call(Op.RESCALE, (every, *made.args[1:]), made.attrs))).reshape(256)
    parameters = (cells.scale, cells.zero, target.scale, target.zero)
    for rows in _tables(numbers.reshape(256), target):
        if np.array_equal(rows, has):
            return made
        formula = Formula("linear", parameters)
        if formula.makes(rows):
            attrs = LookupAttrs(1, formula.name, formula.parameters)
            return call(Op.QNN_LOOKUP, (cells.expr, Constant(rows)), attrs, target.origins)
    return made


def _numbers(cells: Cells) -> npt.NDArray[np.float32]:
    """Return the 256 real numbers that cells stand for, as (1, 256)."""
    whole = np.arange(-128, 128, dtype=np.float32) - np.float32(cells.zero)
    return (whole * np.float32(cells.scale)).reshape(1, 256)


def _tables(value: npt.NDArray[np.float32], target: Target) -> Iterator[npt.NDArray[np.int8]]:
    """Yield the cells of real numbers: as float32 rounds them, and with what it hardly tells from ties as ties."""
    yield quantized(value, np.array(target.scale, np.float32), np.array(target.zero, np.int8))
    cells = value.astype(np.float64) / target.scale
    yield np.clip(np.rint(np.where(_ties(cells), np.floor(cells) + 0.5, cells)) + target.zero, *_CELL).astype(np.int8)


def _ties(cells: Reals) -> npt.NDArray[np.bool_]:
    """Return which of these numbers float32 hardly tells from one that is half-way between cells."""
    return (np.abs(np.mod(cells, 1) - 0.5) <= np.abs(cells) * _FLOAT32_ERROR) & (np.abs(cells) < _MOST_TIED)


def _limited(expr: Expr, low: int, high: int, target: Target) -> Expr:
    nothing, one = constant(0, "int32"), constant(1, "int32")
    attrs = RescaleAttrs(out_min=low, out_max=high)
    return call(Op.RESCALE, (expr, nothing, nothing, one), attrs, target.origins)


def _of_term(
    expr: Expr,
    scale: Reals,
    residual: Cells | None,
    sums: Sums,
    target: Target,
    low: int,
    high: int,
    *,
    zero: int = 0,
) -> Expr | None:
    bias = _whole(sums.offset, scale, residual, target)
    if bias is None:
        return None
    bias = bias - zero
    if (np.abs(bias) >= 1 << 30).any():
        return None
    added = 0.0 if residual is None else residual.reach * residual.scale / target.scale
    # The residual twice: sums matter as far as it can bring them back, and it is then added to them.
    largest = max(abs(low - target.zero), abs(high - target.zero)) + 2 * math.ceil(added) + 1
    fixed = _exact(scale, residual, sums, target, largest)
    if fixed is None:
        fixed = FixedPoint.nearest(scale / target.scale, largest=largest)
    rank = tensor_type(expr).rank
    tables = [along(values, sums.axis, rank) for values in (bias, fixed.narrow, fixed.multiplier)]
    arguments: list[Expr] = [expr, *tables]
    multiplier = 0
    if residual is not None:
        scaled = ScaledResidual.nearest(residual.scale / target.scale, fixed.shift, residual.zero)
        multiplier = scaled.multiplier
        arguments.append(residual.expr)
    attrs = RescaleAttrs(
        out_min=low, out_max=high, shift=fixed.shift, zero_point=target.zero, residual_multiplier=multiplier,
        residual_zero_point=0 if residual is None else residual.zero, ties_to_even=fixed.ties_to_even,
    )  # fmt: skip
    return call(Op.RESCALE, arguments, attrs, target.origins)


def _exact(scale: Reals, residual: Cells | None, sums: Sums, target: Target, largest: int) -> FixedPoint | None:
    """Return products with ``scale`` that are exact, ties among them; None where they can only be near.

    With a bias between whole sums there are no ties, and halves go upwards: see ``_whole``.
    """
    bias, are_shifts = sums.offset / scale, _are_shifts(scale, target)
    error = 0 if are_shifts else np.minimum(np.abs(bias) * _FLOAT32_ERROR, _MOST_WHOLE)
    is_between = bool((np.abs(bias - np.rint(bias)) > error).any())
    if is_between and not are_shifts:
        return None
    others = () if residual is None else tuple(_simple(np.array([residual.scale / target.scale])))
    ratios = _simple(scale / target.scale)
    return FixedPoint.exact(ratios, others=others, largest=largest, ties_to_even=not is_between)


def _simple(ratios: Reals) -> Reals:
    """Return ratios of float32 numbers, where these round such of small numbers to powers of two: 5/2 for 0.05/0.02."""
    found = ratios.copy()
    for bits in reversed(range(_MOST_SIMPLE + 1)):
        above = np.rint(np.ldexp(ratios, bits))
        near = np.abs(np.ldexp(above, -bits) - ratios) <= ratios * _FLOAT32_ERROR
        found = np.where(near & (above <= 1 << _MOST_SIMPLE), np.ldexp(above, -bits), found)
    return found


def _are_shifts(scale: Reals, target: Target) -> bool:
    """Whether all scales are powers of two."""
    return bool((np.frexp(np.append(scale, target.scale))[0] == 0.5).all())


def _whole(offset: Reals, scale: Reals, residual: Cells | None, target: Target) -> Reals | None:
    """Return an offset in whole sums: the nearest ones, or of shifts alone those below; None where that loses too much.

    A fraction of a sum tells between the results of a shift only where it makes a tie of none: the half that is added
    in front of it rounds whole sums, and ``(n + fraction) >> shift`` is ``n >> shift``. So this is exact, where there
    is a shift, and a residual has no finer steps than sums have.
    """
    exact: Reals = offset / scale
    step = target.scale / 2 if residual is None else min(target.scale / 2, residual.scale)
    is_exact = (scale <= step) & _are_shifts(scale, target)
    whole = np.where(is_exact, np.floor(exact), np.rint(exact))
    lost = np.where(is_exact, 0, np.abs(exact - whole)) * scale / target.scale
    return whole if (lost <= _MOST_LOST).all() else None


def _of_two(lhs: Cells, rhs: Cells, sums: Sums, target: Target, low: int, high: int) -> Expr | None:
    """Return the sum of two tensors of cells: each times a multiplier of its own, then one shift."""
    if sums.offset.any():
        return None
    ratios = [each.scale / target.scale for each in (lhs, rhs)]
    whole = max(abs(low - target.zero), abs(high - target.zero)) + 2 * math.ceil(rhs.reach * ratios[1]) + 1
    if _exact(np.array([lhs.scale]), rhs, sums, target, whole) is not None:
        return _of_term(lhs.expr, np.array([lhs.scale]), rhs, sums, target, low, high, zero=lhs.zero)
    most = lhs.reach * ratios[0] + rhs.reach * ratios[1] + abs(target.zero) + 2
    shift = min(31, math.floor(math.log2((1 << 31) / most)))
    if shift < 1:
        return None
    multipliers = [round(math.ldexp(ratio, shift)) for ratio in ratios]
    while shift > _FINE_SHIFT and max(multipliers) > _IMMEDIATE:
        shift -= 1
        multipliers = [round(math.ldexp(ratio, shift)) for ratio in ratios]
    addend = (1 << (shift - 1)) + (target.zero << shift) - lhs.zero * multipliers[0] - rhs.zero * multipliers[1]
    if not _INT32[0] <= addend <= _INT32[1]:
        return None
    attrs = WeightedAttrs(
        out_min=low,
        out_max=high,
        lhs_multiplier=multipliers[0],
        rhs_multiplier=multipliers[1],
        addend=addend,
        shift=shift,
    )
    return call(Op.QNN_ADD, (lhs.expr, rhs.expr), attrs, target.origins)


def along(values: npt.NDArray[np.generic], axis: int, rank: int) -> Constant:
    """Return int32 numbers in a shape that broadcasts along ``axis``: a scalar where all are the same."""
    whole = values.astype(np.int32).reshape(-1)
    if (whole == whole[0]).all():
        return Constant(whole[:1].reshape(()))
    return Constant(whole.reshape([-1] + [1] * (rank - 1 - axis % rank)))


def looked_up(table: Table, target: Target) -> Expr:
    """Return the cells of a function of cells: by its formula, or a table of what the float operators make of each."""
    numbers = _numbers(table.cells)
    value = evaluate(substitute(table.expr, {table.var: Constant(numbers)}))
    assert isinstance(value, np.ndarray)
    source = (table.cells.scale, table.cells.zero)
    origins, formula = merged((table.origins, target.origins)), None
    shape = (256,) if value.shape[0] == 1 else value.shape
    tables = (each.reshape(shape) for each in _tables(value, target))
    rows = next(tables)
    if np.isfinite(value).all():
        wide = numbers[0].astype(np.float64), value.astype(np.float64)
        formula = formula_of(*wide, source, (target.scale, target.zero))
    if formula is None:
        return call(Op.QNN_LOOKUP, (table.cells.expr, Constant(rows)), LookupAttrs(1), origins)
    is_tied = _ties(value.astype(np.float64) / target.scale).any()
    best = next((each for each in (rows, *tables) if formula.makes(each)), None) if is_tied else None
    attrs = LookupAttrs(1, formula.name, formula.parameters)
    return call(Op.QNN_LOOKUP, (table.cells.expr, Constant(formula.table if best is None else best)), attrs, origins)


def moved(ints: Ints, op: Op, arguments: Sequence[Expr], attrs: object, origins: tuple[Origin, ...]) -> Ints:
    """Return an integer tensor in which an operator that only moves elements has moved them."""
    return Ints(call(op, (ints.expr, *arguments), attrs, origins), ints.offset)  # type: ignore[arg-type]
