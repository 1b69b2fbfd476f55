"""What users reported of tensor expressions and schedules, each with its smallest input; named after the report."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.te_run import loops, lowered, outputs, run_both, statements
from vta import te
from vta.te.schedule import InferBound
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.expr import Expr, Var
from vta.tir.expr.iteration import IterVar
from vta.tir.stmt import AttrKey, AttrStmt, BufferRealize, BufferStore, For, ForKind, Stmt


def copy_chain(size: int, *names: str) -> list[te.Tensor]:
    chain = [te.placeholder((size,), "int32", "x")]
    for name in names:
        source = chain[-1]
        chain.append(te.compute((size,), lambda i, source=source: source[i], name))
    return chain


def test_br_068_many_virtual_threads_stay_one_attribute() -> None:
    x = te.placeholder((1024,), "int32", "x")
    y = te.compute((1024,), lambda i: x[i] + 1, "y")
    s = te.create_schedule(y.op)
    outer, _ = s[y].split(y.op.axis[0], nparts=64)
    s[y].bind(outer, te.thread_axis("vthread"))
    func = lowered(s, [x, y])
    (thread,) = [a for a in statements(func, AttrStmt) if a.key == AttrKey.VIRTUAL_THREAD]
    assert int(thread.value) == 64
    assert loops(func) == ["i.inner:16"]
    assert (run_both(s, [x, y], np.arange(1024, dtype=np.int32)) == np.arange(1, 1025)).all()


def test_br_073_a_dummy_axis_that_is_split_starts_the_sum_once() -> None:
    x = te.placeholder((10,), "int32", "x")
    k = te.reduce_axis((0, 10), "k")
    y = te.compute((), lambda: te.sum(x[k], axis=k), "y")
    s = te.create_schedule(y.op)
    dummy = s[y].fuse(*s[y].op.axis)
    s[y].split(dummy, nparts=20)
    assert run_both(s, [x, y], np.ones(10, np.int32)) == 10


def test_br_073_a_dummy_axis_that_is_split_by_a_factor_starts_the_sum_once() -> None:
    x = te.placeholder((10,), "int32", "x")
    k = te.reduce_axis((0, 10), "k")
    y = te.compute((), lambda: te.sum(x[k], axis=k), "y")
    s = te.create_schedule(y.op)
    _, inner = s[y].split(s[y].fuse(), factor=20)
    s[y].reorder(k, inner)
    assert run_both(s, [x, y], np.ones(10, np.int32)) == 10


def test_br_073_output_and_reduction_fuse_into_one_loop() -> None:
    x = te.placeholder((10,), "int32", "x")
    k = te.reduce_axis((0, 10), "k")
    y = te.compute((10,), lambda _i: te.sum(x[k], axis=k), "y")
    s = te.create_schedule(y.op)
    s[y].fuse(*s[y].op.axis, k)
    assert loops(lowered(s, [x, y])) == ["_i.init:10", "_i.k.fused:100"]
    assert (run_both(s, [x, y], np.ones(10, np.int32)) == 10).all()


def adaptive_pool(height: int, width: int, out: int) -> tuple[te.Tensor, te.Tensor]:
    x = te.placeholder((height, width), "float32", "x")

    def first(i: Expr, size: int) -> Any:
        return i * size // out

    def end(i: Expr, size: int) -> Any:
        return ((i + 1) * size + out - 1) // out

    def total(i: Expr, j: Expr) -> Any:
        dy = te.reduce_axis((0, end(i, height) - first(i, height)), "dy")
        dx = te.reduce_axis((0, end(j, width) - first(j, width)), "dx")
        return te.sum(x[first(i, height) + dy, first(j, width) + dx], axis=[dy, dx])

    added = te.compute((out, out), total, "added")

    def mean(i: Expr, j: Expr) -> Any:
        count = (end(i, height) - first(i, height)) * (end(j, width) - first(j, width))
        return added[i, j] / count.astype("float32")

    return x, te.compute((out, out), mean, "mean")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((3, 4), [[12.5, 14.5], [16.5, 18.5]]),
        ((4, 3), [[12, 13], [18, 19]]),
        ((4, 4), [[12.5, 14.5], [20.5, 22.5]]),
        ((3, 3), [[12, 13], [15, 16]]),
    ],
)
@pytest.mark.parametrize("order", ["outputs first", "reductions first", "fused"])
def test_br_074_windows_of_two_reduction_loops_start_once(shape: tuple[int, ...], expected: Any, order: str) -> None:
    x, mean = adaptive_pool(*shape, 2)
    s = te.create_schedule(mean.op)
    added = s[mean].op.input_tensors[0]
    i, j, dy, dx = s[added].leaf_iter_vars
    if order == "reductions first":
        s[added].reorder(dy, i, dx, j)
    elif order == "fused":
        s[added].fuse(dy, dx)
        s[added].compute_at(s[mean], s[mean].op.axis[0])
    data = np.arange(10, 10 + shape[0] * shape[1], dtype=np.float32).reshape(shape)
    assert run_both(s, [x, mean], data).tolist() == expected


@pytest.mark.parametrize("n", [1, 3])
def test_br_074_a_reduction_split_at_two_levels_resets_each_output_once(n: int) -> None:
    a, b = te.placeholder((n, 8), "int32", "a"), te.placeholder((8, 5), "int32", "b")
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((n, 5), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c")
    s = te.create_schedule(c.op)
    ko, ki = s[c].split(k, 4)
    s[c].reorder(ko, *c.op.axis, ki)
    resets = [st for st in statements(lowered(s, [a, b, c]), BufferStore) if str(st.value) == "0"]
    assert len(resets) == 1
    av, bv = np.arange(n * 8, dtype=np.int32).reshape(n, 8), np.arange(40, dtype=np.int32).reshape(8, 5)
    assert (run_both(s, [a, b, c], av, bv) == av @ bv).all()


def relu_of_130() -> tuple[te.Tensor, te.Tensor, np.ndarray]:
    x = te.placeholder((130,), "int32", "x")
    y = te.compute((130,), lambda i: te.max(x[i], 0), "y")
    return x, y, (3 * np.arange(130) % 41 - 10).astype(np.int32)


@pytest.mark.parametrize("factors", [(8, 16), (7, 5), (200, 1)])
def test_br_075_two_splits_that_do_not_divide_drop_and_repeat_nothing(factors: tuple[int, ...]) -> None:
    x, y, data = relu_of_130()
    s = te.create_schedule(y.op)
    outer, inner = s[y].split(y.op.axis[0], factors[0])
    outer_outer, outer_inner = s[y].split(outer, factors[1])
    s[y].reorder(outer_outer, outer_inner, inner)
    s[y].unroll(inner)
    result = run_both(s, [x, y], data)
    assert result.sum() == 1410
    assert result[:6].tolist() == [0, 0, 0, 0, 2, 5]
    assert result[-4:].tolist() == [0, 2, 5, 8]
    assert result[120:].sum() == 90


def test_br_075_no_unrolled_loop_has_zero_trips() -> None:
    x, y, _ = relu_of_130()
    s = te.create_schedule(y.op)
    outer, inner = s[y].split(y.op.axis[0], 8)
    s[y].split(outer, 16)
    s[y].unroll(inner)
    unrolled = [loop for loop in statements(lowered(s, [x, y]), For) if loop.kind is ForKind.UNROLLED]
    assert [int(loop.extent) for loop in unrolled] == [8]


def test_br_075_producer_and_consumer_splits_that_do_not_fit_each_other() -> None:
    x, c, d = copy_chain(48, "c", "d")
    s = te.create_schedule(d.op)
    s[c].split(c.op.axis[0], 10)
    outer, _ = s[d].split(d.op.axis[0], 32)
    s[c].compute_at(s[d], outer)
    result = run_both(s, [x, d], np.arange(1, 49, dtype=np.int32))
    assert result.tolist() == list(range(1, 49))
    assert result.sum() == 1176


def guarded_add(outer: IterVar, size: int, width: int, scope: str = "global") -> te.TensorIntrin:
    """An add of ``width`` elements that leaves out those from ``size`` on, at tile ``outer``."""
    x, y = te.placeholder((width,), "int32", "vx"), te.placeholder((width,), "int32", "vy")
    z = te.compute(
        (width,), lambda i: te.if_then_else(outer * width + i < size, x[i] + y[i], te.const(0, "int32")), "vz"
    )

    def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
        i = te.var("lane")
        inside = te.likely(outer * width + i < size)
        value = te.if_then_else(inside, ins[0].load(i) + ins[1].load(i), te.const(0, "int32"))
        return For(i, te.const(0), te.const(width), BufferStore(outs[0], value, (i,)))

    binds = {z: decl_buffer(z.shape, z.dtype, "vz", scope=scope, offset_factor=1)}
    return te.decl_tensor_intrin(z.op, body, name="guarded_add", binds=binds)


def add_of_129() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    x, y = te.placeholder((129,), "int32", "x"), te.placeholder((129,), "int32", "y")
    return x, y, te.compute((129,), lambda i: x[i] + y[i], "z")


def check_add_of_129(s: te.Schedule, args: list[te.Tensor]) -> None:
    ramp = np.arange(129, dtype=np.int32)
    result = run_both(s, args, ramp, 2 * ramp)
    assert (result == 3 * ramp).all()
    assert result[-2:].tolist() == [381, 384]
    assert result.sum() == 24768


def test_br_077_a_guarded_intrinsic_takes_the_last_tile_of_a_cache_in_tiles() -> None:
    x, y, z = add_of_129()
    s = te.create_schedule(z.op)
    s[z].split(z.op.axis[0], factor=16)
    cache = s.cache_write(z, "global")
    outer, inner = cache.op.axis
    s[cache].tensorize(inner, guarded_add(outer, 129, 16))
    check_add_of_129(s, [x, y, z])


def test_br_077_a_guarded_intrinsic_takes_the_last_tile_of_a_cache_at_a_tile() -> None:
    x, y, z = add_of_129()
    s = te.create_schedule(z.op)
    cache = s.cache_write(z, "local")
    outer, _ = s[z].split(z.op.axis[0], 16)
    s[cache].compute_at(s[z], outer)
    s[cache].tensorize(cache.op.axis[0], guarded_add(outer, 129, 16, "local"))
    check_add_of_129(s, [x, y, z])


def vector_add(size: int) -> tuple[te.Tensor, te.Tensor, te.Tensor, te.TensorIntrin]:
    x, y = te.placeholder((size,), "int32", "x"), te.placeholder((size,), "int32", "y")
    z = te.compute((size,), lambda i: x[i] + y[i], "z")

    def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
        i = te.var("lane")
        return For(i, te.const(0), te.const(size), BufferStore(outs[0], ins[0].load(i) + ins[1].load(i), (i,)))

    return x, y, z, te.decl_tensor_intrin(z.op, body, name="add")


@pytest.mark.parametrize("size", [2, 32])
def test_br_078_the_very_same_compute_declares_and_is_tensorized(size: int) -> None:
    x, y, z, add = vector_add(size)
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[0], add)
    ramp = np.arange(size, dtype=np.int32)
    assert (run_both(s, [x, y, z], ramp, ramp) == 2 * ramp).all()


def folded_window() -> tuple[te.Tensor, te.Tensor]:
    x = te.placeholder((9, 9), "int32", "x")
    return x, te.compute((9, 9), lambda i, j: x[j // 3 + i % 3, j % 3 + i // 3], "y")


@pytest.mark.parametrize("conditional", [False, True])
def test_br_080_bodies_with_division_and_remainder_match(conditional: bool) -> None:
    def described() -> tuple[Any, ...]:
        x = te.placeholder((9, 9), "int32", "x")

        def element(i: Expr, j: Expr) -> Any:
            value = x[j // 3 + i % 3, j % 3 + i // 3]
            return te.if_then_else(j % 3 < 2, value, value + 0 // 3) if conditional else value

        return x, te.compute((9, 9), element, "y")

    x, y = described()
    _, like = described()

    def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
        i, j = te.var("ii"), te.var("jj")
        store = BufferStore(outs[0], ins[0].load(j // 3 + i % 3, j % 3 + i // 3), (i, j))
        return For(i, te.const(0), te.const(9), For(j, te.const(0), te.const(9), store))

    s = te.create_schedule(y.op)
    s[y].tensorize(y.op.axis[0], te.decl_tensor_intrin(like.op, body))
    data = np.arange(81, dtype=np.int32).reshape(9, 9)
    i, j = np.mgrid[:9, :9]
    assert (run_both(s, [x, y], data) == data[j // 3 + i % 3, j % 3 + i // 3]).all()


def test_br_080_a_row_matches_once_constants_are_folded() -> None:
    x = te.placeholder((3, 9), "int32", "x")
    y = te.compute((3, 9), lambda i, j: x[i, (j + 9 * (i // 3)) % 9 + 0 // 3], "y")
    row = te.placeholder((9,), "int32", "row")
    like = te.compute((9,), lambda j: row[j], "like")

    def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
        j = te.var("jj")
        return For(j, te.const(0), te.const(9), BufferStore(outs[0], ins[0].load(j), (j,)))

    s = te.create_schedule(y.op)
    s[y].tensorize(y.op.axis[1], te.decl_tensor_intrin(like.op, body))
    data = np.arange(27, dtype=np.int32).reshape(3, 9)
    assert (run_both(s, [x, y], data) == data).all()


def int8_product() -> tuple[te.Schedule, list[te.Tensor], dict[str, IterVar]]:
    a, b = te.placeholder((32, 128), "int8", "a"), te.placeholder((128, 64), "int8", "b")
    k = te.reduce_axis((0, 128), "k")
    c = te.compute((32, 64), lambda i, j: te.sum(a[i, k].astype("int32") * b[k, j].astype("int32"), axis=k), "c")
    s = te.create_schedule(c.op)
    axes = {}
    for name, axis in zip("ijk", (*c.op.axis, k), strict=True):
        axes[f"{name}o"], axes[f"{name}i"] = s[c].split(axis, 16)
    return s, [a, b, c], axes


def tile_of_16() -> te.TensorIntrin:
    a, b = te.placeholder((16, 16), "int8", "ta"), te.placeholder((16, 16), "int8", "tb")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k].astype("int32") * b[k, j].astype("int32"), axis=k), "tc")

    def nest(update: bool) -> Any:
        def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
            i, j, x = te.var("ti"), te.var("tj"), te.var("tk")
            sixteen = te.const(16)
            if not update:
                inner: Stmt = BufferStore(outs[0], te.const(0, "int32"), (i, j))
            else:
                term = ins[0].load(i, x).astype("int32") * ins[1].load(x, j).astype("int32")
                inner = For(x, te.const(0), sixteen, BufferStore(outs[0], outs[0].load(i, j) + term, (i, j)))
            return For(i, te.const(0), sixteen, For(j, te.const(0), sixteen, inner))

        return body

    def all_three(ins: list[Buffer], outs: list[Buffer]) -> tuple[Any, ...]:
        return None, nest(False)(ins, outs), nest(True)(ins, outs)

    binds = {
        t: decl_buffer(t.shape, t.dtype, t.op.name, strides=[te.var(f"{t.op.name}_ld"), 1], offset_factor=1)
        for t in (a, b, c)
    }
    return te.decl_tensor_intrin(c.op, all_three, name="tile16", binds=binds)


def test_br_081_the_right_order_of_axes_matches_and_gives_the_product() -> None:
    s, args, x = int8_product()
    s[args[2]].reorder(x["io"], x["jo"], x["ko"], x["ii"], x["ji"], x["ki"])
    s[args[2]].tensorize(x["ii"], tile_of_16())
    rng = np.random.default_rng(81)
    a, b = (rng.integers(-128, 128, size=size).astype(np.int8) for size in ((32, 128), (128, 64)))
    assert (run_both(s, args, a, b) == a.astype(np.int32) @ b.astype(np.int32)).all()


def test_br_081_a_wrong_order_of_axes_is_answered_with_the_expected_one() -> None:
    s, args, x = int8_product()
    s[args[2]].reorder(x["io"], x["jo"], x["ko"], x["ki"], x["ji"], x["ii"])
    s[args[2]].tensorize(x["ii"], tile_of_16())
    with pytest.raises(te.TensorizeError) as error:
        lowered(s, args)
    assert str(error.value) == (
        "Tensorize failed: stage 'c', axis 'i.inner': the loops inside cover i: 16, j: 1, k: 1, but the intrinsic "
        "'tile16' computes i: 16, j: 16, k: 16; expected axis order, from the tensorised axis inwards: i.inner, "
        "j.inner, k.inner; got the loops: i.outer, j.outer, k.outer, k.inner, j.inner, i.inner"
    )


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (lambda i: (0, i), [0, 0, 1, 3, 6, 10, 15, 21, 28, 36]),
        (lambda i: (i, 10), [45, 45, 44, 42, 39, 35, 30, 24, 17, 9]),
    ],
)
@pytest.mark.parametrize("how", ["plain", "reduction outside", "split", "fused"])
def test_br_083_a_reduction_range_may_follow_an_output_index(
    bounds: Callable[..., Any], expected: list[int], how: str
) -> None:
    x = te.placeholder((10,), "int32", "x")

    def total(i: Expr) -> Any:
        k = te.reduce_axis(bounds(i), "k")
        return te.sum(x[k], axis=k)

    y = te.compute((10,), total, "y")
    s = te.create_schedule(y.op)
    i, k = s[y].leaf_iter_vars
    if how == "reduction outside":
        s[y].reorder(k, i)
    elif how == "split":
        s[y].split(k, 4)
    elif how == "fused":
        s[y].fuse(i, k)
    assert run_both(s, [x, y], np.arange(10, dtype=np.int32)).tolist() == expected


def test_br_084_a_guard_counts_from_where_its_axis_starts() -> None:
    x = te.placeholder((10,), "int32", "x")
    y = te.compute((10,), lambda i: x[i] + 1, "y")
    z = te.compute((9,), lambda i: y[i + 1], "z")
    s = te.create_schedule(z.op)
    s[y].split(y.op.axis[0], 4)
    (written,) = [r for r in statements(lowered(s, [x, z]), BufferRealize) if r.buffer.name == "y"]
    assert (int(written.bounds[0].min), int(written.bounds[0].extent)) == (1, 9)
    assert run_both(s, [x, z], np.arange(10, dtype=np.int32)).tolist() == list(range(2, 11))


def test_br_084_a_reduction_that_starts_above_zero_visits_each_position_once() -> None:
    x = te.placeholder((10,), "int32", "x")
    k = te.reduce_axis((1, 10), "k")
    y = te.compute((), lambda: te.sum(x[k], axis=k), "y")
    s = te.create_schedule(y.op)
    s[y].split(k, 4)
    assert run_both(s, [x, y], 10 ** np.arange(10, dtype=np.int32) // 10 * 10 // 10) == 111111111


def test_br_086_a_stage_at_itself_is_refused_at_once() -> None:
    _, b, c = copy_chain(8, "b", "c")
    s = te.create_schedule(c.op)
    with pytest.raises(te.ScheduleError) as error:
        s[b].compute_at(s[b], b.op.axis[0])
    assert str(error.value) == "stage 'b': compute_at: stage 'b' cannot be computed at itself"


def test_br_086_a_cycle_is_refused_at_once_and_names_both_stages() -> None:
    _, a, c, d = copy_chain(8, "a", "c", "d")
    s = te.create_schedule(d.op)
    s[a].compute_at(s[c], c.op.axis[0])
    start = time.perf_counter()
    with pytest.raises(te.ScheduleError) as error:
        s[c].compute_at(s[a], a.op.axis[0])
    assert time.perf_counter() - start < 1
    assert str(error.value) == (
        "stage 'c': compute_at: stage 'c' reads stage 'a', so computing it at 'a' would be a cycle"
    )


def test_br_087_attaching_to_another_schedules_stage_names_it() -> None:
    _, b, c = copy_chain(8, "b", "c")
    s, other = te.create_schedule(c.op), te.create_schedule(c.op)
    with pytest.raises(te.ScheduleError) as error:
        s[b].compute_at(other[c], c.op.axis[0])
    assert str(error.value) == "stage 'b': compute_at: stage 'c' belongs to another schedule"


def test_br_087_attaching_to_an_axis_that_was_fused_away_lists_the_loops() -> None:
    x = te.placeholder((4, 6), "int32", "x")
    b = te.compute((4, 6), lambda i, j: x[i, j], "b")
    c = te.compute((4, 6), lambda i, j: b[i, j], "c")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    s[c].split(s[c].fuse(i, j), 5)
    with pytest.raises(te.ScheduleError) as error:
        s[b].compute_at(s[c], i)
    assert str(error.value) == (
        "stage 'c': compute_at of stage 'b': axis 'i' is no loop any more, it was fused into 'i.j.fused'; "
        "the loops of stage 'c' are now: i.j.fused.outer, i.j.fused.inner"
    )


def test_br_089_two_reductions_with_a_condition() -> None:
    x = te.placeholder((6,), "int32", "x")
    k = te.reduce_axis((0, 6), "k")
    both = te.comm_reducer(
        lambda a, b: (a[0] + b[0], a[1] * b[1]), lambda t0, t1: (te.const(0, t0), te.const(1, t1)), name="both"
    )
    total, product = te.compute((1,), lambda _i: both((x[k], x[k]), axis=k, where=k % 2 == 0), "r")
    s = te.create_schedule(total.op)
    s[total].split(k, 4)
    results = outputs(s, [x, total, product], np.arange(1, 7, dtype=np.int32))
    assert [r.tolist() for r in results] == [[1 + 3 + 5], [1 * 3 * 5]]


def test_br_089_the_place_of_the_largest_exponential_with_the_producer_inlined() -> None:
    x = te.placeholder((4, 7), "float32", "x")
    grown = te.compute((4, 7), lambda i, j: te.exp(x[i, j]), "grown")
    k = te.reduce_axis((0, 7), "k")

    def combine(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> tuple[Any, ...]:
        better = b[1] > a[1]
        return te.if_then_else(better, b[0], a[0]), te.if_then_else(better, b[1], a[1])

    argmax = te.comm_reducer(combine, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax")
    place, value = te.compute((4,), lambda i: argmax((k.var, grown[i, k]), axis=k), "best")
    s = te.create_schedule(place.op)
    s[grown].compute_inline()
    data = np.random.default_rng(89).normal(size=(4, 7)).astype(np.float32)
    results = outputs(s, [x, place, value], data)
    assert results[0].tolist() == data.argmax(axis=1).tolist()
    np.testing.assert_allclose(results[1], np.exp(data).max(axis=1), rtol=1e-6)


def test_br_090_inlining_a_reduction_is_refused_at_the_call() -> None:
    a, b = te.placeholder((4, 6), "int32", "a"), te.placeholder((6, 4), "int32", "b")
    k = te.reduce_axis((0, 6), "k")
    c = te.compute((4, 4), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c")
    d = te.compute((4, 4), lambda i, j: c[j, i], "d")
    s = te.create_schedule(d.op)
    with pytest.raises(te.ScheduleError) as error:
        s[c].compute_inline()
    assert str(error.value) == (
        "stage 'c': compute_inline: it is a reduction; reductions must be a stage of their own, computed at the root "
        "or at a loop"
    )


def test_br_090_a_reduction_inside_an_expression_is_refused_at_the_call() -> None:
    a = te.placeholder((4, 6), "int32", "a")
    k = te.reduce_axis((0, 6), "k")
    with pytest.raises(te.ComputeError) as error:
        te.compute((4,), lambda i: te.sum(a[i, k], axis=k) + 1, "c")
    assert str(error.value) == (
        "compute 'c': a reduction (sum, max, ...) inside an expression; a reduction must be a stage of its own: give "
        "it its own te.compute and use that tensor here"
    )


@pytest.mark.parametrize("attach", ["sum", "both"])
def test_br_092_stages_attached_where_indices_are_swapped_stay_in_scope(attach: str) -> None:
    shape = (1, 4, 8, 6)
    t = te.placeholder(shape, "int32", "t")
    k = te.reduce_axis((0, 4), "k")
    total = te.compute((1, 8, 6), lambda n, y, x: te.sum(t[n, k, y, x], axis=k), "total")
    scale = te.compute((1, 6, 8), lambda n, x, y: total[n, y, x] + 1, "scale")
    out = te.compute(shape, lambda n, c, y, x: t[n, c, y, x] * scale[n, x, y], "out")
    s = te.create_schedule(out.op)
    _, c, y, x = s[out].op.axis
    outer, inner = s[out].split(y, 3)
    s[out].reorder(c, outer, x, inner)
    if attach == "both":
        s[scale].compute_at(s[out], outer)
        s[total].compute_at(s[scale], s[scale].op.axis[2])
    else:
        s[total].compute_at(s[scale], s[scale].op.axis[1])
    data = np.arange(192, dtype=np.int32).reshape(shape)
    assert (run_both(s, [t, out], data) == data * (data.sum(axis=1, keepdims=True) + 1)).all()


def test_br_092_the_reported_size_lowers() -> None:
    t = te.placeholder((1, 16, 256, 256), "float32", "t")
    k = te.reduce_axis((0, 16), "k")
    total = te.compute((1, 256, 256), lambda n, y, x: te.sum(t[n, k, y, x], axis=k), "total")
    scale = te.compute((1, 256, 256), lambda n, x, y: te.exp(total[n, y, x]), "scale")
    out = te.compute((1, 16, 256, 256), lambda n, c, y, x: t[n, c, y, x] / scale[n, x, y], "out")
    s = te.create_schedule(out.op)
    _, c, y, x = s[out].op.axis
    outer, inner = s[out].split(x, 60)
    s[out].reorder(outer, c, y, inner)
    s[scale].compute_at(s[out], outer)
    s[total].compute_at(s[scale], s[scale].op.axis[1])
    lowered(s, [t, out])


def test_br_092_an_attachment_outside_the_readers_loop_names_the_axis() -> None:
    x, b, _, d = copy_chain(8, "b", "c", "d")
    s = te.create_schedule(d.op)
    s[b].compute_at(s[d], d.op.axis[0])
    with pytest.raises(te.ScheduleError) as error:
        lowered(s, [x, d])
    assert str(error.value) == (
        "stage 'b': it is computed at axis 'i' of stage 'd', but stage 'c', which reads it, is not computed inside "
        "that loop; compute 'c' there too, or 'b' further out"
    )


def test_br_093_a_region_of_strided_reads_stays_within_the_tensor() -> None:
    x, b, c = copy_chain(128, "b", "c")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], 4)
    s[c].reorder(inner, outer)
    s[b].compute_at(s[c], inner)
    (held,) = [r for r in statements(lowered(s, [x, c]), BufferRealize) if r.buffer.name == "b"]
    assert f"{held.bounds[0].min}+{held.bounds[0].extent}" == "i.inner+125", "every fourth row and those between"
    data = np.arange(128, dtype=np.int32)
    assert (run_both(s, [x, c], data) == data).all()


def test_br_093_a_region_of_padded_reads_is_the_tensor() -> None:
    x = te.placeholder((8,), "int32", "x")
    b = te.compute((8,), lambda i: x[i], "b")

    def inside(i: Var) -> Expr:
        return te.all(i >= 3, i < 11)

    c = te.compute((14,), lambda i: te.if_then_else(inside(i), b[i - 3], te.const(0, "int32")), "c")
    s = te.create_schedule(c.op)
    bounds = InferBound(s)[b.op.axis[0]]
    assert (int(bounds.min), int(bounds.extent)) == (0, 8)
    assert run_both(s, [x, c], np.ones(8, np.int32)).sum() == 8


def test_br_095_numpy_integers_are_plain_integers() -> None:
    x = te.placeholder((np.int64(4), 16), "int32", "x")
    k = te.reduce_axis((0, np.int64(8)), "k")
    y = te.compute((np.int64(4), np.int32(2)), lambda i, j: te.sum(x[i, j * np.int64(8) + k], axis=k), "y")
    s = te.create_schedule(y.op)
    s[y].split(k, np.int32(4))
    s[y].split(y.op.axis[0], nparts=np.uint8(3))
    assert {str(v.dtype) for v in (*x.shape, *y.shape)} == {"int32"}
    data = np.arange(64, dtype=np.int32).reshape(4, 16)
    assert (run_both(s, [x, y], data) == data.reshape(4, 2, 8).sum(axis=2)).all()


def test_br_096_auto_inline_puts_an_elementwise_stage_into_its_reader() -> None:
    a, b, c = (te.placeholder((5, 3), "int32", name) for name in "abc")
    t1 = te.compute((5, 3), lambda i, j: a[i, j] * b[i, j], "t1")
    t2 = te.compute((5, 3), lambda i, j: t1[i, j] + c[i, j], "t2")
    s = te.create_schedule(t2.op)
    te.schedule.AutoInlineInjective(s)
    assert s[t1].is_inlined
    assert loops(lowered(s, [a, b, c, t2])) == ["i:5", "j:3"]
    v = np.arange(15, dtype=np.int32).reshape(5, 3)
    assert (run_both(s, [a, b, c, t2], v, v, v) == v * v + v).all()


@pytest.mark.parametrize("part", ["source", "init", "where"])
def test_br_090_a_reduction_inside_any_part_of_another_is_refused_at_the_call(part: str) -> None:
    a = te.placeholder((4, 6), "int32", "a")
    k, inner = te.reduce_axis((0, 6), "k"), te.reduce_axis((0, 6), "inner")

    def element(i: Var) -> Expr:
        other = te.max(a[i, inner], axis=inner)
        parts = {"source": {"init": 1}, "init": {"init": other}, "where": {"where": other > 2}}
        return te.sum(other if part == "source" else a[i, k], axis=k, **parts[part])

    with pytest.raises(te.ComputeError, match="a reduction must be a stage of its own"):
        te.compute((4,), element, "c")
