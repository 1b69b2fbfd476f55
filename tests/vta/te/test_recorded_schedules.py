"""The recorded cases lower to well-formed functions; the convolution's reads as the recording does.

That they become the recorded runtime calls and words is tested in tests/integration.
"""

from pathlib import Path
from typing import Any

import pytest

import vta
from tests.support.compiler.te_run import lowered
from tests.support.golden.golden import SPINE_PREFIXES, case_names, load_case
from tests.support.golden.golden_text import check_golden_text
from tests.support.golden.spine_cases import schedule_case
from vta import te
from vta.tir.expr import Expr

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(("folder", "name"), case_names(*SPINE_PREFIXES))
def test_a_recorded_schedule_lowers_to_a_well_formed_function(folder: str, name: str) -> None:
    case = load_case(folder, name)
    scheduled = schedule_case(case, vta.Environment(case.config))
    lowered(scheduled.schedule, scheduled.args)


def convolution(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return the convolution tutorial: 256 to 256 channels, 14 x 14, 3 x 3, padded, on two virtual threads."""
    tiles, block = 256 // env.BLOCK_IN, env.BLOCK_IN
    data = te.placeholder((1, tiles, 14, 14, env.BATCH, block), env.inp_dtype, "data")
    kernel = te.placeholder((tiles, tiles, 3, 3, env.BLOCK_OUT, block), env.wgt_dtype, "kernel")

    def padded(*i: Any) -> Any:
        b, c, y, x, bi, ci = i
        inside = te.all(y >= 1, y < 15, x >= 1, x < 15)
        return te.if_then_else(inside, data[b, c, y - 1, x - 1, bi, ci], te.const(0, env.inp_dtype))

    data_buf = te.compute((1, tiles, 16, 16, env.BATCH, block), padded, "data_buf")
    kernel_buf = te.compute(kernel.shape, lambda *i: kernel(*i), "kernel_buf")
    dy, dx = te.reduce_axis((0, 3), "dy"), te.reduce_axis((0, 3), "dx")
    ic, ic_tns = te.reduce_axis((0, tiles), "ic"), te.reduce_axis((0, block), "ic_tns")

    def product(bo: Expr, co: Expr, i: Expr, j: Expr, bi: Expr, ci: Expr) -> Any:
        d = data_buf[bo, ic, i + dy, j + dx, bi, ic_tns].astype(env.acc_dtype)
        return te.sum(d * kernel_buf[co, ic, dy, dx, ci, ic_tns].astype(env.acc_dtype), axis=[ic, dy, dx, ic_tns])

    shape = (1, tiles, 14, 14, env.BATCH, env.BLOCK_OUT)
    conv = te.compute(shape, product, "res_conv")
    shr = te.compute(shape, lambda *i: conv(*i) >> 8, "res_shr")
    largest = te.compute(shape, lambda *i: te.max(shr(*i), 0), "res_max")
    least = te.compute(shape, lambda *i: te.min(largest(*i), 127), "res_min")
    res = te.compute(shape, lambda *i: least(*i).astype(env.inp_dtype), "res")

    s = te.create_schedule(res.op)
    b, oc, y, x, b_tns, oc_tns = s[res].op.axis
    (b_out, b_inn), (oc_out, oc_inn) = s[res].split(b, 1), s[res].split(oc, 128 // env.BLOCK_OUT)
    (y_out, y_inn), (x_out, x_inn) = s[res].split(y, 7), s[res].split(x, 14)
    s[res].reorder(b_out, oc_out, y_out, x_out, b_inn, oc_inn, y_inn, x_inn, b_tns, oc_tns)
    for stage in (conv, shr, largest, least):
        s[stage].set_scope(env.acc_scope)
        s[stage].compute_at(s[res], x_out)
    ic_out, ic_inn = s[conv].split(ic, 16 // block)
    b, oc, y, x, tile, _ = conv.op.axis
    s[conv].reorder(ic_out, b, oc, y, ic_inn, dy, dx, x, *conv.op.axis[4:], ic_tns)
    _, thread = s[res].split(oc_out, 2)
    s[res].reorder(thread, b_out)
    s[res].bind(thread, te.thread_axis("cthread"))
    for copy, scope in ((data_buf, env.inp_scope), (kernel_buf, env.wgt_scope)):
        s[copy].set_scope(scope)
        s[copy].compute_at(s[conv], ic_out)
        s[copy].pragma(copy.op.axis[0], env.dma_copy)
    s[res].pragma(s[res].op.axis[4], env.dma_copy)
    s[conv].tensorize(tile, env.gemm)
    for stage in (shr, largest, least):
        s[stage].pragma(stage.op.axis[0], env.alu)
    return s, [data, kernel, res]


def test_the_convolution_loads_halo_rows_and_resets_each_tile_once(update_golden: bool) -> None:
    with vta.Environment(load_case("default", "tut.convolution_opt").config) as env:
        s, args = convolution(env)
    check_golden_text(str(lowered(s, args)), GOLDEN / "convolution.txt", update=update_golden)
