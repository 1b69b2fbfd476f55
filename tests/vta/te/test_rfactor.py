from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.te_run import loops, lowered, outputs, run
from vta import te
from vta.tir.expr import Expr


def row_sums(n: int = 5, m: int = 22) -> tuple[te.Tensor, te.Tensor, te.Schedule]:
    x, k = te.placeholder((n, m), "int32", "x"), te.reduce_axis((0, m), "k")
    y = te.compute((n,), lambda i: te.sum(x[i, k], axis=k), "y")
    return x, y, te.create_schedule(y.op)


DATA = np.random.default_rng(3).integers(-99, 99, size=(5, 22)).astype(np.int32)


def refused(text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(te.ScheduleError) as error:
        call()
    assert str(error.value) == text


@pytest.mark.parametrize("part", ["outer", "inner"])
@pytest.mark.parametrize("factor", [2, 4, 5, 30])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_partial_sums_add_up(part: str, factor: int, place: int) -> None:
    x, y, s = row_sums()
    outer, inner = s[y].split(s[y].op.reduce_axis[0], factor)
    partial = s.rfactor(y, outer if part == "outer" else inner, place)
    assert partial.name == "y.rf"
    assert partial.ndim == 2
    assert int(partial.shape[1 if place else 0]) * (factor if part == "outer" else -(-22 // factor)) >= 22
    assert len(s[y].op.reduce_axis) == len(s[partial].op.reduce_axis) == 1
    s[partial].compute_at(s[y], s[y].op.reduce_axis[0])
    assert (run(s, [x, y], DATA) == DATA.sum(axis=1)).all()


def test_the_loops_over_outputs_stay_as_they_are() -> None:
    x, y, s = row_sums()
    s[y].split(y.op.axis[0], 2)
    _, inner = s[y].split(s[y].op.reduce_axis[0], 4)
    s.rfactor(y, inner)
    assert loops(lowered(s, [x, y])) == [
        "k.inner:4", "i:5", "k.outer:6", "i.outer:3", "i.inner:2", "k.inner.v:4",
    ]  # fmt: skip
    assert (run(s, [x, y], DATA) == DATA.sum(axis=1)).all()


def test_a_whole_reduction_axis_leaves_the_elements_themselves() -> None:
    x = te.placeholder((6,), "int32", "x")
    k, n = te.reduce_axis((1, 6), "k"), te.reduce_axis((0, 2), "n")
    y = te.compute((2,), lambda i: te.max(x[k] * (n + i), axis=[k, n], where=k != 3), "y")
    s = te.create_schedule(y.op)
    s[y].fuse(k, n)
    s.rfactor(y, s[y].leaf_iter_vars[-1])
    data = np.array([50, -3, 4, 9, 5, 2], np.int32)
    assert run(s, [x, y], data).tolist() == [5, 10]


def test_several_results_are_factored_together() -> None:
    x, k = te.placeholder((3, 10), "int32", "x"), te.reduce_axis((0, 10), "k")

    def combine(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> tuple[Any, ...]:
        better = b[1] > a[1]
        return te.if_then_else(better, b[0], a[0]), te.if_then_else(better, b[1], a[1])

    argmax = te.comm_reducer(combine, lambda t, u: (te.const(-1, t), te.min_value(u)), name="argmax")
    place, value = te.compute((3,), lambda i: argmax((k.var, x[i, k]), axis=k), "best")
    s = te.create_schedule(place.op)
    outer, _ = s[place].split(k, 4)
    partial = s.rfactor(place, outer)
    assert [t.name for t in partial] == ["best.rf.v0", "best.rf.v1"]
    data = np.random.default_rng(8).permutation(30).astype(np.int32).reshape(3, 10)
    results = outputs(s, [x, place, value], data)
    assert (results[0] == data.argmax(axis=1)).all()
    assert (results[1] == data.max(axis=1)).all()


def test_a_start_value_counts_once() -> None:
    x, k = te.placeholder((8,), "int32", "x"), te.reduce_axis((0, 8), "k")
    y = te.compute((1,), lambda _i: te.sum(x[k], axis=k, init=100), "y")
    s = te.create_schedule(y.op)
    s.rfactor(y, s[y].split(k, 2)[0])
    assert run(s, [x, y], np.ones(8, np.int32)).tolist() == [108]


def test_misuse_is_refused_with_a_sentence() -> None:
    x, y, s = row_sums()
    i, k = y.op.axis[0], s[y].op.reduce_axis[0]
    refused("stage 'y': rfactor: axis 'i' is no loop of a reduction alone", lambda: s.rfactor(y, i))
    refused("stage 'y': rfactor: expected a place from 0 to 1 for the axis, got 2", lambda: s.rfactor(y, k, 2))
    copy = s.cache_read(x, "local", y)
    s[copy].compute_at(s[y], k)
    refused(
        "stage 'y': rfactor: stage 'x.local' is computed at its loop 'k'; call rfactor first", lambda: s.rfactor(y, k)
    )
    s[copy].compute_root()
    _, inner = s[y].split(k, 2)
    s[y].fuse(i, s[y].leaf_iter_vars[1])
    refused(
        "stage 'y': rfactor: loop 'i.k.outer.fused' walks over outputs and reduction; factor first",
        lambda: s.rfactor(y, inner),
    )


def test_a_range_that_follows_an_index_cannot_be_factored() -> None:
    x = te.placeholder((9,), "int32", "x")

    def prefix(i: Expr) -> Any:
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(x[k], axis=k)

    y = te.compute((9,), prefix, "y")
    s = te.create_schedule(y.op)
    refused(
        "stage 'y': rfactor: the range of reduction axis 'k' depends on other axes",
        lambda: s.rfactor(y, s[y].op.reduce_axis[0]),
    )
    z = te.compute((9,), lambda i: x[i] + 1, "z")
    w = te.compute((9,), lambda i: z[i] * 2, "w")
    s = te.create_schedule(w.op)
    s[z].compute_inline()
    refused("stage 'z': rfactor: it is inlined, so nothing of it is stored", lambda: s.rfactor(z, z.op.axis[0]))
