from collections.abc import Callable
from typing import Any

import pytest

from tests.support.compiler.te_run import loops, lowered
from vta import te


def diamond() -> tuple[te.Tensor, ...]:
    x = te.placeholder((8,), "int32", "x")
    a = te.compute((8,), lambda i: x[i] + 1, "a")
    b = te.compute((8,), lambda i: a[i] * 2, "b")
    c = te.compute((8,), lambda i: a[i] * 3, "c")
    d = te.compute((8,), lambda i: b[i] + c[i], "d")
    return x, a, b, c, d


def refused(text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(te.ScheduleError) as error:
        call()
    assert str(error.value) == text


def test_each_stage_comes_after_what_it_reads_in_the_order_of_reading() -> None:
    *_, d = diamond()
    assert [stage.name for stage in te.create_schedule(d.op).stages] == ["x", "a", "b", "c", "d"]


def test_a_long_chain_needs_no_recursion() -> None:
    tensor = te.placeholder((2,), "int32", "x")
    for _ in range(3000):
        tensor = te.compute((2,), lambda i, t=tensor: t[i], "y")
    assert len(te.create_schedule(tensor.op).stages) == 3001


def test_a_stage_is_found_by_tensor_and_by_operation() -> None:
    x, a, *_, d = diamond()
    s = te.create_schedule([d.op])
    assert s[a] is s[a.op]
    assert x in s
    assert "x" not in s
    assert s.outputs == (d.op,)
    assert s[d].is_output


def test_several_outputs_and_tensors_are_accepted() -> None:
    _, a, b, c, _ = diamond()
    s = te.create_schedule([b, c.op])
    assert [stage.name for stage in s.stages if stage.is_output] == ["b", "c"]
    assert not s[a].is_output


def test_readers_are_found_through_other_stages() -> None:
    x, a, b, c, d = diamond()
    s = te.create_schedule(d.op)
    assert s.consumes(s[d], s[x])
    assert s.consumes(s[b], s[a])
    assert not s.consumes(s[b], s[c])
    assert not s.consumes(s[a], s[a])


def test_a_normalized_schedule_is_independent() -> None:
    x, a, b, _, d = diamond()
    s = te.create_schedule(d.op)
    s[b].compute_at(s[d], d.op.axis[0])
    s[d].pragma(d.op.axis[0], "note")
    copy = s.normalize()
    assert copy[b].attach.stage is copy[d]
    assert str(lowered(copy, [x, d])) == str(lowered(s, [x, d]))
    copy[a].split(a.op.axis[0], 2)
    copy[d].pragma(d.op.axis[0], "other")
    assert [leaf.name for leaf in s[a].leaf_iter_vars] == ["i"]
    assert len(s[d].attrs[d.op.axis[0]].pragmas) == 1
    assert copy.outputs == s.outputs


def test_an_unknown_tensor_is_refused_naming_the_stages() -> None:
    *_, d = diamond()
    s = te.create_schedule(d.op)
    other = te.placeholder((3,), name="other")
    refused(
        "no stage of this schedule computes 'other', because none of its outputs needs it; its stages are: "
        "x, a, b, c, d",
        lambda: s[other],
    )
    refused("no stage of this schedule computes 'x'; its stages are: x, a, b, c, d", lambda: s["x"])
    refused("no stage of this schedule computes 3; its stages are: x, a, b, c, d", lambda: s[3])


def test_a_schedule_needs_operations() -> None:
    refused("create_schedule: no operation was given", lambda: te.create_schedule([]))
    refused("create_schedule: expected an operation, for example C.op, got 'd'", lambda: te.create_schedule("d"))


def test_an_attachment_follows_its_axis_into_split_and_fused_loops() -> None:
    x = te.placeholder((8, 6), "int32", "x")
    a = te.compute((8, 6), lambda i, j: x[i, j], "a")
    b = te.compute((8, 6), lambda i, j: a[i, j], "b")
    s = te.create_schedule(b.op)
    i, j = b.op.axis
    s[a].compute_at(s[b], i)
    s[b].split(i, 4)
    assert loops(lowered(s, [x, b])) == ["i.outer:2", "i.inner:4", "j:6", "j:6"]
    s = te.create_schedule(b.op)
    s[a].compute_at(s[b], i)
    s[b].fuse(i, j)
    assert loops(lowered(s, [x, b])) == ["i.j.fused:48"]
