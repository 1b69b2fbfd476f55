from typing import Any

import numpy as np
import pytest

from tests.support.compiler.te_run import loops, lowered, run, statements
from vta import te
from vta.te.lowering.infer_bound import infer_bounds
from vta.te.schedule import InferBound
from vta.tir.expr import Expr, IterVar
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import BufferRealize


def region(s: te.Schedule, tensor: te.Tensor) -> list[str]:
    iteration = infer_bounds(s).placed[s[tensor]].iteration
    ranges = [iteration.region[axis] for axis in s[tensor].op.axis]
    return [f"{dom.min}+{dom.extent}" for dom in ranges]


class Convolution:
    """A padded input, a 3 x 3 window, and a copy of the result, over 14 x 14."""

    def __init__(self, stride: int = 1) -> None:
        self.x = te.placeholder((14, 14), "int32", "x")

        def padded(y: Expr, x: Expr) -> Any:
            inside = te.all(y >= 1, y < 15, x >= 1, x < 15)
            return te.if_then_else(inside, self.x[y - 1, x - 1], te.const(0))

        self.pad = te.compute((16, 16), padded, "pad")
        dy, dx = te.reduce_axis((0, 3), "dy"), te.reduce_axis((0, 3), "dx")
        size = (16 - 3) // stride + 1
        self.conv = te.compute(
            (size, size), lambda i, j: te.sum(self.pad[i * stride + dy, j * stride + dx], axis=[dy, dx]), "conv"
        )
        self.out = te.compute((size, size), lambda i, j: self.conv[i, j], "out")
        self.s = te.create_schedule(self.out.op)

    def expected(self, data: np.ndarray, stride: int = 1) -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(data, 1), (3, 3))[::stride, ::stride]
        return windows.sum(axis=(2, 3))


def test_a_window_at_a_row_tile_loads_its_halo_alone() -> None:
    c = Convolution()
    outer, _ = c.s[c.out].split(c.out.op.axis[0], 7)
    c.s[c.conv].compute_at(c.s[c.out], outer)
    c.s[c.pad].compute_at(c.s[c.out], outer)
    assert region(c.s, c.conv) == ["(i.outer*7)+7", "0+14"]
    assert region(c.s, c.pad) == ["(i.outer*7)+9", "0+16"]
    data = np.arange(196, dtype=np.int32).reshape(14, 14)
    assert (run(c.s, [c.x, c.out], data) == c.expected(data)).all()


def test_a_strided_window_loads_its_halo_alone() -> None:
    c = Convolution(stride=2)
    outer, _ = c.s[c.out].split(c.out.op.axis[0], 3)
    c.s[c.conv].compute_at(c.s[c.out], outer)
    c.s[c.pad].compute_at(c.s[c.conv], c.conv.op.axis[0])
    assert region(c.s, c.pad) == ["((i*2) + (i.outer*6))+3", "0+15"]
    data = np.arange(196, dtype=np.int32).reshape(14, 14)
    assert (run(c.s, [c.x, c.out], data) == c.expected(data, 2)).all()


def test_loops_of_the_reader_inside_the_attachment_are_relaxed() -> None:
    c = Convolution()
    dy, dx = c.s[c.conv].op.reduce_axis
    c.s[c.conv].reorder(dy, *c.conv.op.axis, dx)
    c.s[c.pad].compute_at(c.s[c.conv], dy)
    assert region(c.s, c.pad) == ["dy+14", "0+16"]


def test_all_readers_count() -> None:
    x = te.placeholder((20,), "int32", "x")
    a = te.compute((20,), lambda i: x[i], "a")
    b = te.compute((10,), lambda i: a[i + 2], "b")
    c = te.compute((10,), lambda i: a[i + 5] + b[i], "c")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], 5)
    s[a].compute_at(s[c], outer)
    s[b].compute_at(s[c], outer)
    assert region(s, a) == ["((i.outer*5) + 2)+8"]
    assert region(s, b) == ["(i.outer*5)+5"]


def test_a_root_stage_computes_what_is_read() -> None:
    x = te.placeholder((20,), "int32", "x")
    a = te.compute((20,), lambda i: x[i], "a")
    b = te.compute((4,), lambda i: a[i * 2 + 3], "b")
    assert region(te.create_schedule(b.op), a) == ["3+7"]


def test_an_index_from_memory_may_be_anywhere() -> None:
    x, where = te.placeholder((20,), "int32", "x"), te.placeholder((4,), "int32", "where")
    a = te.compute((20,), lambda i: x[i] * 2, "a")
    b = te.compute((4,), lambda i: a[where[i]], "b")
    s = te.create_schedule(b.op)
    s[a].compute_at(s[b], b.op.axis[0])
    assert region(s, a) == ["0+20"]
    data = np.arange(20, dtype=np.int32)
    assert run(s, [x, where, b], data, np.array([19, 0, 7, 7], np.int32)).tolist() == [38, 0, 14, 14]


def test_an_index_that_one_element_gives_may_be_anywhere() -> None:
    x, where = te.placeholder((20,), "int32", "x"), te.placeholder((1,), "int8", "where")
    a = te.compute((20,), lambda i: x[i] * 2, "a")
    b = te.compute((4,), lambda i: a[te.max(te.min(where[0] * 2 + i, 18), 3)], "b")
    s = te.create_schedule(b.op)
    s[a].compute_at(s[b], b.op.axis[0])
    assert region(s, a) == ["3+16"]
    data = np.arange(20, dtype=np.int32)
    assert run(s, [x, where, b], data, np.array([8], np.int8)).tolist() == [32, 34, 36, 36]


