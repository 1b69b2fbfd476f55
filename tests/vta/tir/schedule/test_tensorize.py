"""tensorize: an intrinsic computes what loops did, on the parts of the buffers that they touched."""

import numpy as np

import vta
from tests.support.compiler.block_intrinsics import tile_function, tile_product, tile_start
from tests.support.compiler.block_programs import check
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.func import PrimFunc
from vta.tir.schedule import LoopRV, Schedule
from vta.tir.script import from_source
from vta.tir.structural import require_equal
from vta.tir.tensor_intrin import TensorIntrin


def doubled(n: int = 16, m: int = 12, k: int = 8) -> tuple[PrimFunc, list[np.ndarray], np.ndarray]:
    """Return 2 * A @ B, its factors the other way round than the intrinsic's, inputs, and what must come out."""
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(b[r, j] * a[i, r], axis=r), name="C")
    d = te.compute((n, m), lambda i, j: c[i, j] * 2, name="D")
    rng = np.random.default_rng(1)
    inputs = [rng.integers(-3, 4, shape).astype(np.float32) for shape in ((n, k), (k, m))]
    return te.create_prim_func([a, b, d]), inputs, inputs[0] @ inputs[1] * 2


def tiled(func: PrimFunc, sizes: tuple[int, int, int] = (4, 4, 4)) -> tuple[Schedule, list[LoopRV]]:
    sch = Schedule(func)
    pairs = [sch.split(loop, [None, size]) for loop, size in zip(sch.get_loops("C"), sizes, strict=True)]
    order = [pair[0] for pair in pairs] + [pairs[1][1], pairs[0][1], pairs[2][1]]
    sch.reorder(*order)
    return sch, order


def test_a_loop_becomes_the_intrinsic_with_its_start() -> None:
    func, inputs, expected = doubled()
    sch, loops = tiled(func)
    sch.tensorize(loops[3], tile_product())
    text = str(sch.func)
    assert "reads A[(v_i_o*4):((v_i_o*4) + 4), (v_k_o*4):((v_k_o*4) + 4)], B[" in text
    assert '"buffer_bind_scope" = @tir.tvm_tuple((v_i_o*4), 4, (v_j_o*4), 4, dtype=handle);' in text
    check(sch.func, inputs, expected)
    require_equal(from_source(sch.func.script()), sch.func)


def test_the_start_is_tensorised_after_it_was_taken_out_too() -> None:
    func, inputs, expected = doubled()
    sch, loops = tiled(func)
    start = sch.decompose_reduction("C", loops[2])
    sch.tensorize(loops[3], "tile product of this test")
    sch.tensorize(sch.get_loops(start)[-2], tile_start())
    assert str(sch.func).count("buffer_bind_scope") == 4
    check(sch.func, inputs, expected)


TensorIntrin.register("tile product of this test", tile_product().desc, tile_product().impl)


def test_a_tensorised_program_is_scheduled_on_and_replayed() -> None:
    func, inputs, expected = doubled()
    sch, loops = tiled(func)
    sch.tensorize(loops[3], tile_product())
    sch.compute_at(sch.cache_read("C_o", 1, "global"), loops[2])
    write = sch.cache_write("C_o", 0, "global")
    sch.reverse_compute_at(write, loops[1])
    sch.reverse_compute_at("D", loops[1])
    sch.decompose_reduction("C_o", loops[2])
    sch.fuse(loops[0], loops[1])
    check(sch.func, inputs, expected)
    again = Schedule(func)
    sch.trace.apply_to_schedule(again)
    require_equal(again.mod, sch.mod)


def test_a_block_of_blocks_becomes_the_intrinsic() -> None:
    func, inputs, expected = doubled()
    sch, loops = tiled(func)
    block = sch.blockize(loops[3])
    sch.tensorize(block, tile_product())
    check(sch.func, inputs, expected)


def test_004_simple_gemm_in_tir_on_the_accelerator() -> None:
    """The loops, copies and micro-ops of the founding document's simple GEMM, by steps on blocks."""
    env = vta.get_env()
    o, n, m = 1, 3, 4
    a = te.placeholder((o, n, env.BATCH, env.BLOCK_IN), name="A", dtype=env.inp_dtype)
    b = te.placeholder((m, n, env.BLOCK_OUT, env.BLOCK_IN), name="B", dtype=env.wgt_dtype)
    ko, ki = te.reduce_axis((0, n), name="ko"), te.reduce_axis((0, env.BLOCK_IN), name="ki")
    c_buf = te.compute(
        (o, m, env.BATCH, env.BLOCK_OUT),
        lambda bo, co, bi, ci: te.sum(
            a[bo, ko, bi, ki].astype(env.acc_dtype) * b[co, ko, ci, ki].astype(env.acc_dtype), axis=[ko, ki]
        ),
        name="C_buf",
    )
    c = te.compute((o, m, env.BATCH, env.BLOCK_OUT), lambda *i: c_buf(*i).astype(env.inp_dtype), name="C")
    sch = Schedule(te.create_prim_func([a, b, c]))
    copies = [sch.cache_read("C_buf", 0, env.inp_scope), sch.cache_read("C_buf", 1, env.wgt_scope)]
    sch.set_scope("C_buf", 0, env.acc_scope)
    bo, co, bi, ci, k_out, k_in = sch.get_loops("C_buf")
    sch.reorder(k_out, bo, co, bi, ci, k_in)
    for copy in copies:
        sch.compute_at(copy, k_out)
        sch.annotate(sch.get_loops(copy)[1], f"pragma_{env.dma_copy}", 1)
    sch.tensorize(bi, env.gemm)
    sch.decompose_reduction("C_buf_o", k_out)
    sch.annotate(sch.get_loops("C")[0], f"pragma_{env.dma_copy}", 1)
    text = str(vta.lower(sch.mod))
    assert '@tir.call_extern("VTAUopLoopBegin", 4, 1, 0, 1, dtype=int32)' in text
    assert "B_2, ko, 1, 4, 3, 0, 0, 0, 0, 0, 1, dtype=int32)" in text
    rng = np.random.default_rng(4)
    x = rng.integers(-8, 8, (o, n, env.BATCH, env.BLOCK_IN)).astype(np.int8)
    w = rng.integers(-8, 8, (m, n, env.BLOCK_OUT, env.BLOCK_IN)).astype(np.int8)
    dev = vta.nd.ext_dev(0)
    out = vta.nd.array(np.zeros((o, m, env.BATCH, env.BLOCK_OUT), np.int8), dev)
    vta.build(sch.mod)(vta.nd.array(x, dev), vta.nd.array(w, dev), out)
    want = np.einsum("bkij,ckoj->bcio", x.astype(np.int32), w.astype(np.int32)).astype(np.int8)
    np.testing.assert_array_equal(out.numpy(), want)


