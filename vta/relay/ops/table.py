"""The table of operators. Tests: tests/vta/relay/ops/test_call.py."""

from vta.relay.ir.names import Op
from vta.relay.ops import broadcast, elementwise
from vta.relay.ops.operator import Operator, Rows

__all__ = ["OPERATORS", "operator"]

OPERATORS: Rows = {**elementwise.ROWS, **broadcast.ROWS}
"""What every operator takes, returns and means."""


def operator(op: Op) -> Operator:
    """Return the row of ``op``."""
    return OPERATORS[op]
