"""What the rows of a scan are made of, under TVM's names: ``te.schedule.ScanGetBody``, ``ScanFixPointAnalysis``.

Tests: tests/vta/te/test_scan_analysis.py.
"""

from __future__ import annotations

from vta.te.operation import ComputeOp, Operation, tensor_loads
from vta.te.scans.scan_op import ScanOp
from vta.te.tensor import Tensor
from vta.tir.expr import IntImm, IterVar, Var, const

__all__ = ["ScanFixPointAnalysis", "ScanGetBody"]


def ScanGetBody(scan_op: ScanOp) -> list[Operation]:  # noqa: N802  # TVM's name
    """Return the operations that a row is made of: those that the updates need and that read the states."""
    order: list[Operation] = []
    reads_state: dict[Operation, bool] = {state.op: True for state in scan_op.state}
    stack: list[tuple[Operation, bool]] = [(tensor.op, False) for tensor in reversed(scan_op.update)]
    while stack:
        op, ready = stack.pop()
        if op in reads_state:
            continue
        if not ready:
            stack.append((op, True))
            stack += [(tensor.op, False) for tensor in op.input_tensors if tensor.op not in reads_state]
            continue
        reads_state[op] = any(reads_state[tensor.op] for tensor in op.input_tensors)
        if reads_state[op] or any(op is tensor.op for tensor in scan_op.update):
            order.append(op)
    return order


def ScanFixPointAnalysis(scan_op: ScanOp) -> dict[IterVar, IntImm]:  # noqa: N802  # TVM's name
    """Return for each axis within a row 1 where an element depends on that place of earlier rows alone, else 0.

    Such an axis can be walked over outside of the scan: its places do not meet. An axis of the body stands for one
    place if every read within the body is at an axis itself, and leads to the same dimension of the states.
    """
    body = [op for op in ScanGetBody(scan_op) if isinstance(op, ComputeOp)]
    dims = _Dimensions()
    for op in body:
        for load in tensor_loads(op.body):
            source = load.producer
            assert isinstance(source, Tensor)
            if source not in scan_op.state and source.op not in body:
                continue
            for dim, index in enumerate(load.indices):
                place = next((k for k, axis in enumerate(op.axis) if axis.var is index), None)
                if isinstance(index, Var) and place is not None:
                    dims.join((source.op, dim), (op, place))
                elif dim > 0 or source not in scan_op.state:
                    dims.mix((source.op, dim))
    for state, update in zip(scan_op.state, scan_op.update, strict=True):
        for dim in range(1, len(state.shape)):
            dims.join((state.op, dim), (update.op, dim))  # a row is a row of the state later on
    found: dict[IterVar, IntImm] = {}
    axes = iter(scan_op.spatial_axis_)
    for update in scan_op.update:
        for dim in range(1, len(update.shape)):
            value = const(int(not dims.is_mixed((update.op, dim))))
            assert isinstance(value, IntImm)
            found[next(axes)] = value
    return found


_Dimension = tuple[Operation, int]


class _Dimensions:
    """Which dimensions are walked over together, and which are read at other places than their own."""

    def __init__(self) -> None:
        self._parent: dict[_Dimension, _Dimension] = {}
        self._mixed: set[_Dimension] = set()

    def _root(self, dim: _Dimension) -> _Dimension:
        while self._parent.get(dim, dim) != dim:
            dim = self._parent[dim]
        return dim

    def join(self, a: _Dimension, b: _Dimension) -> None:
        x, y = self._root(a), self._root(b)
        self._parent[x] = y
        if x in self._mixed:
            self._mixed.add(y)

    def mix(self, dim: _Dimension) -> None:
        """Mark a dimension that is read elsewhere than at an axis of the reader."""
        self._mixed.add(self._root(dim))

    def is_mixed(self, dim: _Dimension) -> bool:
        """Whether a dimension, or one walked over with it, is read elsewhere, or is two of one operation."""
        root = self._root(dim)
        together = {root, *(each for each in self._parent if self._root(each) == root)}
        return root in self._mixed or len({op for op, _ in together}) < len(together)
