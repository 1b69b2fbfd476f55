"""Recorded convolutions and additions beyond the spine, scheduled with ``te``: threads, padding, bias, two operands.

They show what the spine cases do not: virtual threads around a reduction, loads with pads that vary, scratchpad memory
with several places, casts that become loads.
"""

import ast
from collections.abc import Callable

import vta
from tests.support.golden import Case
from tests.support.spine_cases import Scheduled
from vta import te, topi
from vta.tir.expr import Expr

__all__ = ["packed_convolution", "schedule_beyond_spine"]


def schedule_beyond_spine(case: Case, env: vta.Environment) -> Scheduled:
    """Return the schedule of a recorded case."""
    match case.name.split("."):
        case ["tut", "convolution_opt"]:
            return convolution_tutorial(env)
        case ["alu", "residual_add_int32"]:
            return residual_add(env, "int32")
        case ["alu", "residual_add_int8"]:
            return residual_add(env, "int8")
        case ["conv2d" | "group_conv2d", *_]:
            return packed_convolution(env, *_knobs(case))
        case _:
            raise ValueError(f"no schedule for {case.name}")


def convolution_tutorial(env: vta.Environment) -> Scheduled:
    """The convolution of the optimisation tutorial: two threads over output channels."""
    shape = (1 // env.BATCH, 256 // env.BLOCK_IN, 14, 14, env.BATCH, env.BLOCK_IN)
    kernel_shape = (256 // env.BLOCK_OUT, 256 // env.BLOCK_IN, 3, 3, env.BLOCK_OUT, env.BLOCK_IN)
    data = te.placeholder(shape, name="data", dtype=env.inp_dtype)
    kernel = te.placeholder(kernel_shape, name="kernel", dtype=env.wgt_dtype)
    data_buf = topi.nn.pad(data, [0, 0, 1, 1, 0, 0], name="data_buf")
    kernel_buf = te.compute(kernel_shape, lambda *i: kernel(*i), "kernel_buf")
    dy, dx = te.reduce_axis((0, 3), name="dy"), te.reduce_axis((0, 3), name="dx")
    ic = te.reduce_axis((0, shape[1]), name="ic")
    ic_tns = te.reduce_axis((0, env.BLOCK_IN), name="ic_tns")
    out_shape = (1 // env.BATCH, 256 // env.BLOCK_OUT, 14, 14, env.BATCH, env.BLOCK_OUT)
    conv = te.compute(
        out_shape,
        lambda bo, co, i, j, bi, ci: te.sum(
            data_buf[bo, ic, i + dy, j + dx, bi, ic_tns].astype(env.acc_dtype)
            * kernel_buf[co, ic, dy, dx, ci, ic_tns].astype(env.acc_dtype),
            axis=[ic, dy, dx, ic_tns],
        ),
        name="res_conv",
    )
    shr = te.compute(out_shape, lambda *i: conv(*i) >> 8, name="res_shr")
    low = te.compute(out_shape, lambda *i: te.max(shr(*i), 0), "res_max")
    high = te.compute(out_shape, lambda *i: te.min(low(*i), 127), "res_min")
    res = te.compute(out_shape, lambda *i: high(*i).astype(env.inp_dtype), name="res")
    s = te.create_schedule(res.op)
    b, oc, y, x, b_tns, oc_tns = s[res].op.axis
    b_out, b_inn = s[res].split(b, 1 // env.BATCH)
    oc_out, oc_inn = s[res].split(oc, 128 // env.BLOCK_OUT)
    y_out, y_inn = s[res].split(y, 7)
    x_out, x_inn = s[res].split(x, 14)
    s[res].reorder(b_out, oc_out, y_out, x_out, b_inn, oc_inn, y_inn, x_inn, b_tns, oc_tns)
    for stage in (conv, shr, low, high):
        s[stage].compute_at(s[res], x_out)
        s[stage].set_scope(env.acc_scope)
    b_inn, oc_inn, y_inn, x_inn, b_tns, oc_tns = s[conv].op.axis
    ic_out, ic_inn = s[conv].split(ic, 16 // env.BLOCK_IN)
    s[conv].reorder(ic_out, b_inn, oc_inn, y_inn, ic_inn, dy, dx, x_inn, b_tns, oc_tns, ic_tns)
    _, thread = s[res].split(oc_out, factor=2)
    s[res].reorder(thread, b_out)
    s[res].bind(thread, te.thread_axis("cthread"))
    for stage, scope in ((data_buf, env.inp_scope), (kernel_buf, env.wgt_scope)):
        s[stage].set_scope(scope)
        s[stage].compute_at(s[conv], ic_out)
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    s[res].pragma(s[res].op.axis[4], env.dma_copy)
    s[conv].tensorize(b_tns, env.gemm)
    for stage in (shr, low, high):
        s[stage].pragma(s[stage].op.axis[0], env.alu)
    return Scheduled(s, [data, kernel, res])


def residual_add(env: vta.Environment, dtype: str) -> Scheduled:
    """The operator library's addition of two tensors, clipped; int8 operands are cast on their way in."""
    shape = (1, 4, 14, 14, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="a", dtype=dtype)
    b = te.placeholder(shape, name="b", dtype=dtype)
    loads = [te.compute(shape, _cast(t, env.acc_dtype), name=f"{t.op.name}_buf") for t in (a, b)]
    total = te.compute(shape, lambda *i: loads[0](*i) + loads[1](*i), name="sum")
    high = te.compute(shape, lambda *i: te.min(total(*i), 127), name="high")
    low = te.compute(shape, lambda *i: te.max(high(*i), -128), name="low")
    res = te.compute(shape, lambda *i: low(*i).astype(env.inp_dtype), name="res")
    s = te.create_schedule(res.op)
    axes = s[res].op.axis
    co, co_inn = s[res].split(axes[1], 2)
    h, h_inn = s[res].split(axes[2], 7)
    w, w_inn = s[res].split(axes[3], 14)
    s[res].reorder(axes[0], h, w, co, co_inn, h_inn, w_inn, axes[4], axes[5])
    for stage in (*loads, total, high, low):
        s[stage].set_scope(env.acc_scope)
        s[stage].compute_at(s[res], co)
        pragma = env.dma_copy if stage in loads else env.alu
        s[stage].pragma(s[stage].op.axis[0], pragma)
    s[res].pragma(co_inn, env.dma_copy)
    return Scheduled(s, [a, b, res])


def packed_convolution(env: vta.Environment, work: dict[str, int], tiles: dict[str, int]) -> Scheduled:
    """The operator library's convolution with bias and clipping: a layer, its inner tiles and thread counts."""
    groups, stride, pad, size = work.get("groups", 1), work["hstride"], work["hpad"], work["hkernel"]
    height, block = work["height"], env.BLOCK_OUT
    blocks_in, blocks_out = work["in_filter"] // env.BLOCK_IN, work["out_filter"] // block
    per_group = blocks_in // groups
    data = te.placeholder((1, blocks_in, height, height, env.BATCH, env.BLOCK_IN), name="data", dtype=env.inp_dtype)
    kernel = te.placeholder(
        (blocks_out, per_group, size, size, block, env.BLOCK_IN), name="kernel", dtype=env.wgt_dtype
    )
    bias = te.placeholder((1, blocks_out, 1, 1, env.BATCH, block), name="bias", dtype=env.acc_dtype)
    padded = topi.nn.pad(data, [0, 0, pad, pad, 0, 0], name="pad_data") if pad else data
    out = (height + 2 * pad - size) // stride + 1
    k_o, d_i = te.reduce_axis((0, per_group), name="k_o"), te.reduce_axis((0, size), name="d_i")
    d_j, k_i = te.reduce_axis((0, size), name="d_j"), te.reduce_axis((0, env.BLOCK_IN), name="k_i")
    shape = (1, blocks_out, out, out, env.BATCH, block)

    def channel(c_o: Expr) -> Expr:
        return c_o // (blocks_out // groups) * per_group + k_o if groups > 1 else k_o

    conv = te.compute(
        shape,
        lambda bo, co, i, j, bi, ci: te.sum(
            padded[bo, channel(co), i * stride + d_i, j * stride + d_j, bi, k_i].astype(env.acc_dtype)
            * kernel[co, k_o, d_i, d_j, ci, k_i].astype(env.acc_dtype),
            axis=[k_o, d_i, d_j, k_i],
        ),
        name="res_conv",
    )
    shr = te.compute(shape, lambda *i: conv(*i) >> 8, name="shr")
    biased = te.compute(shape, lambda bo, co, i, j, bi, ci: shr(bo, co, i, j, bi, ci) + bias(bo, co, 0, 0, bi, ci), "b")
    high = te.compute(shape, lambda *i: te.min(biased(*i), 127), name="high")
    low = te.compute(shape, lambda *i: te.max(high(*i), 0), name="low")
    res = te.compute(shape, lambda *i: low(*i).astype(env.out_dtype), name="res")
    s = te.create_schedule(res.op)
    cdata = padded if pad else s.cache_read(data, env.inp_scope, [conv])
    s[cdata].set_scope(env.inp_scope)
    ckernel = s.cache_read(kernel, env.wgt_scope, [conv])
    cbias = s.cache_read(bias, env.acc_scope, [biased])
    x_bo, x_co, x_i, x_j, x_bi, x_ci = s[res].op.axis
    co0, co1 = s[res].split(x_co, factor=tiles["tile_co"])
    i0, i1 = s[res].split(x_i, factor=tiles["tile_h"])
    j0, j1 = s[res].split(x_j, factor=tiles["tile_w"])
    s[res].reorder(x_bo, i0, co0, j0, co1, i1, j1, x_bi, x_ci)
    for stage in (conv, shr, biased, high, low, cbias):
        s[stage].set_scope(env.acc_scope)
        s[stage].compute_at(s[res], j0)
    for stage in (shr, biased, high, low):
        s[stage].pragma(s[stage].op.axis[0], env.alu)
    s[cbias].pragma(s[cbias].op.axis[0], env.dma_copy)
    for threads, axis in ((tiles["oc_nthread"], co0), (tiles["h_nthread"], i0)):
        if threads > 1:
            _, thread = s[res].split(axis, factor=threads)
            s[res].reorder(thread, x_bo)
            s[res].bind(thread, te.thread_axis("cthread"))
    c_bo, c_co, c_i, c_j, c_bi, c_ci = s[conv].op.axis
    c_ko, c_di, c_dj, c_ki = s[conv].op.reduce_axis
    s[conv].reorder(c_bo, c_ko, c_j, c_dj, c_di, c_co, c_i, c_bi, c_ci, c_ki)
    ko_out, _ = s[conv].split(c_ko, factor=tiles["tile_ci"])
    for stage in (cdata, ckernel):
        s[stage].compute_at(s[conv], ko_out)
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    s[conv].tensorize(c_bi, env.gemm)
    s[res].pragma(co1, env.dma_copy)
    return Scheduled(s, [data, kernel, bias, res])


def _knobs(case: Case) -> tuple[dict[str, int], dict[str, int]]:
    """Return the workload, and the inner factors and thread counts of the recorded tuning result."""
    extra = case.record["extra"]
    knobs = ast.literal_eval(extra["autotvm"]["config"].rsplit("],", 1)[0] + "]")
    return extra["workload"], {name: value[1] if isinstance(value, list) else value for name, value in knobs}


def _cast(tensor: te.Tensor, dtype: str) -> Callable[..., Expr]:
    return lambda *i: tensor(*i).astype(dtype)
