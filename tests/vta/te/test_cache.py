from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.host_programs import lowered_step_by_step
from tests.support.compiler.te_run import loops, lowered, outputs, run, statements
from vta import te
from vta.tir.expr import Expr, IterVar
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import BufferRealize


def product() -> tuple[te.Tensor, te.Tensor, te.Tensor, IterVar]:
    a, b = te.placeholder((6, 8), "int32", "a"), te.placeholder((8, 5), "int32", "b")
    k = te.reduce_axis((0, 8), "k")
    return a, b, te.compute((6, 5), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c"), k


A = np.arange(48, dtype=np.int32).reshape(6, 8)
B = np.arange(40, dtype=np.int32).reshape(8, 5)


def refused(text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(te.ScheduleError) as error:
        call()
    assert str(error.value) == text


def test_readers_read_through_a_copy_in_another_memory() -> None:
    a, b, c, k = product()
    s = te.create_schedule(c.op)
    copy = s.cache_read(a, "local.inp_buffer", [c.op])
    assert [stage.name for stage in s.stages] == ["a", "a.local.inp_buffer", "b", "c"]
    assert (s[copy].scope, [axis.name for axis in copy.op.axis]) == ("local.inp_buffer", ["ax0", "ax1"])
    s[copy].compute_at(s[c], k)
    (held,) = [r for r in statements(lowered(s, [a, b, c]), BufferRealize) if r.buffer.scope != "global"]
    assert [str(dom.extent) for dom in held.bounds] == ["1", "1"]
    assert (run(s, [a, b, c], A, B) == A @ B).all()


def test_other_readers_keep_reading_the_original() -> None:
    x = te.placeholder((4,), "int32", "x")
    y, z = te.compute((4,), lambda i: x[i] + 1, "y"), te.compute((4,), lambda i: x[i] + 2, "z")
    both = te.compute((4,), lambda i: y[i] * z[i], "both")
    s = te.create_schedule(both.op)
    copy = s.cache_read(x, "local", y)
    assert s[y].op.input_tensors == (copy,)
    assert s[z].op.input_tensors == (x,)
    assert s[y].op.output(0) is y
    assert y.op.input_tensors == (x,), "the described operation itself never changes"


def test_a_copy_for_one_place_of_fused_loops_is_read_where_it_begins() -> None:
    x = te.placeholder((11,), "int32", "x")
    y = te.compute((2, 10), lambda i, j: x[j // 3 * 3 + j % 3] + x[j // 3 * 3 + j % 3 + 1] + i, "y")
    s = te.create_schedule(y.op)
    copy = s.cache_read(x, "local", y)
    s[copy].compute_at(s[y], s[y].fuse(*s[y].op.axis))
    *_, (_, func) = lowered_step_by_step(te.schedule_to_func(s, [x, y], "program"), VTAConfig())
    data, result = np.arange(11, dtype=np.int32) ** 2, np.zeros((2, 10), np.int32)
    run_func(func, [data, result])
    assert (result == data[:-1] + data[1:] + np.arange(2)[:, None]).all()


def test_one_output_of_several_is_read_through_a_copy() -> None:
    x = te.placeholder((4,), "int32", "x")
    first, second = te.compute((4,), lambda i: (x[i] + 1, x[i] + 2), "pair")
    z = te.compute((4,), lambda i: first[i] * second[i], "z")
    s = te.create_schedule(z.op)
    assert s.cache_read(second, "local", z).name == "pair.v1.local"
    data = np.arange(4, dtype=np.int32)
    assert (run(s, [x, z], data) == (data + 1) * (data + 2)).all()


def test_cache_read_needs_readers_that_read() -> None:
    a, b, c, _ = product()
    s = te.create_schedule(c.op)
    refused("cache_read of 'a': no readers were given", lambda: s.cache_read(a, "local", []))
    refused("cache_read of 'a': stage 'b' does not read it", lambda: s.cache_read(a, "local", [b]))


def test_a_reduction_is_written_through_a_cache() -> None:
    a, b, c, k = product()
    s = te.create_schedule(c.op)
    cache = s.cache_write(c, "local")
    assert cache.name == "c.local"
    assert [axis.name for axis in cache.op.axis] == ["i.c", "j.c"]
    assert cache.op.reduce_axis == (k,)
    assert s[c].op.reduce_axis == ()
    assert s[c].op.axis == c.op.axis
    ko, _ = s[cache].split(k, 3)
    s[cache].reorder(ko, *cache.op.axis)
    s[cache].compute_at(s[c], c.op.axis[0])
    assert (run(s, [a, b, c], A, B) == A @ B).all()


def test_the_loops_of_the_stage_become_the_layout_of_the_cache() -> None:
    x = te.placeholder((10, 7), "int32", "x")
    y = te.compute((10, 7), lambda i, j: x[i, j] * 2, "y")
    s = te.create_schedule(y.op)
    i, j = y.op.axis
    outer, inner = s[y].split(i, 4)
    s[y].reorder(j, outer, inner)
    cache = s.cache_write(y, "local")
    assert [int(n) for n in cache.shape] == [7, 3, 4]
    assert [leaf.name for leaf in s[y].leaf_iter_vars] == ["i", "j"]
    assert loops(lowered(s, [x, y])) == ["j.c:7", "i.outer.c:3", "i.inner.c:4", "i:10", "j:7"]
    data = np.arange(70, dtype=np.int32).reshape(10, 7)
    assert (run(s, [x, y], data) == data * 2).all()


def test_a_fused_layout_of_a_reduction_keeps_the_sum() -> None:
    a, b, c, _ = product()
    s = te.create_schedule(c.op)
    fused = s[c].fuse(*c.op.axis)
    s[c].split(fused, 7)
    cache = s.cache_write(c, "local")
    assert [int(n) for n in cache.shape] == [5, 7]
    assert (run(s, [a, b, c], A, B) == A @ B).all()


def test_a_reduction_over_a_following_range_moves_with_its_index() -> None:
    x = te.placeholder((9,), "int32", "x")

    def prefix(i: Expr) -> Any:
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(x[k], axis=k)

    y = te.compute((9,), prefix, "y")
    s = te.create_schedule(y.op)
    s[y].split(y.op.axis[0], 4)
    s.cache_write(y, "local")
    data = np.arange(9, dtype=np.int32)
    assert (run(s, [x, y], data) == data.cumsum()).all()


def test_all_outputs_of_an_operation_are_cached_together() -> None:
    x = te.placeholder((5,), "int32", "x")
    k = te.reduce_axis((0, 5), "k")
    both = te.comm_reducer(
        lambda p, q: (p[0] + q[0], te.max(p[1], q[1])), lambda t, u: (te.const(0, t), te.min_value(u)), name="both"
    )
    total, largest = te.compute((1,), lambda _i: both((x[k], x[k]), axis=k), "r")
    s = te.create_schedule(total.op)
    caches = s.cache_write([total, largest], "local")
    assert [cache.name for cache in caches] == ["r.local.v0", "r.local.v1"]
    assert [r.tolist() for r in outputs(s, [x, total, largest], np.arange(5, dtype=np.int32))] == [[10], [4]]
    refused(
        "stage 'r': cache_write: expected all 2 outputs, got 1",
        lambda: te.create_schedule(total.op).cache_write(total, "local"),
    )


def test_cache_write_is_refused_where_it_means_nothing() -> None:
    a, b, c, k = product()
    d = te.compute((6, 5), lambda i, j: c[i, j] + 1, "d")
    e = te.compute((6, 5), lambda i, j: d[i, j] + 1, "e")
    s = te.create_schedule(e.op)
    refused("cache_write: no tensor was given", lambda: s.cache_write([], "local"))
    refused("cache_write: 'c' and 'd' do not come from one operation", lambda: s.cache_write([c, d], "local"))
    refused("stage 'a': cache_write: a placeholder is not computed; it has no loops", lambda: s.cache_write(a, "local"))
    s[c].compute_at(s[d], d.op.axis[0])
    refused(
        "stage 'd': cache_write: stage 'c' is computed at its loop 'i'; call cache_write first",
        lambda: s.cache_write(d, "local"),
    )
    s[d].compute_inline()
    refused("stage 'd': cache_write: it is inlined, so nothing of it is stored", lambda: s.cache_write(d, "local"))
    s[c].split(k, 2)
    refused(
        "stage 'c': cache_write: the reduction axis 'k' was split or fused; call cache_write first and do that to the "
        "cache's stage",
        lambda: s.cache_write(c, "local"),
    )
    assert b in s


def test_a_combiner_that_uses_an_output_axis_is_cached_with_it() -> None:
    x = te.placeholder((6,), "int32", "x")

    def longest(i: Expr) -> Expr:
        k = te.reduce_axis((0, i + 1), "k")
        combined = te.comm_reducer(lambda a, b: te.max(a + b, i), lambda dtype: i.astype(dtype), name="c")
        return combined(x[k], axis=k)

    y = te.compute((6,), longest, "y")
    plain, cached = te.create_schedule(y.op), te.create_schedule(y.op)
    cached.cache_write(y, "local")
    data = np.array([3, -4, 2, 9, -20, 1], np.int32)
    first, second = (run(s, [x, y], data) for s in (plain, cached))
    np.testing.assert_array_equal(first, second)