def test_what_the_intrinsic_does_not_compute_is_refused() -> None:
    func, _, _ = doubled()
    sch, loops = tiled(func, (4, 2, 4))
    before = sch.func
    refused(
        "tensorize: block 'C_o', intrinsic 'tile product': the output axes inside have 4 and 2 values, those of the "
        "intrinsic 4 and 4",
        lambda: sch.tensorize(loops[3], tile_product()),
    )
    assert sch.func is before
    sch, loops = tiled(func)
    minimum = tile_function("ABC", _MINIMUM, strided=False)
    refused(
        "tensorize: block 'C_o', intrinsic 'least': the block computes\n"
        "    C: Buffer(C_1: Pointer(float32), float32, [16, 12], [])[((v_i_o: int32*4) + v_i_i: int32), "
        "((v_j_o: int32*4) + v_j_i: int32)] = (C[((v_i_o*4) + v_i_i), ((v_j_o*4) + v_j_i)] + (B: Buffer(B_1: "
        "Pointer(float32), float32, [8, 12], [])[((v_k_o: int32*4) + v_k_i: int32), ((v_j_o*4) + v_j_i)]*A: "
        "Buffer(A_1: Pointer(float32), float32, [16, 8], [])[((v_i_o*4) + v_i_i), ((v_k_o*4) + v_k_i)]))\n"
        "but the intrinsic computes\n"
        "    C: Buffer(C_1: Pointer(float32), float32, [4, 4], [], elem_offset=C_elem_offset: int32)[v_i_i: int32, "
        "v_j_i: int32] = (C[v_i_i, v_j_i] + min(A: Buffer(A_1: Pointer(float32), float32, [4, 4], [], "
        "elem_offset=A_elem_offset: int32)[v_i_i, v_k_i: int32], B: Buffer(B_1: Pointer(float32), float32, [4, 4], "
        "[], elem_offset=B_elem_offset: int32)[v_k_i, v_j_i]))",
        lambda: sch.tensorize(loops[3], TensorIntrin(minimum, tile_product().impl, "least")),
    )
    sch.set_scope("C", 0, "local")
    refused(
        "tensorize: block 'C_o', intrinsic 'tile product': buffer 'C' is in memory 'local', that of the intrinsic in "
        "'global'; set_scope, cache_read or cache_write put it there",
        lambda: sch.tensorize(loops[3], tile_product()),
    )
    refused(
        "tensorize: expected an intrinsic or the name of one, not 3",
        lambda: sch.tensorize(loops[3], 3),  # type: ignore[arg-type]
    )
    refused(
        "tensorize: block 'D': expected loops around one block in it; blockize a loop, or give the loop",
        lambda: sch.tensorize("D", tile_product()),
    )


_MINIMUM = """
    for i, j, k in T.grid(4, 4, 4):
        with T.block("step"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + T.min(A[vi, vk], B[vk, vj])
"""


def test_steps_on_an_intrinsic_that_would_change_its_memory_are_refused() -> None:
    func, _, _ = doubled()
    sch, loops = tiled(func)
    sch.tensorize(loops[3], tile_product())
    refused(
        "cache_read: block 'C_o' gets 'A' as memory 'global', which the intrinsic in it expects, not 'local'; "
        "cache_read before tensorize",
        lambda: sch.cache_read("C_o", 0, "local"),
    )
    refused(
        "cache_write: block 'C_o' gets 'C' as memory 'global', which the intrinsic in it expects, not 'local'; "
        "cache_write before tensorize",
        lambda: sch.cache_write("C_o", 0, "local"),
    )
    refused(
        "set_scope: block 'C_o' gets 'C' as memory 'global', which the intrinsic in it expects, not 'local'; set_scope "
        "before tensorize",
        lambda: sch.set_scope("C_o", 0, "local"),
    )


def test_a_producer_is_not_inlined_into_an_intrinsic() -> None:
    a, b = te.placeholder((8, 8), name="A"), te.placeholder((8, 8), name="B")
    p = te.compute((8, 8), lambda i, j: a[i, j] + 1, name="P")
    r = te.reduce_axis((0, 8), name="k")
    c = te.compute((8, 8), lambda i, j: te.sum(p[i, r] * b[r, j], axis=r), name="C")
    sch, loops = tiled(te.create_prim_func([a, b, c]))
    sch.tensorize(loops[3], tile_product())
    refused(
        "compute_inline: block 'C_o' gets a part of 'P' as memory, not element by element",
        lambda: sch.compute_inline("P"),
    )
    sch.compute_at("P", loops[2])
    x, y = (np.random.default_rng(i).integers(-3, 4, (8, 8)).astype(np.float32) for i in (1, 2))
    check(sch.func, [x, y], (x + 1) @ y)
