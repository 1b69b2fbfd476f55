"""Constructors with TVM's arguments."""

from typing import Any

from vta.compat.tvm_nodes import IterVar, Range
from vta.tir import expr


def test_a_range_has_a_begin_and_an_end() -> None:
    n = expr.Var("n")
    spans: list[Any] = [Range(2, 10), Range(5), Range.from_min_extent(2, 10), Range(0, n), Range(n, n + 3)]
    assert [(int(r.min), int(r.extent)) for r in spans[:3]] == [(2, 8), (0, 5), (2, 10)]
    assert spans[3].extent is n
    assert all(isinstance(r, Range) for r in spans)
    assert not isinstance(n, Range)


def test_an_axis_has_a_number_for_how_it_is_walked_over() -> None:
    axis: Any = IterVar((0, 8), "k", IterVar.CommReduce)
    assert (axis.name, axis.kind, int(axis.dom.extent)) == ("k", expr.IterKind.COMM_REDUCE, 8)
    assert isinstance(axis, IterVar)
    assert IterVar(None, axis.var, 1, "threadIdx.x").thread_tag == "threadIdx.x"  # type: ignore[attr-defined]
    assert (IterVar.Unrolled, IterVar.Vectorized, IterVar.Parallelized, IterVar.Tensorized) == (5, 6, 7, 8)
