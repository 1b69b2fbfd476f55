"""What a program takes of a GPU: threads of a block, memories, vectors, kernels, against limits."""

import pytest

from vta import te
from vta.build_module import lower_generic, schedule_to_module
from vta.passes.optional.verify_gpu_code import GpuLimitsError, verify_gpu_code
from vta.tir.func import PrimFunc


def product(*, threads: int = 8, lanes: int = 4, flat: bool = True) -> PrimFunc:
    """A product of 64 by 64: rows on blocks, ``threads`` threads, a row shared (256 bytes), a sum of ``lanes``."""
    n, k = 64, te.reduce_axis((0, 64), "k")
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    shared, local = s.cache_read(a, "shared", [c]), s.cache_write(c, "local")
    i, j = c.op.axis
    outer, inner = s[c].split(j, lanes)
    rest, thread = s[c].split(outer, threads)
    s[c].bind(i, te.thread_axis("blockIdx.x"))
    s[c].bind(thread, te.thread_axis("threadIdx.x"))
    s[c].vectorize(inner)
    s[shared].compute_at(s[c], i)
    s[local].compute_at(s[c], thread)
    module = lower_generic(s, [a, b, c]) if flat else schedule_to_module(s, [a, b, c])
    assert rest is not None
    [func] = module.functions.values()
    return func


@pytest.mark.parametrize("flat", [False, True])
def test_each_limit_is_kept_to_up_to_the_last_one(flat: bool) -> None:
    func = product(flat=flat)
    exact = {
        "max_threads_per_block": 8, "max_thread_x": 8, "max_thread_y": 0, "max_shared_memory_per_block": 256,
        "max_local_memory_per_block": 16, "max_kernels": 1,
    }  # fmt: skip
    assert verify_gpu_code(func, exact)
    for name, limit in exact.items():
        assert verify_gpu_code(func, {name: limit})
        assert limit == 0 or not verify_gpu_code(func, {name: limit - 1}), name


def test_vectors_and_virtual_threads_count() -> None:
    assert verify_gpu_code(product(), {"max_vector_bytes": 16})
    assert not verify_gpu_code(product(), {"max_vector_bytes": 15})
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], 16)
    s[b].bind(inner, te.thread_axis("threadIdx.y"))
    s[b].bind(outer, te.thread_axis("vthread"))
    s[b].reorder(inner, outer)
    [func] = schedule_to_module(s, [a, b]).functions.values()
    assert verify_gpu_code(func, {"max_vthread": 4, "max_thread_y": 16})
    assert not verify_gpu_code(func, {"max_vthread": 3})


def test_a_cpus_program_takes_nothing_and_unknown_limits_are_refused() -> None:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] + 1, name="B")
    [func] = lower_generic(te.create_schedule(b.op), [a, b]).functions.values()
    assert verify_gpu_code(func, {"max_threads_per_block": 0, "max_kernels": 0})
    with pytest.raises(GpuLimitsError, match=r"^verify_gpu_code: there is no limit 'max_warps'; there are max_local_"):
        verify_gpu_code(func, {"max_warps": 3})
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    [func] = lower_generic(s, [a, b]).functions.values()
    with pytest.raises(GpuLimitsError, match=r"^verify_gpu_code: expected extents that are numbers, found n$"):
        verify_gpu_code(func, {"max_thread_x": 3})
