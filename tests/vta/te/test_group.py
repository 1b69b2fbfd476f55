"""Groups of stages, conditions of stores, and hints."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic
from vta.te.stage import ScheduleError


def refused(text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(ScheduleError) as error:
        call()
    assert str(error.value) == text


def chain() -> tuple[te.Tensor, ...]:
    x = te.compute((4, 6), lambda i, j: i * 6 + j, "x")
    x1 = te.compute((4, 6), lambda i, j: x[i, j] + 1, "x1")
    x2 = te.compute((4, 6), lambda i, j: x1[i, j] * 2, "x2")
    return x, x1, x2


def test_a_group_moves_as_one() -> None:
    x, x1, x2 = chain()
    s = te.create_schedule(x2.op)
    group = s.create_group(outputs=x1, inputs=x, include_inputs=True)
    group.compute_at(s[x2], x2.op.axis[0])
    assert s[x1].group is group
    assert s[x].group is group
    bounds = te.schedule.InferBound(s)
    assert [[int(bounds[a].extent) for a in t.op.axis] for t in (x, x1, x2)] == [[1, 6], [1, 6], [4, 6]]
    out = vta.nd.empty((4, 6), "int32")
    build_generic(s, [x2])(out)
    assert (out.numpy().reshape(-1) == (np.arange(24) + 1) * 2).all()
    group.compute_root()
    assert [s[t].attach_type for t in (x, x1)] == [1, 1]


def test_a_stage_is_in_its_last_group_and_may_go_its_own_way() -> None:
    x, x1, x2 = chain()
    s = te.create_schedule(x2.op)
    first = s.create_group(outputs=x, inputs=x, include_inputs=True)
    second = s.create_group(outputs=[x1], inputs=[x])
    assert (s[x].group, s[x1].group) == (first, second)
    second.compute_at(s[x2], x2.op.axis[0])
    first.compute_at(s[x1], x1.op.axis[1])
    bounds = te.schedule.InferBound(s)
    assert [int(bounds[a].extent) for a in (*x.op.axis, *x1.op.axis)] == [1, 1, 1, 6]
    refused(
        "group: compute_at: stage 'x1' is in the group; give a stage that reads it",
        lambda: second.compute_at(s[x1], x1.op.axis[0]),
    )
    refused(
        "create_group: no stage lies between the inputs and the outputs",
        lambda: s.create_group(outputs=x, inputs=x2),
    )


def test_a_store_happens_where_its_condition_holds() -> None:
    a = te.placeholder((8,), "int32", "A")
    b = te.compute((8,), lambda i: a[i] + 1, "B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], 4)
    s[b].set_store_predicate(te.all(inner.var < 3, b.op.axis[0].var > 1, outer.var < 2))
    out = vta.nd.array(np.full(8, -1, np.int32))
    build_generic(s, [a, b])(vta.nd.array(np.arange(8, dtype=np.int32)), out)
    assert out.numpy().tolist() == [-1, -1, 3, -1, 5, 6, 7, -1]
    refused("stage 'B': set_store_predicate: expected a condition (bool), got 3", lambda: s[b].set_store_predicate(3))


def test_a_hint_to_read_ahead_changes_nothing() -> None:
    a = te.placeholder((8,), "int32", "A")
    b = te.compute((8,), lambda i: a[i] + 1, "B")
    s = te.create_schedule(b.op)
    s[b].prefetch(a, b.op.axis[0], 1)
    out = vta.nd.empty((8,), "int32")
    build_generic(s, [a, b])(vta.nd.array(np.arange(8, dtype=np.int32)), out)
    assert out.numpy().tolist() == list(range(1, 9))
    refused(
        "stage 'B': prefetch: it does not read Tensor(shape=[8], op.name=B, dtype=int32)",
        lambda: s[b].prefetch(b, b.op.axis[0], 1),
    )


def test_groups_lie_in_groups() -> None:
    x, x1, x2 = chain()
    s = te.create_schedule(x2.op)
    inner = s.create_group(outputs=x, inputs=x, include_inputs=True)
    outer = s.create_group(outputs=x1, inputs=x, include_inputs=True)
    assert (s[x].group, s[x1].group, inner.group, outer.group) == (inner, outer, outer, None)
    assert (s.groups, outer.num_child_stages) == ([inner, outer], 2)
    assert {stage.name for stage in outer.stages} == {"x", "x1"}
    outer.compute_at(s[x2], x2.op.axis[0])
    inner.compute_at(s[x1], x1.op.axis[1])
    outer.compute_at(s[x2], x2.op.axis[0])
    bounds = te.schedule.InferBound(s)
    assert [[int(bounds[a].extent) for a in t.op.axis] for t in (x, x1, x2)] == [[1, 1], [1, 6], [4, 6]]
    out = vta.nd.empty((4, 6), "int32")
    build_generic(s, [x2])(out)
    assert (out.numpy().reshape(-1) == (np.arange(24) + 1) * 2).all()
