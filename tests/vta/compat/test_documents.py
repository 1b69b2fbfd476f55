"""The fragments of te, tir, topi and CPU schedules in the founding documents run, and compute what the documents say.

Each test is called after its document (001 the tutorial notes, 002 the walk through the sources, 003 the overview; 000
and 004 have files of their own) and its heading. What a document reports as an error is an error here, too, with a
sentence.
"""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from vta.compat.answering import answering
from vta.te.stage import ScheduleError

N, BLOCK, INNER = 32, 8, 4


@pytest.fixture(scope="module")
def tvm() -> Iterator[Any]:
    with answering():
        yield importlib.import_module("tvm")


def product(tvm: Any, n: int = N) -> tuple[Any, ...]:
    te = tvm.te
    k = te.reduce_axis((0, n), "k")
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    return a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def check_product(tvm: Any, s: Any, args: tuple[Any, ...]) -> None:
    func = tvm.build(s, list(args), target="llvm", name="mmult")
    n = int(args[0].shape[0])
    rng = np.random.default_rng(7)
    x, y = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    dev = tvm.cpu(0)
    out = tvm.nd.array(np.zeros((n, n), np.float32), dev)
    func(tvm.nd.array(x, dev), tvm.nd.array(y, dev), out)
    tvm.testing.assert_allclose(out.numpy(), x @ y, rtol=1e-4)


def test_001_tir_syntax_grid_is_loops_inside_of_each_other(tvm: Any) -> None:
    text = "@T.prim_func\ndef f(a: T.handle) -> None:\n    A = T.match_buffer(a, [2, 2, 2], 'int32')\n    {}"
    grid = "for i, j, k in T.grid(2, 2, 2):\n        A[i, j, k] = i + j + k"
    nest = "for i in T.serial(2):\n        for j in T.serial(2):\n            for k in T.serial(2):\n"
    loops = nest + "                A[i, j, k] = i + j + k"
    read = [tvm.script.from_source(text.format(part)) for part in (grid, loops)]
    tvm.ir.assert_structural_equal(*read)


def test_001_tir_syntax_factor_is_inside_and_nparts_outside(tvm: Any) -> None:
    a, b, c = product(tvm)
    s = tvm.te.create_schedule(c.op)
    xo, xi = s[c].split(c.op.axis[0], factor=16)
    yo, yi = s[c].split(c.op.axis[1], nparts=16)
    bounds = tvm.te.schedule.InferBound(s)
    assert [int(bounds[axis].extent) for axis in (xo, xi, yo, yi)] == [2, 16, 16, 2]
    assert list(c.op.axis) == [s[c].op.axis[0], s[c].op.axis[1]], "splits do not show in op.axis"
    check_product(tvm, s, (a, b, c))


