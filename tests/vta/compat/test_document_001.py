"""More of founding document 001 (tutorial notes): its texts, its GPU chapter, its errors, TensorIR, tensorisation.

Each test is called after its heading. The GPU chapter's schedules are lowered, up to where code would be made.
"""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vta.compat.answering import answering

NO_CODE = "the program was lowered, and code is made for the CPU"


@pytest.fixture(scope="module")
def tvm() -> Iterator[Any]:
    with answering():
        yield importlib.import_module("tvm")


def product(tvm: Any, n: int = 32, dtype: str = "float32") -> tuple[Any, ...]:
    te = tvm.te
    k = te.reduce_axis((0, n), "k")
    a, b = te.placeholder((n, n), dtype, "A"), te.placeholder((n, n), dtype, "B")
    return a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, np.float32)


def run(tvm: Any, built: Any, inputs: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    out = tvm.nd.array(np.zeros(shape, np.float32))
    built(*map(tvm.nd.array, inputs), out)
    return np.asarray(out.numpy())


def refused(tvm: Any, step: Callable[[], object]) -> str:
    """Return the sentence that a step is refused with."""
    with pytest.raises(tvm.TVMError) as caught:
        step()
    return str(caught.value)


def test_tir_syntax_a_vector_is_a_ramp_of_places(tvm: Any) -> None:
    """What the notes print as ``C_1[x:x + 64]`` is one access of all its lanes."""
    a, b, c = product(tvm)
    s = tvm.te.create_schedule(c.op)
    s[c].vectorize(s[c].split(c.op.axis[1], 16)[1])
    text = tvm.lower(s, [a, b, c], simple_mode=True).script()
    assert "C_1[T.ramp(" in text
    assert ", 1, 16)]" in text
    x, y = numbers(32, 32), numbers(32, 32, seed=1)
    np.testing.assert_allclose(run(tvm, tvm.build(s, [a, b, c]), [x, y], (32, 32)), x @ y, rtol=1e-5)


def test_reorder_a_reduction_among_the_axes_of_a_block(tvm: Any) -> None:
    te, n, block = tvm.te, 16, 4
    blocks = n // block
    a = te.placeholder((blocks, blocks, block, block), name="A")
    b = te.placeholder((blocks, blocks, block, block), name="B")
    ko, ki = te.reduce_axis((0, blocks), "ko"), te.reduce_axis((0, block), "ki")
    c1 = te.compute(
        (blocks, blocks, block, block),
        lambda io, jo, i, j: te.sum(a[io, ko, i, ki] * b[ko, jo, ki, j], axis=[ko, ki]),
        name="c1",
    )
    s = te.create_schedule(c1.op)
    axes, reduced = c1.op.axis, s[c1].op.reduce_axis
    s[c1].reorder(axes[0], axes[1], reduced[0], axes[2], axes[3], reduced[1])
    x, y = numbers(*[blocks, blocks, block, block]), numbers(blocks, blocks, block, block, seed=1)
    want = np.einsum("ikab,kjbc->ijac", x, y)
    np.testing.assert_allclose(run(tvm, tvm.build(s, [a, b, c1]), [x, y], want.shape), want, rtol=1e-5)


def test_compute_at_makes_the_first_axes_the_same(tvm: Any) -> None:
    """``cm1`` (five axes) in ``c11`` (five), ``c11`` in ``c1`` (four): two axes in common, and all five."""
    te, n, block = tvm.te, 16, 4
    blocks, half = n // block, block // 2
    a = te.placeholder((blocks, blocks, block, block), name="A")
    five, k, r = (blocks, blocks, blocks, half, half), te.reduce_axis((0, half), "k"), te.reduce_axis((0, blocks), "r")
    cm1 = te.compute(five, lambda io, jo, ko, i, j: te.sum(a[io, ko, i, k] * a[ko, jo, k, j], axis=k), name="cm1")
    c11 = te.compute(five, lambda *i: cm1(*i) * 2, name="c11")
    c1 = te.compute(
        (blocks, blocks, block, block), lambda io, jo, i, j: te.sum(c11[io, jo, r, i // 2, j // 2], axis=r), name="c1"
    )
    s = te.create_schedule(c1.op)
    s[c11].compute_at(s[c1], c1.op.axis[1])
    s[cm1].compute_at(s[c11], c11.op.axis[4])
    text = str(tvm.lower(s, [a, c1], simple_mode=True))
    assert text.count("for (io: ") == text.count("for (jo: ") == 1
    assert "allocate(c11: Pointer(float32), float32, [16])" in text, "blocks, half and half are left of its axes"
    assert "allocate(cm1: Pointer(float32), float32, [1])" in text, "nothing is left of these"
    x = numbers(blocks, blocks, block, block)
    small = np.einsum("ikab,kjbc->ijac", x[:, :, :half, :half], x[:, :, :half, :half]) * 2
    want = small.repeat(2, 2).repeat(2, 3)
    np.testing.assert_allclose(run(tvm, tvm.build(s, [a, c1]), [x], want.shape), want, rtol=1e-5)


def test_compute_at_fused_and_one_reduce_axis_in_two_stages(tvm: Any) -> None:
    te = tvm.te
    a, k = te.placeholder((4, 6), name="A"), te.reduce_axis((0, 6), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    c = te.compute((4,), lambda i: te.sum(a[i, k] * b[i], axis=k), name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    x = numbers(4, 6)
    np.testing.assert_allclose(run(tvm, tvm.build(s, [a, c]), [x], (4,)), x.sum(1) ** 2, rtol=1e-5)
    sch = tvm.tir.Schedule(te.create_prim_func(product(tvm, 8)))
    i, j, _ = sch.get_loops("C")
    unit, rest = sch.split(i, [1, None])
    fused = sch.fuse(unit, rest, j, preserve_unit_iters=True)
    assert int(sch.get(fused).extent) == 64
    x, y = numbers(8, 8), numbers(8, 8, seed=1)
    np.testing.assert_allclose(run(tvm, tvm.build(sch.mod, target="llvm"), [x, y], (8, 8)), x @ y, rtol=1e-5)


def test_a100_cache_read_is_a_stage_more(tvm: Any) -> None:
    te = tvm.te
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i], name="B")
    s = te.create_schedule(b.op)
    near = s.cache_read(a, "shared", [b])
    nearest = s.cache_read(near, "local", [b])
    outer, inner = s[b].split(b.op.axis[0], 4)
    s[b].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].bind(inner, te.thread_axis("threadIdx.x"))
    s[near].compute_at(s[b], outer)
    s[nearest].compute_at(s[b], inner)
    assert [stage.name for stage in s.stages] == ["A", "A.shared", "A.shared.local", "B"]
    text = str(tvm.lower(s, [a, b], simple_mode=True))
    for name, size, scope in (("A.shared", 4, "shared"), ("A.shared.local", 1, "local")):
        assert f"allocate({name}: Pointer({scope} float32), float32, [{size}]), storage_scope = {scope}" in text
    assert NO_CODE in refused(tvm, lambda: tvm.build(s, [a, b]))


def test_a100_virtual_threads_stride_and_run_on_the_cpu(tvm: Any) -> None:
    a, b, c = product(tvm)
    s = tvm.te.create_schedule(c.op)
    i, j = c.op.axis
    vx, xi = s[c].split(i, nparts=2)
    vy, yi = s[c].split(j, nparts=2)
    s[c].reorder(vx, vy, xi, yi)
    s[c].bind(vx, tvm.te.thread_axis((0, 2), "vthread", name="vx"))
    s[c].bind(vy, tvm.te.thread_axis((0, 2), "vthread", name="vy"))
    x, y = numbers(32, 32), numbers(32, 32, seed=1)
    np.testing.assert_allclose(run(tvm, tvm.build(s, [a, b, c]), [x, y], (32, 32)), x @ y, rtol=1e-5)


def test_convolution_of_a_gpu_in_shared_and_local_memory(tvm: Any) -> None:
    """The tutorial's schedule: tiles on blocks, virtual threads and threads, inputs fetched together, vectors."""
    te, tir = tvm.te, tvm.tir
    size, channels, batch, filters, step = 6, 16, 16, 32, 8
    a = te.placeholder((size, size, channels, batch), name="A")
    w = te.placeholder((3, 3, channels, filters), name="W")
    padded = te.compute(
        (size + 2, size + 2, channels, batch),
        lambda y, x, c, n: tir.if_then_else(
            tir.all(y >= 1, y - 1 < size, x >= 1, x - 1 < size), a[y - 1, x - 1, c, n], tir.const(0.0, "float32")
        ),
        name="Apad",
    )
    rc, ry, rx = te.reduce_axis((0, channels), "rc"), te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    b = te.compute(
        (size, size, filters, batch),
        lambda y, x, f, n: te.sum(padded[y + ry, x + rx, rc, n] * w[ry, rx, rc, f], axis=[ry, rx, rc]),
        name="B",
    )
    s = te.create_schedule(b.op)
    s[padded].compute_inline()
    aa, ww = s.cache_read(padded, "shared", [b]), s.cache_read(w, "shared", [b])
    al, wl, bl = s.cache_read(aa, "local", [b]), s.cache_read(ww, "local", [b]), s.cache_write(b, "local")
    tx, ty = te.thread_axis((0, 4), "threadIdx.x"), te.thread_axis((0, 4), "threadIdx.y")
    hi, wi, fi, ni = s[b].op.axis
    bz = s[b].fuse(hi, wi)
    by, fi = s[b].split(fi, factor=16)
    bx, ni = s[b].split(ni, factor=16)
    for axis, name in ((bz, "z"), (by, "y"), (bx, "x")):
        s[b].bind(axis, te.thread_axis(f"blockIdx.{name}"))
    tyz, fi = s[b].split(fi, nparts=2)
    txz, ni = s[b].split(ni, nparts=2)
    ty_, fi = s[b].split(fi, nparts=4)
    tx_, ni = s[b].split(ni, nparts=4)
    s[b].reorder(bz, by, bx, tyz, txz, ty_, tx_, fi, ni)
    s[b].bind(tyz, te.thread_axis((0, 2), "vthread", name="vy"))
    s[b].bind(txz, te.thread_axis((0, 2), "vthread", name="vx"))
    s[b].bind(ty_, ty)
    s[b].bind(tx_, tx)
    s[bl].compute_at(s[b], tx_)
    _, _, fi, ni = s[bl].op.axis
    ry, rx, rc = s[bl].op.reduce_axis
    rco, rci = s[bl].split(rc, factor=step)
    s[bl].reorder(rco, ry, rx, rci, fi, ni)
    for stage, axis in ((aa, rx), (ww, rx), (al, rci), (wl, rci)):
        s[stage].compute_at(s[bl], axis)
    _, _, ci, ni = s[aa].op.axis
    ty_, ci = s[aa].split(ci, nparts=4)
    tx_, ni = s[aa].split(ni, nparts=4)
    s[aa].bind(ty_, ty)
    s[aa].bind(tx_, tx)
    s[aa].vectorize(s[aa].split(ni, factor=4)[1])
    module = tvm.lower(s, [a, w, b], simple_mode=True)
    text = str(module)
    assert f"allocate(Apad.shared: Pointer(shared float32), float32, [{step * 16}]), storage_scope = shared" in text
    assert '"thread_extent" = 36' in text, "rows and columns of the image are fused"
    check = tvm.tir.analysis.verify_gpu_code
    assert check(module["main"], {"max_threads_per_block": 16, "max_shared_memory_per_block": 2 * step * 16 * 4})
    assert NO_CODE in refused(tvm, lambda: tvm.build(s, [a, w, b], "cuda"))


def test_convolution_there_are_three_dimensions_of_threads(tvm: Any) -> None:
    assert refused(tvm, lambda: tvm.te.thread_axis("threadIdx.w")) == (
        "thread_axis: a GPU has threadIdx.x, .y and .z, not 'threadIdx.w'; fuse loops"
    )


def test_convolution_the_module_of_the_cpu_has_no_other_inside(tvm: Any) -> None:
    a, b, c = product(tvm, 8)
    s = tvm.te.create_schedule(c.op)
    built = tvm.build(s, [a, b, c], "llvm")
    assert "define" in built.get_source()
    assert built.imported_modules == []
    sentence = refused(tvm, lambda: tvm.build(s, [a, b, c], target="cuda").imported_modules[0].get_source())
    assert sentence.startswith("target cuda: the program was lowered, ")


def test_errors_3_an_array_of_another_device(tvm: Any) -> None:
    a, b, c = product(tvm, 8)
    built = tvm.build(tvm.te.create_schedule(c.op), [a, b, c], "llvm", name="mmult")
    x, far = tvm.nd.array(np.zeros((8, 8), np.float32)), tvm.nd.array(np.zeros((8, 8), np.float32), tvm.ext_dev(0))
    assert refused(tvm, lambda: built(far, x, x)) == (
        "mmult: argument A: float32[8, 8] is in device memory, and the function runs on the CPU; copy it with "
        "vta.nd.array(a.numpy())"
    )
    assert "cuda(0) is not there" in refused(tvm, lambda: tvm.nd.array(np.zeros(3, np.float32), tvm.cuda(0)))


def test_errors_2_a_stage_is_laid_out_before_its_sum_is_split(tvm: Any) -> None:
    _, _, c = product(tvm)
    s = tvm.te.create_schedule(c.op)
    s[c].split(s[c].op.reduce_axis[0], 4)
    assert refused(tvm, lambda: s.cache_write(c, "local")) == (
        "stage 'C': cache_write: the reduction axis 'k' was split or fused; call cache_write first and do that to the "
        "cache's stage"
    )


def test_errors_4_and_6_more_memory_or_threads_than_a_block_has(tvm: Any) -> None:
    """A reduction may run on threads; what a GPU does not have is found before a driver refuses it."""
    te = tvm.te
    a, b, c = product(tvm, 128)
    s = te.create_schedule(c.op)
    shared = s.cache_read(b, "shared", [c])
    s[c].bind(c.op.axis[0], te.thread_axis("blockIdx.x"))
    s[shared].compute_at(s[c], c.op.axis[0])
    _, ki = s[c].split(s[c].op.reduce_axis[0], 4)
    s[c].bind(ki, te.thread_axis("threadIdx.z"))
    check = tvm.tir.analysis.verify_gpu_code
    assert not check(tvm.lower(s, [a, b, c])["main"], {"max_shared_memory_per_block": 0xC000})
    assert check(tvm.lower(s, [a, b, c])["main"], {"max_shared_memory_per_block": 0x10000, "max_thread_z": 4})
    wide = te.compute((4096,), lambda i: i * 2, name="W")
    s = te.create_schedule(wide.op)
    outer, inner = s[wide].split(wide.op.axis[0], 2048)
    s[wide].bind(outer, te.thread_axis("blockIdx.x"))
    s[wide].bind(inner, te.thread_axis("threadIdx.x"))
    assert not check(tvm.lower(s, [wide])["main"], {"max_threads_per_block": 1024})
    assert check(tvm.lower(s, [wide])["main"], {"max_threads_per_block": 2048})


def test_errors_9_tensorize_takes_an_axis_of_the_stage_itself(tvm: Any) -> None:
    te = tvm.te
    a, _, c = product(tvm)
    s = te.create_schedule(c.op)
    cached = s.cache_write(c, "local")
    ty, _ = s[c].split(c.op.axis[0], 4)
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i], name="y")
    intrinsic = te.decl_tensor_intrin(y.op, lambda _, outs: tvm.tir.call_extern("int32", "f", outs[0].access_ptr("w")))
    assert refused(tvm, lambda: s[cached].tensorize(ty, intrinsic)) == (
        "stage 'C.local': tensorize: axis 'i.outer' is not an axis of this stage; the loops of stage 'C.local' are "
        "now: i.c, j.c, k"
    )
    assert a.op.name == "A"


