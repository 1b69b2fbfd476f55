"""Marked nests become micro-ops, those that would add zeros are left out; on every configuration."""

from collections.abc import Callable

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from runtime.session import Session
from tests.support.compiler.tir_build import buffer, function, loop, pragma, store, when
from tests.support.configs import CONFIGS
from vta import te, tir, topi
from vta.nd import EXT_DEV, Device, array, empty
from vta.passes.gemm.inject_conv2d_transpose_skip import (
    TRANSPOSE_PRAGMA,
    TransposeSkipError,
    inject_conv2d_transpose_skip,
)
from vta.tir.expr import Expr, Var
from vta.tir.stmt import Stmt

HEIGHT, TAPS, STRIDE = 5, 3, 2
OUT = (HEIGHT - 1) * STRIDE + TAPS


def upsampled(env: vta.Environment, choose: Callable[..., Expr]) -> tuple[te.Schedule, list[te.Tensor]]:
    """A one-dimensional transposed convolution: data padded by two elements at either end, spread by STRIDE.

    ``choose(condition, value)`` is the value, or zero where the condition does not hold.
    """
    data = te.placeholder((1, 1, HEIGHT, 1, env.BATCH, env.BLOCK_IN), env.inp_dtype, "data")
    kernel = te.placeholder((1, 1, TAPS, 1, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "kernel")
    padded = topi.nn.pad(data, [0, 0, 1, 0, 0, 0], name="padded")
    weights = te.compute(kernel.shape, lambda *i: kernel(*i), "weights")
    d, k = te.reduce_axis((0, TAPS), "d"), te.reduce_axis((0, env.BLOCK_IN), "k")

    def element(b: Var, c: Var, i: Var, j: Var, bi: Var, ci: Var) -> Expr:
        place = i + d
        value = choose((place % STRIDE == 0).asexpr(), padded[b, 0, place // STRIDE, j, bi, k])
        return te.sum(value.astype(env.acc_dtype) * weights[c, 0, d, 0, ci, k].astype(env.acc_dtype), axis=[d, k])

    shape = (1, 1, OUT, 1, env.BATCH, env.BLOCK_OUT)
    sums = te.compute(shape, element, "sums")
    result = te.compute(shape, lambda *i: sums(*i).astype(env.out_dtype), "result")
    s = te.create_schedule(result.op)
    s[padded].set_scope(env.inp_scope)
    s[weights].set_scope(env.wgt_scope)
    s[sums].set_scope(env.acc_scope)
    b, c, i, j, bi, ci = sums.op.axis
    s[sums].reorder(b, c, i, j, d, bi, ci, k)
    s[sums].unroll(d)
    s[sums].pragma(bi, TRANSPOSE_PRAGMA)
    for stage in (padded, weights, result):
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    return s, [data, kernel, result]


@pytest.mark.parametrize("choose", [lambda c, x: tir.Select(c, x, 0), lambda c, x: tir.if_then_else(c, x, 0)])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_work_on_zeros_is_left_out(config: VTAConfig, choose: Callable[..., Expr]) -> None:
    with vta.Environment(config) as env:
        schedule, args = upsampled(env, choose)
        module = vta.build(schedule, args, target=env.target)
    session = Session(config, "sim")
    rng = np.random.default_rng(5)
    values = [rng.integers(-8, 8, [int(n) for n in t.shape]).astype(np.int8) for t in args[:2]]
    device = Device(EXT_DEV, 0, session)
    result = empty(args[2].shape, "int8", device)
    module(*(array(v, device) for v in values), result)
    data, kernel = (v.astype(np.int32) for v in values)
    spread = np.zeros((OUT + TAPS - 1, config.batch, config.block_in), np.int32)
    spread[TAPS - 1 : 1 - TAPS : STRIDE] = data[0, 0, :, 0]
    expected = sum(np.einsum("xbi,oi->xbo", spread[t : t + OUT], kernel[0, 0, t, 0]) for t in range(TAPS))
    np.testing.assert_array_equal(result.numpy()[0, 0, :, 0], expected.astype(np.int8))
    done = sum((i + t) % STRIDE == 0 for i in range(OUT) for t in range(TAPS))
    assert session.device.stats.as_dict()["gemm_counter"] == done


ACC = buffer("acc", (4, 1, 16), "int32", scope="local.acc_buffer")
INP = buffer("inp", (4, 1, 16), "int8", scope="local.inp_buffer")
WGT = buffer("wgt", (16, 16), "int8", scope="local.wgt_buffer")
ROW, CI, KI = Var("i"), Var("ci"), Var("ki")


def step(value: Callable[[Expr, Expr], Expr], lane: Var = CI) -> Stmt:
    product = value(INP.load(ROW, 0, KI).astype("int32"), WGT.load(CI, KI).astype("int32"))
    return store(ACC, ACC.load(ROW, 0, lane) + product, ROW, 0, lane)


def marked(*body: Stmt, lanes: int = 16) -> Stmt:
    nest = pragma(TRANSPOSE_PRAGMA, loop(CI, lanes, loop(KI, 16, *body)))
    return loop(ROW, 4, nest)


def refusal(body: Stmt) -> str:
    with pytest.raises(TransposeSkipError) as caught:
        inject_conv2d_transpose_skip(function(body, ACC, INP, WGT), VTAConfig())
    return str(caught.value)


HINT = (
    "; compute it as an ordinary convolution over the dilated, padded data, and put the pragma on the batch lanes' axis"
)


@pytest.mark.parametrize(
    ("body", "got"),
    [
        (marked(store(INP, 0, ROW, 0, CI)), "'inp' in local.acc_buffer, got local.inp_buffer"),
        (marked(step(lambda x, w: x + w)), "loads, perhaps zero where a condition does not hold, got"),
        (marked(step(lambda x, _w: x)), "the product of two loads, got cast(int32, inp[i, 0, ki])"),
        (marked(step(lambda x, _w: x * x)), "one operand in local.inp_buffer and one in local.wgt_buffer, got"),
        (
            marked(step(lambda x, w: tir.Select(KI < 3, x, tir.const(0)) * w)),
            "conditions that hold for all lanes of an element, got (ki < 3)",
        ),
        (marked(step(lambda x, w: x * w), lanes=8), "a loop over the 16 lanes of 'acc', got ci"),
        (
            marked(store(ACC, INP.load(ROW, 0, CI).astype("int32"), ROW, 0, CI)),
            "zero, or a product added to the element",
        ),
        (marked(step(lambda x, w: x * w), step(lambda x, w: x * w)), "loops from zero, around one store, got"),
        (
            marked(step(lambda x, w: x * w, KI)),
            "acc[i, j] += inp[i, k] * wgt[j, k], got",
        ),
        (
            marked(when(ROW < 3, store(ACC, 0, CI, 0, CI))),
            "lanes in the last two dimensions, got acc[ci, 0, ci]",
        ),
    ],
)
def test_marked_loops_that_are_no_step_of_a_convolution_are_refused(body: Stmt, got: str) -> None:
    text = refusal(body)
    assert text.startswith(f"the function: pragma conv2d_transpose_gemm: expected {got}")
    assert text.endswith(HINT)


def test_a_function_without_the_pragma_stays_as_it_is() -> None:
    func = function(loop(ROW, 4, store(ACC, 0, ROW, 0, 0)), ACC)
    assert inject_conv2d_transpose_skip(func, VTAConfig()).body is func.body
