"""Recorded convolutions and additions beyond the spine, scheduled with ``te``: threads, padding, bias, two operands.

They show what the spine cases do not: virtual threads around a reduction, loads with pads that vary, scratchpad memory
with several places, casts that become loads.
"""

import ast

import vta
from tests.support.golden.golden import Case
from tests.support.golden.spine_cases import Scheduled
from vta import te, topi
from vta.topi.alu.alu_schedule import AluTiles
from vta.topi.alu.elementwise import Binary, BinaryOperation
from vta.topi.conv.conv2d import ConvTiles, conv2d, schedule_conv2d
from vta.topi.conv.conv2d_grouped import group_conv2d
from vta.topi.core.epilogue import Bias, Clip, ShiftRight, append

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
    shape = (env.BATCH, 4 * env.BLOCK_OUT, 14, 14)
    operator = Binary(BinaryOperation.ADD, shape, (Clip(-128, 127),), (dtype, dtype))
    scheduled = operator.schedule(env, AluTiles(tile_b=1, tile_co=2, tile_h=7, tile_w=14))
    return Scheduled(scheduled.schedule, list(scheduled.args))


def packed_convolution(env: vta.Environment, work: dict[str, int], tiles: ConvTiles) -> Scheduled:
    """The operator library's convolution with bias and clipping: a layer with its tiles."""
    groups, size = work.get("groups", 1), work["hkernel"]
    blocks_in, blocks_out = work["in_filter"] // env.BLOCK_IN, work["out_filter"] // env.BLOCK_OUT
    shape = (1, blocks_in, work["height"], work["height"], env.BATCH, env.BLOCK_IN)
    data = te.placeholder(shape, name="data", dtype=env.inp_dtype)
    kernel_shape = (blocks_out, blocks_in // groups, size, size, env.BLOCK_OUT, env.BLOCK_IN)
    kernel = te.placeholder(kernel_shape, name="kernel", dtype=env.wgt_dtype)
    if groups > 1:
        sums = group_conv2d(data, kernel, work["hstride"], work["hpad"], 1, groups)
    else:
        sums = conv2d(data, kernel, work["hstride"], work["hpad"])
    appended = append(sums, (ShiftRight(8), Bias(), Clip(0, 127)), env)
    schedule = schedule_conv2d(appended.result, tiles, env)
    return Scheduled(schedule, [data, kernel, *appended.inputs, appended.result])


def _knobs(case: Case) -> tuple[dict[str, int], ConvTiles]:
    """Return the workload, and the recorded tuning result: tiles of one where there is none."""
    extra = case.record["extra"]
    if extra["autotvm"]["is_fallback"]:
        return extra["workload"], ConvTiles()
    knobs = ast.literal_eval(extra["autotvm"]["config"].rsplit("],", 1)[0] + "]")
    values = {name: value[1] if isinstance(value, list) else value for name, value in knobs if name != "tile_b"}
    return extra["workload"], ConvTiles(**values)