def wmma_product(tvm: Any) -> Any:
    """The product of a TensorCore: 16 by 16 by 16, sums kept in a fragment."""
    te, tir, n = tvm.te, tvm.tir, 16
    a, b = te.placeholder((n, n), "float16", "A"), te.placeholder((n, n), "float16", "B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k].astype("float32") * b[k, j].astype("float32"), axis=k), name="C")
    scopes = {a: "wmma.matrix_a", b: "wmma.matrix_b", c: "wmma.accumulator"}
    binds = {
        t: tir.decl_buffer(t.shape, t.dtype, f"B{t.op.name}", scope=scope, data_alignment=32, offset_factor=n * n)
        for t, scope in scopes.items()
    }

    def intrin_func(ins: Any, outs: Any) -> tuple[Any, Any, Any]:
        (left, right), (out,) = ins, outs
        place = out.elem_offset // 256

        def init() -> Any:
            return tir.call_intrin("handle", "tir.tvm_fill_fragment", out.data, n, n, n, place, 0.0)

        def update() -> Any:
            parts = [(buffer.data, buffer.elem_offset // 256) for buffer in (out, left, right, out)]
            return tir.call_intrin("handle", "tir.tvm_mma_sync", *[item for part in parts for item in part])

        return update(), init(), update()

    return te.decl_tensor_intrin(c.op, intrin_func, binds=binds)


def test_tensorcore_a_product_of_fragments(tvm: Any) -> None:
    te, n = tvm.te, 32
    a, b = te.placeholder((n, n), "float16", "A"), te.placeholder((n, n), "float16", "B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k].astype("float32") * b[k, j].astype("float32"), axis=k), name="C")
    s = te.create_schedule(c.op)
    fragment = s.cache_write(c, "wmma.accumulator")
    af, bf = s.cache_read(a, "wmma.matrix_a", [fragment]), s.cache_read(b, "wmma.matrix_b", [fragment])
    bi, bj, ii, ji = s[c].tile(*c.op.axis, 16, 16)
    s[c].bind(bi, te.thread_axis("blockIdx.x"))
    s[c].bind(bj, te.thread_axis("threadIdx.y"))
    s[fragment].compute_at(s[c], bj)
    ko, ki = s[fragment].split(s[fragment].op.reduce_axis[0], 16)
    i, j = s[fragment].op.axis
    s[fragment].reorder(ko, i, j, ki)
    for stage in (af, bf):
        s[stage].compute_at(s[fragment], ko)
    s[fragment].tensorize(i, wmma_product(tvm))
    text = str(tvm.lower(s, [a, b, c], simple_mode=True))
    assert text.count("@tir.tvm_fill_fragment(") == text.count("@tir.tvm_mma_sync(") == 1
    assert NO_CODE in refused(tvm, lambda: tvm.build(s, [a, b, c], "cuda"))
    assert ii is not ji


def test_tir_gemm_blocks_move_both_ways(tvm: Any) -> None:
    """``compute_at`` moves a producer, ``reverse_compute_at`` a consumer; each step is checked when it is done."""
    te = tvm.te
    a = te.placeholder((16, 16), name="A")
    b = te.compute((16, 16), lambda i, j: a[i, j] * 2, name="B")
    c = te.compute((16, 16), lambda i, j: b[i, j] + 1, name="C")
    x = numbers(16, 16)
    for keep in (False, True):
        producer = tvm.tir.Schedule(te.create_prim_func([a, c]))
        producer.compute_at("B", producer.get_loops("C")[0], preserve_unit_loops=keep, index=-1)
        consumer = tvm.tir.Schedule(te.create_prim_func([a, c]))
        consumer.reverse_compute_at("C", consumer.get_loops("B")[0], preserve_unit_loops=keep)
        for sch, moved in ((producer, "B"), (consumer, "C")):
            assert [int(sch.get(loop).extent) for loop in sch.get_loops(moved)] == [16, *([1] if keep else []), 16]
            assert np.array_equal(run(tvm, tvm.build(sch.mod, target="llvm"), [x], (16, 16)), x * 2 + 1)
    assert "compute_at: block 'C'" in refused(tvm, lambda: producer.compute_at("C", producer.get_loops("B")[0]))


def test_tir_gemm_of_a_gpu(tvm: Any) -> None:
    sch = tvm.tir.Schedule(tvm.te.create_prim_func(product(tvm, 64)))
    i, j, k = sch.get_loops("C")
    (i0, i1), (j0, j1) = sch.split(i, [None, 8]), sch.split(j, [None, 8])
    sch.reorder(i0, j0, i1, j1, k)
    block, thread = sch.fuse(i0, j0), sch.fuse(i1, j1)
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    sch.compute_at(sch.cache_read("C", 0, "shared"), block)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), thread)
    text = sch.mod.script()
    assert 'T.thread_binding(0, 64, thread="threadIdx.x")' in text
    assert 'scope="shared"' in text
    assert NO_CODE in refused(tvm, lambda: tvm.build(sch.mod, target="llvm"))


def test_unroll_a_constant_of_int8_makes_no_float(tvm: Any) -> None:
    te = tvm.te
    a = te.placeholder((4,), "int8", "A")
    b = te.compute((4,), lambda i: te.max(a[i], te.const(0, "int8")), name="B")
    assert (b.dtype, te.compute((4,), lambda _: te.const(0, "int8")).dtype) == ("int8", "int8")
    assert "float" not in str(tvm.lower(te.create_schedule(b.op), [a, b]))


def test_tensorize_products_of_bytes_are_here(tvm: Any) -> None:
    intrinsic = tvm.topi.x86.tensor_intrin.dot_16x1x16_uint8_int8_int32()
    assert [str(t.dtype) for t in intrinsic.op.input_tensors] == ["uint8", "int8"]


def test_debug_a_module_before_its_memory_has_one_dimension(tvm: Any) -> None:
    a, b, c = product(tvm)
    s = tvm.te.create_schedule(c.op)
    assert "(A[i, k]*B[k, j])" in str(tvm.driver.build_module.schedule_to_module(s, [a, b, c]))
    assert "A[((i*32) + k)]" in str(tvm.lower(s, [a, b, c], simple_mode=True)).replace("cse_var_1", "(i*32)")


GEMV_UPDATE = """
define i32 @gemv_update(ptr noundef %0, ptr noundef %1, ptr noundef %2, i32 noundef %3, i32 noundef %4) {
  ret i32 0
}
"""


def test_tensorize_code_of_a_compiler_of_c_is_read_or_refused(tvm: Any) -> None:
    """The notes' ``error: expected type`` was a clang newer than TVM's LLVM; a text that LLVM does not read says so."""

    def build(code: str) -> Any:
        a, b, c = product(tvm, 8)
        s = tvm.te.create_schedule(c.op)
        s[c].pragma(c.op.axis[0], "import_llvm", code)
        return tvm.build(s, [a, b, c], target="llvm", name="gemv")

    assert "define i32 @gemv_update" in build(GEMV_UPDATE).get_source()
    sentence = refused(tvm, lambda: build(GEMV_UPDATE.replace("ptr noundef %0", "pointer noundef %0")))
    assert "import_llvm: LLVM " in sentence
    assert "error: expected type" in sentence
    assert sentence.endswith("make it with clang of the same version")