def test_a_fused_row_loop_needs_the_rows_it_touches() -> None:
    x = te.placeholder((6, 8), "int32", "x")
    a = te.compute((6, 8), lambda i, j: x[i, j], "a")
    b = te.compute((6, 8), lambda i, j: a[i, j], "b")
    s = te.create_schedule(b.op)
    outer, _ = s[b].split(s[b].fuse(*b.op.axis), 16)
    s[a].compute_at(s[b], outer)
    assert region(s, a) == ["(i.j.fused.outer*2)+2", "0+8"]


def test_a_virtual_thread_is_a_loop() -> None:
    x = te.placeholder((8,), "int32", "x")
    a = te.compute((8,), lambda i: x[i], "a")
    b = te.compute((8,), lambda i: a[i], "b")
    s = te.create_schedule(b.op)
    outer, _ = s[b].split(b.op.axis[0], nparts=2)
    s[b].bind(outer, te.thread_axis("cthread"))
    s[a].set_scope("local")
    s[a].compute_at(s[b], outer)
    assert region(s, a) == ["(cthread*4)+4"]


def test_infer_bound_lists_every_axis() -> None:
    x = te.placeholder((10,), "int32", "x")
    a = te.compute((10,), lambda i: x[i], "a")
    b = te.compute((10,), lambda i: a[i], "b")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], 4)
    s[a].compute_at(s[b], outer)
    bounds = {axis: f"{dom.min}+{dom.extent}" for axis, dom in InferBound(s).items()}
    wanted: list[IterVar] = [b.op.axis[0], outer, inner, a.op.axis[0]]
    assert [bounds[axis] for axis in wanted] == ["0+10", "0+3", "0+4", "(i.outer*4)+4"]


def test_an_axis_that_two_stages_share_gets_two_variables() -> None:
    x, k = te.placeholder((4, 4), "int32", "x"), te.reduce_axis((0, 4), "k")
    a = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), "a")
    b = te.compute((4,), lambda i: te.sum(a[k] * x[i, k], axis=k), "b")
    s = te.create_schedule(b.op)
    s[a].compute_at(s[b], k)
    data = np.arange(16, dtype=np.int32).reshape(4, 4)
    assert (run(s, [x, b], data) == data @ data.sum(axis=1)).all()


@pytest.mark.parametrize("size", [1, 4, 13])
def test_sizes_may_be_known_when_the_function_runs(size: int) -> None:
    n = te.var("n")
    x = te.placeholder((n, 8), "int32", "x")
    a = te.compute((n, 8), lambda i, j: x[i, j] * 2, "a")
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), "b")
    s = te.create_schedule(b.op)
    outer, _ = s[b].split(b.op.axis[0], 4)
    s[a].compute_at(s[b], outer)
    func = lowered(s, [x, b])
    (held,) = [r for r in statements(func, BufferRealize) if r.buffer.name == "a"]
    assert [str(dom.extent) for dom in held.bounds] == ["4", "8"]
    data = np.arange(size * 8, dtype=np.int32).reshape(size, 8)
    result = np.zeros(size, np.int32)
    run_func(func, [data, result])
    assert (result == data.sum(axis=1) * 2).all()


def test_a_stage_at_an_inlined_stage_is_refused() -> None:
    x = te.placeholder((8,), "int32", "x")
    a = te.compute((8,), lambda i: x[i], "a")
    b = te.compute((8,), lambda i: a[i], "b")
    c = te.compute((8,), lambda i: b[i], "c")
    s = te.create_schedule(c.op)
    s[a].compute_at(s[b], b.op.axis[0])
    s[b].compute_inline()
    with pytest.raises(te.ScheduleError) as error:
        lowered(s, [x, c])
    assert str(error.value) == ("stage 'a': it is to be computed at stage 'b', which is inlined and has no loops")


def test_a_triangular_producer_is_allocated_for_the_longest_row() -> None:
    x = te.placeholder((10,), "int32", "x")
    a = te.compute((10,), lambda i: x[i] + 1, "a")

    def prefix(i: Expr) -> Any:
        k = te.reduce_axis((0, i), "k")
        return te.sum(a[k], axis=k)

    y = te.compute((10,), prefix, "y")
    s = te.create_schedule(y.op)
    s[a].compute_at(s[y], y.op.axis[0])
    assert region(s, a) == ["0+9"]
    assert loops(lowered(s, [x, y])) == ["i:10", "i:9", "k:i"]


def square_sum() -> tuple[te.Tensor, te.Tensor, te.Schedule]:
    x = te.placeholder((10,), "int32", "x")
    a = te.compute((10,), lambda i: x[i] + 1, "a")

    def total(i: Expr) -> Any:
        k = te.reduce_axis((0, i * i), "k")
        return te.sum(a[k], axis=k)

    y = te.compute((4,), total, "y")
    return x, y, te.create_schedule(y.op)


def test_a_range_without_constant_bounds_follows_its_index() -> None:
    x, y, s = square_sum()
    data = np.arange(10, dtype=np.int32)
    assert run(s, [x, y], data).tolist() == [(data[: i * i] + 1).sum() for i in range(4)]


def test_a_range_without_constant_bounds_cannot_be_split() -> None:
    x, y, s = square_sum()
    s[y].split(s[y].op.reduce_axis[0], 4)
    with pytest.raises(te.ScheduleError) as error:
        lowered(s, [x, y])
    assert str(error.value) == (
        "stage 'y': reduction axis 'k': no constant bounds are known for its range, from 0 to (i*i); leave its loop "
        "unsplit, inside the loops of the axes that it depends on"
    )
