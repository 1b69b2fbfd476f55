from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.te_run import loops, lowered, outputs, run, statements
from tests.support.golden.golden_text import check_golden_text
from vta import te
from vta.tir.buffer import decl_buffer
from vta.tir.expr import IterKind, IterVar
from vta.tir.stmt import AttrKey, AttrStmt, BufferRealize, BufferStore, For, ForKind, IfThenElse, LetStmt

GOLDEN = Path(__file__).parent / "golden"


def chain() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    x = te.placeholder((4, 6), "int32", "x")
    y = te.compute((4, 6), lambda i, j: x[i, j] + 1, "y")
    return x, y, te.compute((4, 6), lambda i, j: y[i, j] * 2, "z")


def product() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    a, b = te.placeholder((4, 8), "int32", "a"), te.placeholder((8, 6), "int32", "b")
    k = te.reduce_axis((0, 8), "k")
    return a, b, te.compute((4, 6), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c")


def refused(kind: type[Exception], text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == text


def test_the_default_schedule_reads_like_the_computation(update_golden: bool) -> None:
    a, b, c = product()
    d = te.compute((4, 6), lambda i, j: te.max(c[i, j], 0), "d")
    text = str(lowered(te.create_schedule(d.op), [a, b, d]))
    check_golden_text(text, GOLDEN / "default_schedule.txt", update=update_golden)


def test_a_scheduled_product_reads_like_its_schedule(update_golden: bool) -> None:
    a, b, c = product()
    d = te.compute((4, 6), lambda i, j: te.max(c[i, j], 0), "d")
    s = te.create_schedule(d.op)
    outer, inner = s[d].split(d.op.axis[1], 4)
    s[d].reorder(outer, d.op.axis[0], inner)
    s[d].vectorize(inner)
    s[c].compute_at(s[d], outer)
    s[c].set_scope("local")
    ko, ki = s[c].split(s[c].op.reduce_axis[0], 4)
    s[c].reorder(ko, *c.op.axis, ki)
    copy = s.cache_read(b, "local", c)
    s[copy].compute_at(s[c], ko)
    s[copy].pragma(copy.op.axis[0], "dma_copy")
    text = str(lowered(s, [a, b, d]))
    check_golden_text(text, GOLDEN / "scheduled_product.txt", update=update_golden)


def test_the_function_has_the_arguments_as_parameters() -> None:
    x, _, z = chain()
    func = te.schedule_to_func(te.create_schedule(z.op), [x, z], "twice")
    assert (func.name, [p.name for p in func.params]) == ("twice", ["x", "z"])
    assert [func.buffer_map[p].name for p in func.params] == ["x", "z"]
    assert dict(func.attrs) == {"from_legacy_te_schedule": True, "global_symbol": "twice", "tir.noalias": True}


def test_a_stage_between_may_be_an_argument() -> None:
    x, y, z = chain()
    data = np.arange(24, dtype=np.int32).reshape(4, 6)
    results = outputs(te.create_schedule(z.op), [x, y, z], data)
    assert (results[0] == data + 1).all()
    assert (results[1] == (data + 1) * 2).all()


def test_a_tensor_may_be_bound_to_a_buffer() -> None:
    x, _, z = chain()
    buffer = decl_buffer((4, 6), "int32", "mine")
    func = te.schedule_to_func(te.create_schedule(z.op), [buffer, z], "f", binds={x: buffer})
    assert func.buffer_map[func.params[0]] is buffer


def test_a_size_may_be_an_argument() -> None:
    n = te.var("n")
    x = te.placeholder((8,), "int32", "x")
    y = te.compute((8,), lambda i: x[i] + n, "y")
    func = te.schedule_to_func(te.create_schedule(y.op), [n, x, y], "f")
    assert func.params[0] is n


def test_memory_is_realised_in_the_scope_of_the_stage_around_its_reader() -> None:
    x, y, z = chain()
    s = te.create_schedule(z.op)
    s[y].set_scope("local.acc_buffer")
    s[y].compute_at(s[z], z.op.axis[0])
    inner, outer = sorted(statements(lowered(s, [x, z]), BufferRealize), key=lambda r: r.buffer.name)
    assert (inner.buffer.scope, outer.buffer.name) == ("local.acc_buffer", "z")
    assert [f"{d.min}+{d.extent}" for d in inner.bounds] == ["i+1", "0+6"]


def test_pragmas_stay_on_loops_of_one_trip() -> None:
    x = te.placeholder((1, 6), "int32", "x")
    y = te.compute((1, 6), lambda i, j: x[i, j], "y")
    s = te.create_schedule(y.op)
    s[y].pragma(y.op.axis[0], "dma_copy")
    func = lowered(s, [x, y])
    (pragma,) = statements(func, AttrStmt)
    assert (pragma.key, pragma.node.name, str(pragma.value)) == ("pragma_dma_copy", "i", "1")
    assert loops(func) == ["j:6"]


def test_the_axis_of_a_pragma_is_the_loops_variable() -> None:
    x, _, z = chain()
    s = te.create_schedule(z.op)
    s[z].pragma(z.op.axis[0], "outer")
    s[z].pragma(z.op.axis[0], "inner", "text")
    func = lowered(s, [x, z])
    first, second = statements(func, AttrStmt)
    loop = next(f for f in statements(func, For) if f.loop_var is first.node.var)
    assert [a.key for a in (first, second)] == ["pragma_outer", "pragma_inner"]
    assert second.body is loop


def test_loops_run_as_they_are_marked() -> None:
    x, _, z = chain()
    s = te.create_schedule(z.op)
    outer, inner = s[z].split(z.op.axis[1], 3)
    s[z].parallel(z.op.axis[0])
    s[z].unroll(outer)
    s[z].vectorize(inner)
    kinds = [loop.kind for loop in statements(lowered(s, [x, z]), For)][-3:]
    assert kinds == [ForKind.PARALLEL, ForKind.UNROLLED, ForKind.VECTORIZED]


def test_virtual_threads_are_attributes() -> None:
    x, y, z = chain()
    s = te.create_schedule(z.op)
    thread = te.thread_axis("cthread")
    s[z].bind(z.op.axis[0], thread)
    s[y].compute_at(s[z], z.op.axis[0])
    func = lowered(s, [x, z])
    (attr,) = [a for a in statements(func, AttrStmt) if a.key == AttrKey.VIRTUAL_THREAD]
    assert isinstance(attr.node, IterVar)
    assert (attr.node.kind, attr.node.thread_tag, attr.node.dom, int(attr.value)) == (
        IterKind.THREAD_INDEX, "cthread", None, 4,
    )  # fmt: skip
    data = np.arange(24, dtype=np.int32).reshape(4, 6)
    assert (run(s, [x, z], data) == (data + 1) * 2).all()


def test_one_thread_axis_may_be_used_in_nested_stages() -> None:
    x, y, z = chain()
    s = te.create_schedule(z.op)
    thread = te.thread_axis("vthread")
    s[z].bind(z.op.axis[0], thread)
    s[y].compute_at(s[z], z.op.axis[0])
    s[y].bind(y.op.axis[1], thread)
    data = np.arange(24, dtype=np.int32).reshape(4, 6)
    assert (run(s, [x, z], data) == (data + 1) * 2).all()


def test_a_reduction_starts_right_before_its_first_loop() -> None:
    a, b, c = product()
    s = te.create_schedule(c.op)
    k = s[c].op.reduce_axis[0]
    s[c].reorder(c.op.axis[0], k, c.op.axis[1])
    assert loops(lowered(s, [a, b, c])) == ["i:4", "j.init:6", "k:8", "j:6"]
    s = te.create_schedule(c.op)
    s[c].reorder(k, *c.op.axis)
    assert loops(lowered(s, [a, b, c])) == ["i.init:4", "j.init:6", "k:8", "i:4", "j:6"]


def test_pragmas_and_loop_kinds_apply_to_the_start_too() -> None:
    a, b, c = product()
    s = te.create_schedule(c.op)
    s[c].reorder(s[c].op.reduce_axis[0], *c.op.axis)
    s[c].pragma(c.op.axis[0], "alu")
    s[c].unroll(c.op.axis[1])
    func = lowered(s, [a, b, c])
    assert [attr.node.name for attr in statements(func, AttrStmt)] == ["i.init", "i"]
    assert [loop.loop_var.name for loop in statements(func, For) if loop.kind is ForKind.UNROLLED] == ["j.init", "j"]


def test_several_results_of_a_reduction_are_computed_before_they_are_stored() -> None:
    x, k = te.placeholder((5,), "int32", "x"), te.reduce_axis((0, 5), "k")
    swap = te.comm_reducer(
        lambda p, q: (p[1] + q[0], p[0] + q[1]), lambda t, u: (te.const(0, t), te.const(0, u)), name="swap"
    )
    first, second = te.compute((1,), lambda _i: swap((x[k], x[k] * 10), axis=k), "r")
    s = te.create_schedule(first.op)
    func = lowered(s, [x, first, second])
    assert [let.var.name for let in statements(func, LetStmt)] == ["r.v0.new", "r.v1.new"]
    p, q = 0, 0
    for value in range(5):
        p, q = q + value, p + value * 10
    assert [int(r[0]) for r in outputs(s, [x, first, second], np.arange(5, dtype=np.int32))] == [p, q]


def test_a_condition_of_a_reduction_guards_the_update() -> None:
    x, k = te.placeholder((9,), "int32", "x"), te.reduce_axis((0, 9), "k")
    y = te.compute((1,), lambda _i: te.sum(x[k], axis=k, where=k % 3 == 0), "y")
    s = te.create_schedule(y.op)
    (branch,) = statements(lowered(s, [x, y]), IfThenElse)
    assert str(branch.condition) == "(floormod(k, 3) == 0)"
    assert run(s, [x, y], np.arange(9, dtype=np.int32)).tolist() == [9]


def test_alignment_and_double_buffering_are_attributes() -> None:
    x, y, z = chain()
    s = te.create_schedule(z.op)
    s[y].storage_align(y.op.axis[0], 16, 4)
    s[y].double_buffer()
    align, double = statements(lowered(s, [x, z]), AttrStmt)
    assert (align.key, align.node.name, str(align.value)) == (
        AttrKey.STORAGE_ALIGN, "y", "@tir.tvm_tuple(0, 16, 4, dtype=handle)",
    )  # fmt: skip
    assert (double.key, double.node.name) == (AttrKey.DOUBLE_BUFFER, "y")


def test_an_inlined_stage_needs_no_buffer() -> None:
    x, y, z = chain()
    s = te.create_schedule(z.op)
    s[y].compute_inline()
    assert {store.buffer.name for store in statements(lowered(s, [x, z]), BufferStore)} == {"z"}


def test_lowering_leaves_the_schedule_as_it_was() -> None:
    x, y, z = chain()
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 3)
    s[y].compute_at(s[z], outer)
    assert str(lowered(s, [x, z])) == str(lowered(s, [x, z]))


def test_arguments_are_checked() -> None:
    x, y, z = chain()
    s = te.create_schedule(z.op)
    n = te.var("n")

    def lower(*args: Any) -> Any:
        return lambda: te.schedule_to_func(s, args, "f")

    refused(te.LowerError, "tensor 'x' is an input of the schedule, but not among the arguments", lower(z))
    refused(te.LowerError, "argument 'x' is given twice", lower(x, z, x))
    refused(te.LowerError, "argument 'n' is given twice", lower(n, n, x, z))
    refused(te.LowerError, "arguments are tensors, buffers and variables, not 'x'", lower("x", z))
    s[y].set_scope("local.acc_buffer")
    refused(te.LowerError, "argument 'y': arguments are in DRAM, but its scope is 'local.acc_buffer'", lower(x, y, z))


def test_arguments_that_nothing_is_stored_to_stay_as_they_are() -> None:
    x, y, z = chain()
    s, unused = te.create_schedule(z.op), te.placeholder((3,), name="unused")
    s[y].compute_inline()
    func = te.schedule_to_func(s, [x, y, unused, z], "f")
    assert [param.name for param in func.params] == ["x", "y", "unused", "z"]
    assert "y[" not in str(func.body)
    assert [param.name for param in te.schedule_to_func(s, [x], "f").params] == ["x"]


def test_an_undefined_variable_is_named() -> None:
    x, k = te.placeholder((4, 6), "int32", "x"), te.reduce_axis((0, 6), "k")
    y = te.compute((4,), lambda i: x[i, k] + te.var("n"), "y")
    refused(
        te.LowerError,
        "function 'f' uses variables that nothing defines: k, n; a reduction axis must be reduced over where it is "
        "used, a size must be among the arguments or in the shape of one",
        lambda: te.schedule_to_func(te.create_schedule(y.op), [x, y], "f"),
    )


@pytest.mark.parametrize("tag", ["threadidx", "warp"])
def test_other_threads_are_refused(tag: str) -> None:
    x, _, z = chain()
    s = te.create_schedule(z.op)
    s[z].bind(z.op.axis[0], te.thread_axis(tag))
    refused(
        te.ScheduleError,
        f"stage 'z': axis 'i' bound to thread axis '{tag}': expected a virtual thread, 'cthread', 'vthread' or "
        f"'rotate', or a GPU's, 'blockIdx.x' or 'threadIdx.x', got tag '{tag}'",
        lambda: lowered(s, [x, z]),
    )


def test_a_thread_axis_with_another_extent_is_refused() -> None:
    x, _, z = chain()
    s = te.create_schedule(z.op)
    s[z].bind(z.op.axis[0], te.thread_axis(3, "vthread"))
    refused(
        te.ScheduleError,
        "stage 'z': axis 'i' bound to thread axis 'vthread': the thread axis has extent 3, the loop 4",
        lambda: lowered(s, [x, z]),
    )


def test_a_number_of_threads_must_be_constant() -> None:
    n = te.var("n")
    x = te.placeholder((n,), "int32", "x")
    y = te.compute((n,), lambda i: x[i], "y")
    s = te.create_schedule(y.op)
    s[y].bind(y.op.axis[0], te.thread_axis("cthread"))
    refused(
        te.ScheduleError,
        "stage 'y': axis 'i' bound to thread axis 'cthread': expected a constant number of threads, got n",
        lambda: lowered(s, [x, y]),
    )