def test_001_tir_syntax_values_on_the_way_come_from_a_function(tvm: Any) -> None:
    te = tvm.te
    a = te.placeholder((N // BLOCK, N // BLOCK), "int32", name="A")

    def c1_compute(io: Any, jo: Any) -> Any:
        tmp = io + 1
        return a[io, jo] * tmp

    c1 = te.compute((N // BLOCK, N // BLOCK), c1_compute)
    x, out = np.arange(16, dtype=np.int32).reshape(4, 4), tvm.nd.array(np.zeros((4, 4), np.int32))
    tvm.build(te.create_schedule(c1.op), [a, c1])(tvm.nd.array(x), out)
    assert (out.numpy() == x * (np.arange(4)[:, None] + 1)).all()


def test_001_reorder_of_an_axis_that_was_split_is_an_error(tvm: Any) -> None:
    a, b, c = product(tvm)
    s = tvm.te.create_schedule(c.op)
    mo, mi = s[c].split(c.op.axis[0], factor=BLOCK)
    no, ni = s[c].split(c.op.axis[1], factor=BLOCK)
    ko, ki = s[c].split(s[c].op.reduce_axis[0], factor=BLOCK)
    mio, mii = s[c].split(mi, factor=INNER)
    nio, nii = s[c].split(ni, factor=INNER)
    kio, kii = s[c].split(ki, factor=INNER)
    with pytest.raises(ScheduleError) as caught:
        s[c].reorder(mo, no, ko, mi, ni, ki)
    assert "axis 'i.inner' is no loop any more, it was split into 'i.inner.outer' and 'i.inner.inner'" in str(
        caught.value
    )
    s[c].reorder(mo, no, ko, mio, nio, kio, mii, kii, nii)
    s[c].vectorize(nii)
    assert "for (i.outer" in str(tvm.lower(s, [a, b, c], simple_mode=True))
    check_product(tvm, s, (a, b, c))


def test_001_reorder_after_packing(tvm: Any) -> None:
    te = tvm.te
    k = te.reduce_axis((0, N), "k")
    a, b = te.placeholder((N, N), name="A"), te.placeholder((N, N), name="B")
    packed = te.compute((N / BLOCK, N, BLOCK), lambda big, k, little: b[k, big * BLOCK + little], name="packedB")
    c = te.compute(
        (N, N),
        lambda m, n: te.sum(a[m, k] * packed[n // BLOCK, k, tvm.tir.indexmod(n, BLOCK)], axis=k),
        name="C",
    )
    s = te.create_schedule(c.op)
    cc = s.cache_write(c, "global")
    mo, no, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], BLOCK, BLOCK)
    s[cc].compute_at(s[c], no)
    mc, nc = s[cc].op.axis
    (kaxis,) = s[cc].op.reduce_axis
    ko, ki = s[cc].split(kaxis, factor=4)
    s[cc].reorder(ko, mc, ki, nc)
    s[cc].vectorize(nc)
    s[cc].unroll(ki)
    s[c].parallel(mo)
    big_n, _, little_n = s[packed].op.axis
    s[packed].vectorize(little_n)
    s[packed].parallel(big_n)
    check_product(tvm, s, (a, b, c))


def test_001_reorder_several_outputs_are_scheduled_together(tvm: Any) -> None:
    te = tvm.te
    a0, a1 = te.placeholder((4, 6), name="A0"), te.placeholder((4, 6), name="A1")
    b0, b1 = te.compute((4, 6), lambda i, j: (a0[i, j] + 2, a1[i, j] * 3), name="B")
    c = te.compute((4, 6), lambda i, j: b0[i, j] + b1[i, j], name="C")
    s = te.create_schedule(c.op)
    s[b0].compute_at(s[c], c.op.axis[0])
    bounds = te.schedule.InferBound(s)
    assert [int(bounds[axis].extent) for axis in b1.op.axis] == [1, 6]
    x, y, out = np.ones((4, 6), np.float32), np.full((4, 6), 2, np.float32), tvm.nd.array(np.zeros((4, 6), np.float32))
    tvm.build(s, [a0, a1, c])(tvm.nd.array(x), tvm.nd.array(y), out)
    assert (out.numpy() == 9).all()


def test_001_reorder_reductions_in_a_tuple_are_of_one_reducer(tvm: Any) -> None:
    te = tvm.te
    a, k = te.placeholder((4, 6), name="A"), te.reduce_axis((0, 6), "k")
    with pytest.raises(tvm.TVMError) as caught:
        te.compute((4,), lambda i: (te.sum(a[i, k], axis=k), te.max(a[i, k], axis=k)), name="c1")
    assert "the outputs must be all the results of one reduction" in str(caught.value)


@pytest.mark.parametrize("how", ["at", "inline", "root"])
def test_001_compute_at_inline_and_root(tvm: Any, how: str) -> None:
    te = tvm.te
    m = te.var("m")
    a = te.placeholder((m,), name="A")
    b = te.compute((m,), lambda i: a[i] + 1, name="B")
    c = te.compute((m,), lambda i: b[i] * 2, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    if how == "inline":
        s[b].compute_inline()
    if how == "root":
        s[b].compute_root()
    text = str(tvm.lower(s, [a, c], simple_mode=True))
    assert text.count("for (") == (2 if how == "root" else 1)
    out = tvm.nd.array(np.zeros(5, np.float32))
    tvm.build(s, [a, c])(tvm.nd.array(np.arange(5, dtype=np.float32)), out)
    assert out.numpy().tolist() == [2, 4, 6, 8, 10]


def test_001_compute_at_a_reduce_axis_of_two_stages_is_each_ones_own(tvm: Any) -> None:
    te = tvm.te
    a, k = te.placeholder((4, 6), name="A"), te.reduce_axis((0, 6), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    c = te.compute((4,), lambda i: te.max(a[i, k], axis=k), name="C")
    d = te.compute((4,), lambda i: b[i] + c[i], name="D")
    x, out = np.arange(24, dtype=np.float32).reshape(4, 6), tvm.nd.array(np.zeros(4, np.float32))
    tvm.build(te.create_schedule(d.op), [a, d])(tvm.nd.array(x), out)
    assert (out.numpy() == x.sum(1) + x.max(1)).all()


def test_001_reduce_starts_by_itself(tvm: Any) -> None:
    te = tvm.te
    n = te.var("n")
    m = te.var("m")
    a, k = te.placeholder((n, m), name="A"), te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    ko, ki = s[b].split(s[b].op.reduce_axis[0], factor=4)
    assert (len(b.op.axis), len(b.op.reduce_axis)) == (1, 1)
    x, out = np.arange(35, dtype=np.float32).reshape(5, 7), tvm.nd.array(np.full(5, 9, np.float32))
    tvm.build(s, [a, b])(tvm.nd.array(x), out)
    assert (out.numpy() == np.sum(x, axis=1)).all()
    assert (ko.name, ki.name) == ("k.outer", "k.inner")


def test_001_gpu_schedules_lower_and_say_that_no_code_is_made(tvm: Any) -> None:
    te = tvm.te
    a, b, c = product(tvm)
    s = te.create_schedule(c.op)
    block_x, thread_x = te.thread_axis("blockIdx.x"), te.thread_axis((0, 8), "threadIdx.x")
    shared = s.cache_read(a, "shared", [c])
    local = s.cache_write(c, "local")
    xo, xi = s[c].split(c.op.axis[0], factor=8)
    s[c].bind(xo, block_x)
    s[c].bind(xi, thread_x)
    s[local].compute_at(s[c], xi)
    s[shared].compute_at(s[c], xo)
    text = str(tvm.lower(s, [a, b, c], simple_mode=True))
    assert '"thread_extent" = 4' in text
    assert "storage_scope = shared" in text
    assert "storage_scope = local" in text
    with pytest.raises(tvm.TVMError) as caught:
        tvm.build(s, [a, b, c])
    assert "code is made for the CPU and the accelerator alone" in str(caught.value)


def test_001_errors_a_thread_axis_of_two_extents(tvm: Any) -> None:
    te = tvm.te
    a, b, c = product(tvm)
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis((0, 8), "threadIdx.x"))
    with pytest.raises(ScheduleError) as caught:
        tvm.lower(s, [a, b, c])
    assert str(caught.value).endswith("the thread axis has extent 8, the loop 32")


def test_001_errors_a_stage_that_is_not_where_its_reader_is(tvm: Any) -> None:
    a, b, c = product(tvm)
    s = tvm.te.create_schedule(c.op)
    shared = s.cache_read(a, "shared", [c])
    near = s.cache_read(shared, "local", [c])
    s[shared].compute_at(s[c], c.op.axis[0])
    with pytest.raises(ScheduleError) as caught:
        tvm.lower(s, [a, b, c])
    assert "is not computed inside that loop; compute 'A.shared.local' there too" in str(caught.value)
    assert near.name == "A.shared.local"


def test_001_errors_an_axis_of_another_stage(tvm: Any) -> None:
    a, _, c = product(tvm)
    s = tvm.te.create_schedule(c.op)
    cached = s.cache_write(c, "global")
    near = s.cache_read(a, "global", [cached])
    ty, _ = s[c].split(c.op.axis[0], 4)
    with pytest.raises(ScheduleError) as caught:
        s[near].compute_at(s[cached], ty)
    assert "axis 'i.outer' is not an axis of this stage" in str(caught.value)


def test_001_tir_gemm_step_by_step(tvm: Any) -> None:
    a, b, c = product(tvm)
    sch = tvm.tir.Schedule(tvm.te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, BLOCK])
    jo, ji = sch.split(j, [None, BLOCK])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(io, jo, ko, ii, ki, ji)
    sch.vectorize(ji)
    sch.parallel(io)
    sch.decompose_reduction(block, ko)
    func = tvm.build(sch.mod, target="llvm")
    rng = np.random.default_rng(7)
    x, y, out = (
        rng.random((N, N), np.float32),
        rng.random((N, N), np.float32),
        tvm.nd.array(np.zeros((N, N), np.float32)),
    )
    func(tvm.nd.array(x), tvm.nd.array(y), out)
    tvm.testing.assert_allclose(out.numpy(), x @ y, rtol=1e-4)


def test_001_topi_sum_broadcasts_and_softmax(tvm: Any) -> None:
    te, topi = tvm.te, tvm.topi
    a, b = te.placeholder((3, 4), name="A"), te.placeholder((4,), name="B")
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4) / 7, np.array([1, 2, 3, 4], np.float32)
    for tensor, want in (
        (topi.sum(a, axis=1), x.sum(1)),
        (topi.broadcast_add(a, b), x + y),
        (topi.broadcast_mul(a, b), x * y),
        (topi.nn.softmax(a), np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    ):
        out = tvm.nd.array(np.zeros(want.shape, np.float32))
        args = [a, b, tensor] if "broadcast" in tensor.op.tag and tensor.op.input_tensors[1:] == (b,) else [a, tensor]
        given = [tvm.nd.array(x), tvm.nd.array(y)][: len(args) - 1]
        tvm.build(te.create_schedule(tensor.op), args)(*given, out)
        tvm.testing.assert_allclose(out.numpy(), want, rtol=1e-5)


def test_001_topi_a_convolution_and_its_relu_are_one(tvm: Any) -> None:
    te, topi = tvm.te, tvm.topi
    data, kernel = te.placeholder((1, 3, 8, 8), name="data"), te.placeholder((4, 3, 3, 3), name="kernel")
    conv = topi.nn.conv2d_nchw(data, kernel, 1, 0, 1)
    out = topi.nn.relu(conv)
    s = te.create_schedule(out.op)
    s[conv].compute_at(s[out], out.op.axis[3])
    x, w = (
        np.random.default_rng(i).standard_normal(t).astype(np.float32)
        for i, t in ((1, (1, 3, 8, 8)), (2, (4, 3, 3, 3)))
    )
    result = tvm.nd.array(np.zeros((1, 4, 6, 6), np.float32))
    tvm.build(s, [data, kernel, out])(tvm.nd.array(x), tvm.nd.array(w), result)
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), axis=(1, 2))
    want = np.maximum(np.einsum("chwij,ocij->ohw", windows, w), 0)
    tvm.testing.assert_allclose(result.numpy()[0], want, rtol=1e-3, atol=1e-4)


def test_001_unroll_constants_keep_their_type(tvm: Any) -> None:
    te = tvm.te
    assert te.const(0, "int8").dtype == "int8"
    a = te.placeholder((4, 4), name="A")
    b = te.compute((4, 4), lambda i, j: a[i, j] * 2, name="B")
    s = te.create_schedule(b.op)
    s[b].unroll(b.op.axis[1])
    assert str(tvm.lower(s, [a, b])).count("*2.0f32") == 4


@pytest.mark.parametrize("n", [1, 3])
def test_002_loops_of_one_iteration_vanish(tvm: Any, n: int) -> None:
    te = tvm.te
    a = te.placeholder((n,), dtype="int32", name="A")
    b = te.compute((n,), lambda i: a[i] + 1, name="compute_B")
    c = te.compute((n,), lambda j: b[j] + 1, name="compute_C")
    sch = te.create_schedule(c.op)
    sch[b].compute_inline()
    mod = tvm.lower(sch, [a, b, c], simple_mode=True)
    assert ("for (" in str(mod)) is (n > 1)
    assert "compute_C[0] = (A[0] + 2)" in str(mod) or n > 1
    out, unused = tvm.nd.array(np.zeros(n, np.int32)), tvm.nd.array(np.zeros(n, np.int32))
    tvm.build(sch, [a, b, c])(tvm.nd.array(np.arange(n, dtype=np.int32)), unused, out)
    assert out.numpy().tolist() == [i + 2 for i in range(n)]


def test_002_bounds_of_axes_are_those_of_the_shape(tvm: Any) -> None:
    te = tvm.te
    t = te.compute((4.0, 6), lambda row, column: row * 6 + column, name="T")
    assert [(axis.var.name, int(axis.dom.min), int(axis.dom.extent)) for axis in t.op.axis] == [
        ("row", 0, 4), ("column", 0, 6),
    ]  # fmt: skip
    assert [axis.var.name for axis in te.compute((2, 3), lambda *i: i[0]).op.axis] == ["i0", "i1"]


def test_003_tensor_expressions_tiled(tvm: Any) -> None:
    a, b, c = product(tvm, 16)
    s = tvm.te.create_schedule(c.op)
    yo, xo, yi, xi = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 8)
    ko, ki = s[c].split(s[c].op.reduce_axis[0], 8)
    s[c].reorder(yo, xo, ko, yi, xi, ki)
    check_product(tvm, s, (a, b, c))


def test_003_tensorised_with_a_product_of_8_by_8(tvm: Any) -> None:
    """``gemm8x8`` is declared by what it computes and how: a start, a step, and both together."""
    te = tvm.te
    x, y = te.placeholder((8, 8), name="x"), te.placeholder((8, 8), name="y")
    k = te.reduce_axis((0, 8), name="k")
    z = te.compute((8, 8), lambda i, j: te.sum(x[i, k] * y[k, j], axis=k), name="z")
    strided = {}
    for t in (x, y, z):
        strides = [te.var(f"s{t.op.name}"), 1]
        strided[t] = tvm.tir.decl_buffer((8, 8), "float32", t.op.name, strides=strides, offset_factor=1)

    def gemm8x8(ins: Any, outs: Any) -> Any:
        def fill() -> Any:
            ib = tvm.tir.ir_builder.create()
            out = ib.buffer_ptr(outs[0])
            with ib.for_range(0, 8, name="i") as i, ib.for_range(0, 8, name="j") as j:
                out[i, j] = 0.0
            return ib.get()

        def update() -> Any:
            ib = tvm.tir.ir_builder.create()
            left, right, out = (ib.buffer_ptr(buffer) for buffer in (*ins, *outs))
            loops = [ib.for_range(0, 8, name=name) for name in "ijk"]
            with loops[0] as i, loops[1] as j, loops[2] as step:
                out[i, j] = out[i, j] + left[i, step] * right[step, j]
            return ib.get()

        return tvm.tir.SeqStmt([fill(), update()]), fill(), update()

    intrinsic = te.decl_tensor_intrin(z.op, gemm8x8, binds=strided)
    a, b, c = product(tvm, 32)
    s = te.create_schedule(c.op)
    yo, xo, yi, xi = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 8)
    ko, ki = s[c].split(s[c].op.reduce_axis[0], 8)
    s[c].reorder(yo, xo, ko, yi, xi, ki)
    s[c].tensorize(yi, intrinsic)
    check_product(tvm, s, (a, b, c))
