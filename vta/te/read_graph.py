"""Which operation reads which tensors, under TVM's names: ``te.schedule.CreateReadGraph``, ``PostDFSOrder``.

Tests: tests/vta/te/test_read_graph.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.te.operation import Operation
from vta.te.schedule import dataflow_order
from vta.te.tensor import Tensor

__all__ = ["CreateReadGraph", "PostDFSOrder"]


def CreateReadGraph(roots: Sequence[Operation]) -> dict[Operation, list[Tensor]]:  # noqa: N802  # TVM's name
    """Return what every operation that ``roots`` need reads."""
    return {op: list(op.input_tensors) for op in dataflow_order(roots)}


def PostDFSOrder(  # noqa: N802  # TVM's name
    roots: Sequence[Operation], graph: Mapping[Operation, Sequence[Tensor]]
) -> list[Operation]:
    """Return the operations of ``graph`` that ``roots`` need, each after all that it reads."""
    return [op for op in dataflow_order(roots) if op in graph]
