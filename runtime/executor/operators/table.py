"""The table of operators. Tests: tests/runtime/executor/operators/test_table.py."""

from runtime.executor.operators import (
    broadcast,
    convolution,
    elementwise,
    foreign,
    layouts,
    normalise,
    padding,
    pooling,
    products,
    rearrange,
    reduction,
    resize,
    selection,
)
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Operator, Rows
from runtime.executor.operators.qnn import products as qnn_products
from runtime.executor.operators.qnn import quantize, rescale, saturating, tables

__all__ = ["OPERATORS", "operator"]

OPERATORS: Rows = {
    **elementwise.ROWS,
    **broadcast.ROWS,
    **convolution.ROWS,
    **products.ROWS,
    **pooling.ROWS,
    **padding.ROWS,
    **resize.ROWS,
    **normalise.ROWS,
    **rearrange.ROWS,
    **selection.ROWS,
    **layouts.ROWS,
    **reduction.ROWS,
    **quantize.ROWS,
    **rescale.ROWS,
    **saturating.ROWS,
    **qnn_products.ROWS,
    **tables.ROWS,
    **foreign.ROWS,
}
"""What every operator takes, returns and means."""


def operator(op: Op) -> Operator:
    """Return the row of ``op``."""
    return OPERATORS[op]
