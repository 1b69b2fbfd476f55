"""Numbers of the model that are known: scales, zero points, weights, biases, constants.

Tests: tests/vta/relay/integer/test_convert.py.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.quantize import DequantizeAttrs
from runtime.executor.operators.types import Array
from vta.relay.interpreter import evaluate
from vta.relay.ir.nodes import Call, Constant, Expr, tensor_type
from vta.relay.ir.traverse import free_vars

__all__ = ["Weights", "bias_of", "known", "scalar", "weights_of"]

_MOST_FOLDED = 1 << 26
"""Elements of a constant that is computed here."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Real numbers ``(cells - zeros) * scales``: int8 cells; one scale and zero, or one for each output channel."""

    cells: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float64]
    zeros: tuple[int, ...]


def known(expr: Expr) -> Array | None:
    """Return the numbers of an expression without inputs, or None."""
    if isinstance(expr, Constant):
        return expr.value
    if free_vars(expr):
        return None
    value = evaluate(expr)
    return value if isinstance(value, np.ndarray) and value.size <= _MOST_FOLDED else None


def scalar(expr: Expr) -> float | None:
    """Return the one number of an expression without inputs, or None."""
    value = known(expr)
    return float(value.reshape(-1)[0]) if value is not None and value.size == 1 else None


def weights_of(expr: Expr, axis: int) -> Weights | None:
    """Return the weights that a dequantisation gives, whose output channels go along ``axis``; None for others."""
    if isinstance(expr, Call) and expr.callee is Op.TRANSPOSE and tensor_type(expr).rank == 2:
        turned = weights_of(expr.args[0], 1 - axis)
        return None if turned is None else Weights(np.ascontiguousarray(turned.cells.T), turned.scales, turned.zeros)
    parts = _dequantised(expr)
    if parts is None:
        return None
    numbers, scales, zeros, along = parts
    if numbers.dtype not in (np.int8, np.uint8) or (scales.size > 1 and along != axis):
        return None
    offset = 128 if numbers.dtype == np.uint8 else 0
    cells = (numbers.astype(np.int16) - offset).astype(np.int8)
    kept = zeros[:1] if _same(zeros) else zeros
    return Weights(cells, scales, tuple(int(zero) - offset for zero in kept))


def bias_of(expr: Expr) -> npt.NDArray[np.float64] | None:
    """Return a bias as real numbers: constant ones, or integers with a scale, exactly; None for others."""
    parts = _dequantised(expr)
    if parts is not None:
        numbers, scales, zeros, _ = parts
        exact: npt.NDArray[np.float64] = (numbers.astype(np.float64).reshape(-1) - zeros) * scales
        return exact
    value = known(expr)
    return None if value is None or value.dtype.kind != "f" else value.astype(np.float64)


def _dequantised(
    expr: Expr,
) -> tuple[Array, npt.NDArray[np.float64], npt.NDArray[np.int64], int] | None:
    """Return integers, scales, zero points and axis of a dequantisation without inputs, or None."""
    if not isinstance(expr, Call) or expr.callee is not Op.DEQUANTIZE or free_vars(expr):
        return None
    numbers, scales, zeros = (known(argument) for argument in expr.args)
    if numbers is None or scales is None or zeros is None:
        return None
    assert isinstance(expr.attrs, DequantizeAttrs)
    axis = expr.attrs.axis % max(numbers.ndim, 1)
    return numbers, scales.astype(np.float64).reshape(-1), zeros.astype(np.int64).reshape(-1), axis


def _same(zeros: npt.NDArray[np.int64]) -> bool:
    return bool((zeros == zeros[0]).all())
