"""Schedules for a GPU lower as TVM's do: what threads share is computed for all of them; no code is made."""

import pytest

from vta import te
from vta.build_module import build_generic, lower_generic
from vta.codegen.llvm_types import CodegenError
from vta.te.gpu_threads import is_gpu_thread, shares


@pytest.mark.parametrize(
    ("scope", "extents"), [("shared", [1, 32]), ("local", [1, 1]), ("", [1, 1]), ("global", [8, 32])]
)
def test_memory_that_threads_share_holds_what_all_of_them_read(scope: str, extents: list[int]) -> None:
    a = te.placeholder((8, 32), name="A")
    b = te.compute((8, 32), lambda i, j: a[i, j] * 2, "B")
    c = te.compute((8, 32), lambda i, j: b[i, j] + 1, "C")
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("blockIdx.x"))
    s[c].bind(c.op.axis[1], te.thread_axis("threadIdx.x"))
    s[b].compute_at(s[c], c.op.axis[1])
    s[b].set_scope(scope)
    bounds = te.schedule.InferBound(s)
    assert [bounds[axis].extent for axis in b.op.axis] == extents


def test_a_thread_axis_that_two_stages_are_bound_to_is_one_variable() -> None:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] * 2, "B")
    c = te.compute((64,), lambda i: b[i] + b[63 - i], "C")
    s, thread = te.create_schedule(c.op), te.thread_axis("threadIdx.x")
    s[b].set_scope("shared")
    for stage in (b, c):
        s[stage].bind(stage.op.axis[0], thread)
    text = str(lower_generic(s, [a, c]))
    header = '"ThreadIndex", "threadIdx.x")] "thread_extent" = 64'
    assert text.count(header) == 2
    assert "threadIdx.x_1" not in text
    with pytest.raises(CodegenError) as caught:
        build_generic(s, [a, c], name="f")
    assert str(caught.value).endswith(
        "a loop is bound to 'threadIdx.x', a GPU's threads; the program was lowered, and code is made for the CPU and "
        "the accelerator alone"
    )


def test_which_memory_is_shared() -> None:
    block, thread, virtual = (te.thread_axis(tag) for tag in ("blockIdx.x", "threadIdx.y", "vthread"))
    assert [is_gpu_thread(axis) for axis in (block, thread, virtual, None)] == [True, True, False, False]
    assert [shares("shared.dyn", axis, 1) for axis in (block, thread, virtual)] == [False, True, True]
    assert [shares("local", axis, 1) for axis in (block, thread, virtual)] == [False, False, False]
    assert [shares("", thread, inside) for inside in (-1, 0, 1)] == [True, True, False]
