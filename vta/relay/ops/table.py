"""The table of operators. Tests: tests/vta/relay/ops/test_table.py."""

from vta.relay.ir.names import Op
from vta.relay.ops import (
    broadcast,
    convolution,
    elementwise,
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
from vta.relay.ops.operator import Operator, Rows
from vta.relay.ops.qnn import products as qnn_products
from vta.relay.ops.qnn import quantize, rescale, saturating, tables

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
}
"""What every operator takes, returns and means."""


def operator(op: Op) -> Operator:
    """Return the row of ``op``."""
    return OPERATORS[op]
