"""What the rows of a scan are made of, and which of their axes do not mix."""

from collections.abc import Callable
from typing import Any

import pytest

from vta import te
from vta.te.scans.scan_analysis import ScanFixPointAnalysis, ScanGetBody
from vta.tir.expr import Expr


def scan(step: Callable[..., Any]) -> te.Tensor:
    x = te.placeholder((9, 4, 4), "int32", "x")
    state = te.placeholder((9, 4, 4), "int32", "state")
    first = te.compute((1, 4, 4), lambda _, i, j: x[0, i, j], "first")
    update = te.compute((9, 4, 4), lambda t, i, j: step(state, x, t, i, j), "update")
    result = te.scan(first, update, state, name="s")
    assert isinstance(result, te.Tensor)
    return result


STEPS: list[tuple[Callable[..., Expr], list[int]]] = [
    (lambda s, x, t, i, j: s[t - 1, i, j] + x[t, j, i], [1, 1]),
    (lambda s, x, t, i, j: s[t - 1, j, i] + x[t, i, j], [0, 0]),
    (lambda s, x, t, i, j: s[t - 1, 0, j] + x[t, i, j], [0, 1]),
    (lambda s, x, t, i, j: s[t - 1, i, 3 - j] + x[t, i, j], [1, 0]),
    (lambda s, x, t, i, j: s[t - 1, i, i] + x[t, i, j], [0, 0]),
]


@pytest.mark.parametrize(("step", "fixed"), STEPS)
def test_axes_whose_places_do_not_meet(step: Callable[..., Expr], fixed: list[int]) -> None:
    op = scan(step).op
    assert isinstance(op, te.ScanOp)
    found = ScanFixPointAnalysis(op)
    assert [found[axis].value for axis in op.spatial_axis_] == fixed


def test_states_that_exchange_their_rows_may_still_be_apart() -> None:
    states = [te.placeholder((9, 4), "int32", name) for name in "ab"]
    firsts = [te.compute((1, 4), lambda _, i: i) for _ in range(2)]
    middle = te.compute((9, 4), lambda t, i: states[1][t - 1, i] * 2, "middle")
    apart = te.compute((9, 4), lambda t, i: t * i, "apart")
    updates = [
        te.compute((9, 4), lambda t, i: middle[t, i] + apart[t, i], "u"),
        te.compute((9, 4), lambda t, i: states[0][t - 1, i], "v"),
    ]
    [a, _] = list(te.scan(firsts, updates, states))  # type: ignore[arg-type]  # there are two
    assert isinstance(a.op, te.ScanOp)
    assert ScanGetBody(a.op) == [middle.op, updates[0].op, updates[1].op]
    assert [value.value for value in ScanFixPointAnalysis(a.op).values()] == [1, 1]
