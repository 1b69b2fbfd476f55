"""The convolution tutorial's schedule: padded loads, two virtual threads, a GEMM below seven loops."""

import vta
from vta import te, topi

__all__ = ["convolution"]


def convolution(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor]]:
    """256 to 256 channels, 14x14, 3x3, padding 1; every other size comes from the environment (batch of one tile)."""
    batch, block_in, block_out = env.BATCH, env.BLOCK_IN, env.BLOCK_OUT
    data = te.placeholder((1, 256 // block_in, 14, 14, batch, block_in), name="data", dtype=env.inp_dtype)
    kernel = te.placeholder(
        (256 // block_out, 256 // block_in, 3, 3, block_out, block_in), name="kernel", dtype=env.wgt_dtype
    )
    data_buf = topi.nn.pad(data, [0, 0, 1, 1, 0, 0], name="data_buf")
    kernel_buf = te.compute(kernel.shape, lambda *i: kernel(*i), "kernel_buf")
    dy, dx = te.reduce_axis((0, 3), "dy"), te.reduce_axis((0, 3), "dx")
    ic, ic_tns = te.reduce_axis((0, 256 // block_in), "ic"), te.reduce_axis((0, block_in), "ic_tns")
    shape = (1, 256 // block_out, 14, 14, batch, block_out)
    conv = te.compute(
        shape,
        lambda bo, co, i, j, bi, ci: te.sum(
            data_buf[bo, ic, i + dy, j + dx, bi, ic_tns].astype(env.acc_dtype)
            * kernel_buf[co, ic, dy, dx, ci, ic_tns].astype(env.acc_dtype),
            axis=[ic, dy, dx, ic_tns],
        ),
        name="res_conv",
    )
    shr = te.compute(shape, lambda *i: conv(*i) >> 8, name="res_shr")
    relu = te.compute(shape, lambda *i: te.max(shr(*i), 0), name="res_max")
    clip = te.compute(shape, lambda *i: te.min(relu(*i), 127), name="res_min")
    res = te.compute(shape, lambda *i: clip(*i).astype(env.inp_dtype), name="res")
    s = te.create_schedule(res.op)
    s[data_buf].set_scope(env.inp_scope)
    s[kernel_buf].set_scope(env.wgt_scope)
    for stage in (conv, shr, relu, clip):
        s[stage].set_scope(env.acc_scope)
    _tile(env, s, conv, [shr, relu, clip], res)
    _map(env, s, conv, [shr, relu, clip], res)
    for stage in (data_buf, kernel_buf):
        s[stage].compute_at(s[conv], s[conv].leaf_iter_vars[0])
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    return s, [data, kernel, res]


def _tile(env: vta.Environment, s: te.Schedule, conv: te.Tensor, alu: list[te.Tensor], res: te.Tensor) -> None:
    """Split output channels and rows, attach what computes, and walk over input channels outside."""
    b, oc, y, x, b_tns, oc_tns = s[res].op.axis
    b_out, b_inn = s[res].split(b, factor=1)
    oc_out, oc_inn = s[res].split(oc, factor=128 // env.BLOCK_OUT)
    y_out, y_inn = s[res].split(y, factor=7)
    x_out, x_inn = s[res].split(x, factor=14)
    s[res].reorder(b_out, oc_out, y_out, x_out, b_inn, oc_inn, y_inn, x_inn, b_tns, oc_tns)
    for stage in (conv, *alu):
        s[stage].compute_at(s[res], x_out)
    ic, dy, dx, ic_tns = s[conv].op.reduce_axis
    b, oc, y, x, b_tns, oc_tns = s[conv].op.axis
    ic_out, ic_inn = s[conv].split(ic, factor=1)
    s[conv].reorder(ic_out, b, oc, y, ic_inn, dy, dx, x, b_tns, oc_tns, ic_tns)
    _, thread = s[res].split(oc_out, factor=2)
    s[res].reorder(thread, b_out)
    s[res].bind(thread, te.thread_axis("cthread"))


def _map(env: vta.Environment, s: te.Schedule, conv: te.Tensor, alu: list[te.Tensor], res: te.Tensor) -> None:
    """Put the pragmas, and the GEMM intrinsic."""
    s[res].pragma(s[res].op.axis[4], env.dma_copy)
    s[conv].tensorize(s[conv].op.axis[4], env.gemm)
    for stage in alu:
        s[stage].pragma(s[stage].op.axis[0], env.alu)
