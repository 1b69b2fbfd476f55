"""Schedules of hybrid scripts: what they compute stays, and what may change it is refused."""

# ruff: noqa: F821  # hybrid script
# mypy: disable-error-code="name-defined, func-returns-value"

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic, lower_generic
from vta.te.hybrid import script
from vta.te.stage import ScheduleError
from vta.tir.expr import IntImm
from vta.tir.stmt import AttrStmt, For, ForKind
from vta.tir.traverse import walk


@script
def product(a: Any, b: Any) -> Any:
    c = output_tensor((13, 10), a.dtype)
    for i in range(1, 14):
        for j in range(10):
            c[i - 1, j] = a[i - 1] * b[j] + 1
    return c


@script
def summed(a: Any, b: Any) -> Any:
    c = output_tensor((13, 10), a.dtype)
    for i in range(13):
        for k in range(3):
            for j in range(10):
                c[i, j] = c[i, j] * 2 + a[i] * b[j] + k
    return c


A, B = te.placeholder((13,), "int32", "a"), te.placeholder((10,), "int32", "b")


def run(function: Any, schedule: Callable[[Any, list[Any]], None]) -> list[str]:
    """Compare a schedule with Python; return the names of the lowered program's outer loops."""
    c = function(A, B)
    s = te.create_schedule(c.op)
    schedule(s[c], list(c.op.axis))
    x, y = np.arange(13, dtype=np.int32) - 5, np.arange(10, dtype=np.int32) + 2
    out = vta.nd.array(np.zeros((13, 10), np.int32))
    build_generic(s, [A, B, c])(vta.nd.array(x), vta.nd.array(y), out)
    np.testing.assert_array_equal(out.numpy(), function(x, y))
    stmt: Any = te.schedule_to_func(s, [A, B, c], "f").body
    names = []
    while hasattr(stmt, "body") or hasattr(stmt, "then_case"):
        if isinstance(stmt, For):
            names.append(stmt.loop_var.name)
        stmt = stmt.body if hasattr(stmt, "body") else stmt.then_case
    return names


def test_splits_fusions_and_orders() -> None:
    def blocked(stage: Any, axes: list[Any]) -> None:
        i, j = axes
        outer, inner = stage.split(i, 4)
        first, second = stage.split(j, nparts=3)
        stage.reorder(second, inner, outer, first)
        stage.unroll(inner)

    def fused(stage: Any, axes: list[Any]) -> None:
        both = stage.fuse(*axes)
        stage.parallel(stage.split(both, 7)[0])
        stage.pragma(stage.leaf_iter_vars[1], "auto_unroll_max_step", 4)

    def exchanged(stage: Any, axes: list[Any]) -> None:
        i, k, j = axes
        stage.reorder(j, k, i)
        stage.vectorize(i)

    assert run(product, blocked) == ["j.inner", "i.inner", "i.outer", "j.outer"]
    assert run(product, fused) == ["i.j.fused.outer", "i.j.fused.inner"]
    assert run(product, lambda stage, axes: stage.reorder(axes[1], axes[0])) == ["j", "i"]
    assert run(summed, exchanged) == []  # zeros come first


def test_kinds_and_ranges_are_known() -> None:
    c = product(A, B)
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], 4)
    s[c].vectorize(c.op.axis[1])
    bounds = te.schedule.InferBound(s)
    extents = {axis.name: bounds[axis].extent for axis in (outer, inner, *c.op.axis)}
    assert {name: e.value for name, e in extents.items() if isinstance(e, IntImm)} == {
        "i.outer": 4, "i.inner": 4, "i": 13, "j": 10,
    }  # fmt: skip
    func = te.schedule_to_func(s, [A, B, c], "f")
    (scope,) = (node for node in walk(func.body) if isinstance(node, AttrStmt))
    assert scope.key == "extern_scope"
    kinds = {node.loop_var.name: node.kind for node in walk(func.body) if isinstance(node, For)}
    assert kinds == {"i.outer": ForKind.SERIAL, "i.inner": ForKind.SERIAL, "j": ForKind.VECTORIZED}


def test_a_gpus_threads_lower_and_print() -> None:
    c = product(A, B)
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[1], te.thread_axis("threadIdx.x"))
    assert "threadIdx.x" in str(lower_generic(s, [A, B, c]))


@script
def diagonal(a: Any, b: Any) -> Any:
    c = output_tensor((13, 10), a.dtype)
    for i in range(1, 13):
        for j in range(i, 9):
            c[i, j] = c[i - 1, j + 1] + a[i] + b[j]
    for x in range(13):
        c[x, 0] = 1
        for y in range(3):
            c[x, y] = c[x, y] + 1
    return c


def refused(text: str, function: Any, schedule: Callable[[Any, list[Any]], None]) -> None:
    c = function(A, B)
    s = te.create_schedule(c.op)

    def lowered() -> None:
        schedule(s[c], list(c.op.axis))
        te.schedule_to_func(s, [A, B, c], "f")

    with pytest.raises(ScheduleError) as error:
        lowered()
    assert str(error.value) == text


@script
def skewed(a: Any, b: Any) -> Any:
    c = output_tensor((13, 10), a.dtype)
    for i in range(1, 13):
        for j in range(9):
            c[i, j] = c[i - 1, j + 1] + a[i] + b[j]
    return c


@script
def last(a: Any, b: Any) -> Any:
    c = output_tensor((13, 10), a.dtype)
    for k in range(3):
        for l in range(4):  # noqa: E741
            c[0, 0] = c[0, 0] * 2 + a[k] + b[l]
    return c


def test_what_could_change_the_result_is_refused() -> None:
    depend = "iterations may depend on one another by 'c', so their order stays"
    refused(
        "stage 'diagonal': reorder to j, i: the ends of loop 'j' depend on 'i'", diagonal,
        lambda stage, axes: stage.reorder(axes[1], axes[0]),
    )  # fmt: skip
    refused(f"stage 'skewed': reorder to j, i: {depend}", skewed, lambda s, axes: s.reorder(axes[1], axes[0]))
    refused(f"stage 'last': reorder to l, k: {depend}", last, lambda s, axes: s.reorder(axes[1], axes[0]))
    refused(
        "stage 'diagonal': fuse: loop 'j' does not stand directly in loop 'i', or its ends depend on it", diagonal,
        lambda stage, axes: stage.fuse(axes[0], axes[1]),
    )  # fmt: skip
    refused(
        "stage 'diagonal': reorder: loop 'y' stands in loop 'x', but not directly; it stays inside", diagonal,
        lambda stage, axes: stage.reorder(axes[3], axes[2]),
    )  # fmt: skip
    refused(
        "stage 'product': bind: a hybrid script's loops take a GPU's threads alone", product,
        lambda stage, axes: stage.bind(axes[0], te.thread_axis("cthread")),
    )  # fmt: skip
    refused(
        "stage 'product': compute_inline: a hybrid script's loops can be split, fused, reordered, bound, vectorized, "
        "unrolled and parallel, and nothing else", product, lambda stage, _: stage.compute_inline(),
    )  # fmt: skip
    refused(
        "stage 'product': fuse: a hybrid script's loops can be split, fused, reordered, bound, vectorized, unrolled "
        "and parallel, and nothing else", product, lambda stage, _: stage.fuse(),
    )  # fmt: skip
