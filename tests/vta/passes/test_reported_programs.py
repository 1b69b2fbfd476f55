"""Reports of users of such toolchains, as schedules that are lowered, run, and compared with numpy."""

from collections.abc import Sequence

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.compiler.run_schedule import run_schedule
from tests.support.configs import CONFIGS
from vta import te, topi
from vta.tir.expr import Expr, Var

DEFAULT = CONFIGS["default"]
EACH_CONFIG = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())


def pattern(shape: Sequence[int], factor: int, modulus: int, shift: int, dtype: str) -> np.ndarray:
    """Element k (in C order) is ``(factor * k) mod modulus - shift``."""
    count = int(np.prod(shape))
    return ((factor * np.arange(count)) % modulus - shift).astype(dtype).reshape(shape)


def product(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The tiled matrix product in int64."""
    return np.einsum("onbi,mnji->ombj", a.astype(np.int64), w.astype(np.int64))


def low8(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64).astype(np.int8)


@EACH_CONFIG
@pytest.mark.parametrize(("a_axis", "w_axis"), [(2, 2), (0, 0), (1, 1), (0, 2), (2, 0)])
def test_br_056_loads_attached_at_inner_loops_of_the_gemm(a_axis: int, w_axis: int, config: VTAConfig) -> None:
    with vta.Environment(config) as env:
        shape = (4, 4, env.BATCH, env.BLOCK_OUT)
        a = te.placeholder((4, 4, env.BATCH, env.BLOCK_IN), name="A", dtype=env.inp_dtype)
        w = te.placeholder((4, 4, env.BLOCK_OUT, env.BLOCK_IN), name="B", dtype=env.wgt_dtype)
        a_buf = te.compute(a.shape, lambda *i: a(*i), "A_buf")
        w_buf = te.compute(w.shape, lambda *i: w(*i), "B_buf")
        ko, ki = te.reduce_axis((0, 4), "ko"), te.reduce_axis((0, env.BLOCK_IN), "ki")
        c_buf = te.compute(
            shape,
            lambda bo, co, bi, ci: te.sum(
                a_buf[bo, ko, bi, ki].astype(env.acc_dtype) * w_buf[co, ko, ci, ki].astype(env.acc_dtype), axis=[ko, ki]
            ),
            "C_buf",
        )
        c = te.compute(shape, lambda *i: c_buf(*i).astype(env.inp_dtype), "C")
        s = te.create_schedule(c.op)
        for stage, scope in ((a_buf, env.inp_scope), (w_buf, env.wgt_scope), (c_buf, env.acc_scope)):
            s[stage].set_scope(scope)
        axes = s[c_buf].op.axis
        s[c_buf].reorder(ko, *axes, ki)
        s[c_buf].tensorize(axes[2], env.gemm)
        attach = [ko, axes[0], axes[1]]
        s[a_buf].compute_at(s[c_buf], attach[a_axis])
        s[w_buf].compute_at(s[c_buf], attach[w_axis])
        for stage in (a_buf, w_buf, c):
            s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    av = pattern((4, 4, config.batch, config.block_in), 7, 17, 8, "int8")
    wv = pattern((4, 4, config.block_out, config.block_in), 5, 13, 6, "int8")
    expected = product(av, wv)
    if config == DEFAULT:
        assert expected.sum() == -2117
        assert expected[0, 0, 0, :4].tolist() == [-355, 100, 438, 438]
        assert low8(expected).sum(dtype=np.int64) == -69
    outcome = run_schedule(s, [a, w, c], [av, wv], config)
    np.testing.assert_array_equal(outcome.output, low8(expected))
    assert outcome.launches == 1


def padded_through_the_accumulator(
    env: vta.Environment, rows: tuple[int, int], before: tuple[int, int], after: tuple[int, int]
) -> tuple[te.Schedule, list[te.Tensor]]:
    x = te.placeholder((*rows, env.BATCH, env.BLOCK_OUT), name="x", dtype=env.acc_dtype)
    x_buf = topi.nn.pad(x, [*before, 0, 0], [*after, 0, 0], name="x_buf")
    y_buf = te.compute(x_buf.shape, lambda *i: x_buf(*i) >> 0, "y_buf")
    y = te.compute(x_buf.shape, lambda *i: y_buf(*i).astype(env.inp_dtype), "y")
    s = te.create_schedule(y.op)
    s[x_buf].set_scope(env.acc_scope)
    s[y_buf].set_scope(env.acc_scope)
    s[x_buf].pragma(s[x_buf].op.axis[0], env.dma_copy)
    s[y_buf].pragma(s[y_buf].op.axis[0], env.alu)
    s[y].pragma(s[y].op.axis[0], env.dma_copy)
    return s, [x, y]


@pytest.mark.parametrize(
    ("rows", "before", "after", "zeros"),
    [
        ((3, 5), (2, 0), (0, 0), 170),
        ((3, 5), (0, 2), (0, 0), 106),
        ((3, 5), (0, 0), (2, 0), 170),
        ((3, 5), (0, 0), (0, 2), 106),
        ((3, 5), (1, 1), (1, 1), 330),
        ((3, 5), (2, 1), (1, 2), 538),
        ((21, 20), (0, 1), (1, 3), None),
        ((3, 5), (20, 0), (0, 17), None),
    ],
)
def test_br_026_br_027_padded_loads_into_the_accumulator(
    rows: tuple[int, int], before: tuple[int, int], after: tuple[int, int], zeros: int | None
) -> None:
    with vta.Environment(DEFAULT) as env:
        s, args = padded_through_the_accumulator(env, rows, before, after)
    x = pattern((*rows, 1, 16), 1, 23, 11, "int32")
    expected = np.pad(x, ((before[0], after[0]), (before[1], after[1]), (0, 0), (0, 0)))
    if zeros is not None:
        assert np.count_nonzero(expected == 0) == zeros
        assert expected.sum() == -65
    np.testing.assert_array_equal(run_schedule(s, args, [x], DEFAULT).output, low8(expected))


@EACH_CONFIG
def test_br_026_a_padded_load_of_a_part_of_the_tensor(config: VTAConfig) -> None:
    with vta.Environment(config) as env:
        x = te.placeholder((3, 5, env.BATCH, env.BLOCK_OUT), name="x", dtype=env.acc_dtype)

        def inside(i: Var, j: Var) -> Expr:
            return te.all(i >= 1, i < 3, j >= 1, j < 4)

        x_buf = te.compute(
            (4, 5, env.BATCH, env.BLOCK_OUT),
            lambda i, j, b, c: te.if_then_else(inside(i, j), x[i, j, b, c], te.const(0, env.acc_dtype)),
            "x_buf",
        )
        y_buf = te.compute(x_buf.shape, lambda *i: x_buf(*i) + 0, "y_buf")
        y = te.compute(x_buf.shape, lambda *i: y_buf(*i).astype(env.inp_dtype), "y")
        s = te.create_schedule(y.op)
        s[x_buf].set_scope(env.acc_scope)
        s[y_buf].set_scope(env.acc_scope)
        s[x_buf].pragma(s[x_buf].op.axis[0], env.dma_copy)
        s[y_buf].pragma(s[y_buf].op.axis[0], env.alu)
        s[y].pragma(s[y].op.axis[0], env.dma_copy)
    values = pattern((3, 5, config.batch, config.block_out), 1, 23, 11, "int32")
    expected = np.pad(values[1:3, 1:4], ((1, 1), (1, 1), (0, 0), (0, 0)))
    np.testing.assert_array_equal(run_schedule(s, [x, y], [values], config).output, low8(expected))


def convolution(env: vta.Environment, size: int, channels: int, pad: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A 3x3 convolution whose loads bring all input channels of one image at once."""
    data = te.placeholder((1, channels, size, size, env.BATCH, env.BLOCK_IN), name="data", dtype=env.inp_dtype)
    kernel = te.placeholder((1, channels, 3, 3, env.BLOCK_OUT, env.BLOCK_IN), name="kernel", dtype=env.wgt_dtype)
    data_buf = topi.nn.pad(data, [0, 0, pad, pad, 0, 0], name="data_buf")
    kernel_buf = te.compute(kernel.shape, lambda *i: kernel(*i), "kernel_buf")
    axes = [te.reduce_axis((0, n), name) for n, name in ((channels, "ic"), (3, "dy"), (3, "dx"), (env.BLOCK_IN, "ki"))]
    ic, dy, dx, ki = axes
    out = size + 2 * pad - 2
    shape = (1, 1, out, out, env.BATCH, env.BLOCK_OUT)
    conv = te.compute(
        shape,
        lambda n, o, y, x, b, c: te.sum(
            data_buf[n, ic, y + dy, x + dx, b, ki].astype(env.acc_dtype)
            * kernel_buf[o, ic, dy, dx, c, ki].astype(env.acc_dtype),
            axis=axes,
        ),
        "conv",
    )
    res = te.compute(shape, lambda *i: conv(*i).astype(env.inp_dtype), "res")
    s = te.create_schedule(res.op)
    for stage, scope in ((data_buf, env.inp_scope), (kernel_buf, env.wgt_scope), (conv, env.acc_scope)):
        s[stage].set_scope(scope)
    n, o, y, x, b, c = s[conv].op.axis
    s[conv].reorder(n, o, ic, dy, dx, y, x, b, c, ki)
    s[conv].tensorize(b, env.gemm)
    for stage in (data_buf, kernel_buf, res):
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    return s, [data, kernel, res]


@EACH_CONFIG
def test_br_057_padding_of_packed_tensors_with_any_batch_and_several_channels(config: VTAConfig) -> None:
    with vta.Environment(config) as env:
        s, args = convolution(env, 8, 2, 1)
    data = pattern((1, 2, 8, 8, config.batch, config.block_in), 7, 17, 8, "int8")
    kernel = pattern((1, 2, 3, 3, config.block_out, config.block_in), 5, 13, 6, "int8")
    padded = np.pad(data.astype(np.int64), ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0), (0, 0)))
    windows = [
        np.einsum("nkyxbi,okci->noyxbc", padded[:, :, dy : dy + 8, dx : dx + 8], kernel[:, :, dy, dx].astype(np.int64))
        for dy in range(3)
        for dx in range(3)
    ]
    outcome = run_schedule(s, args, [data, kernel], config)
    np.testing.assert_array_equal(outcome.output, low8(np.sum(windows, axis=0)))


@EACH_CONFIG
def test_br_065_the_tail_of_a_split_that_does_not_divide(config: VTAConfig) -> None:
    with vta.Environment(config) as env:
        shape = (10, env.BATCH, env.BLOCK_OUT)
        x = te.placeholder(shape, name="x", dtype=env.acc_dtype)
        x_buf = te.compute(shape, lambda *i: x(*i), "x_buf")
        y_buf = te.compute(shape, lambda *i: x_buf(*i) + 1, "y_buf")
        y = te.compute(shape, lambda *i: y_buf(*i).astype(env.inp_dtype), "y")
        s = te.create_schedule(y.op)
        outer, inner = s[y].split(s[y].op.axis[0], factor=4)
        for stage, pragma in ((x_buf, env.dma_copy), (y_buf, env.alu)):
            s[stage].set_scope(env.acc_scope)
            s[stage].compute_at(s[y], outer)
            s[stage].pragma(s[stage].op.axis[0], pragma)
        s[y].pragma(inner, env.dma_copy)
    values = pattern((10, config.batch, config.block_out), 3, 29, 14, "int32")
    outcome = run_schedule(s, [x, y], [values], config)
    np.testing.assert_array_equal(outcome.output, low8(values + 1))
    assert outcome.launches == 1


def host_and_accelerator(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor], dict[str, te.Tensor]]:
    """The host multiplies, the accelerator adds, the host doubles: all in one function."""
    shape = (4, 3, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="a", dtype=env.acc_dtype)
    first = te.compute(shape, lambda *i: a(*i) * 3, "first")
    a_buf = te.compute(shape, lambda *i: first(*i), "a_buf")
    added = te.compute(shape, lambda *i: a_buf(*i) + 1, "added")
    middle = te.compute(shape, lambda *i: added(*i).astype(env.inp_dtype), "middle")
    last = te.compute(shape, lambda *i: middle(*i) * 2, "last")
    s = te.create_schedule(last.op)
    for stage, pragma in ((a_buf, env.dma_copy), (added, env.alu)):
        s[stage].set_scope(env.acc_scope)
        s[stage].pragma(s[stage].op.axis[0], pragma)
    s[middle].pragma(s[middle].op.axis[0], env.dma_copy)
    return s, [a, last], {"first": first, "a_buf": a_buf, "added": added, "middle": middle, "last": last}


@EACH_CONFIG
@pytest.mark.parametrize(("attached", "launches"), [(False, 1), (True, 4)])
def test_host_stages_before_and_after_the_accelerator(attached: bool, launches: int, config: VTAConfig) -> None:
    with vta.Environment(config) as env:
        s, args, stages = host_and_accelerator(env)
        if attached:
            last = stages.pop("last")
            for stage in stages.values():
                s[stage].compute_at(s[last], s[last].op.axis[0])
    values = pattern((4, 3, config.batch, config.block_out), 3, 29, 14, "int32")
    outcome = run_schedule(s, args, [values], config)
    np.testing.assert_array_equal(outcome.output, low8(low8(values * 3 + 1) * 2))
    assert outcome.launches == launches


@EACH_CONFIG
def test_a_result_goes_through_dram_into_the_next_product(config: VTAConfig) -> None:
    """The second load waits for the first store, through the compute module."""
    if config.block_in != config.block_out:
        return
    with vta.Environment(config) as env:
        tile = (1, 1, env.BATCH, env.BLOCK_OUT)
        a = te.placeholder((1, 1, env.BATCH, env.BLOCK_IN), name="a", dtype=env.inp_dtype)
        w = te.placeholder((1, 1, env.BLOCK_OUT, env.BLOCK_IN), name="w", dtype=env.wgt_dtype)

        def gemm(x: te.Tensor, name: str) -> tuple[list[te.Tensor], te.Tensor]:
            x_buf = te.compute(x.shape, lambda *i: x(*i), f"{name}_inp")
            w_buf = te.compute(w.shape, lambda *i: w(*i), f"{name}_wgt")
            ko, ki = te.reduce_axis((0, 1), "ko"), te.reduce_axis((0, env.BLOCK_IN), "ki")
            total = te.compute(
                tile,
                lambda bo, co, bi, ci: te.sum(
                    x_buf[bo, ko, bi, ki].astype(env.acc_dtype) * w_buf[co, ko, ci, ki].astype(env.acc_dtype),
                    axis=[ko, ki],
                ),
                f"{name}_acc",
            )
            out = te.compute(tile, lambda *i: total(*i).astype(env.inp_dtype), name)
            return [x_buf, w_buf, total], out

        first, middle = gemm(a, "middle")
        second, result = gemm(middle, "result")
        s = te.create_schedule(result.op)
        for x_buf, w_buf, total in (first, second):
            for stage, scope in ((x_buf, env.inp_scope), (w_buf, env.wgt_scope), (total, env.acc_scope)):
                s[stage].set_scope(scope)
            s[x_buf].pragma(s[x_buf].op.axis[0], env.dma_copy)
            s[w_buf].pragma(s[w_buf].op.axis[0], env.dma_copy)
            ko, ki = s[total].op.reduce_axis
            s[total].reorder(ko, *s[total].op.axis, ki)
            s[total].tensorize(s[total].op.axis[2], env.gemm)
        for out in (middle, result):
            s[out].pragma(s[out].op.axis[0], env.dma_copy)
    av = pattern((1, 1, config.batch, config.block_in), 7, 17, 8, "int8")
    wv = pattern((1, 1, config.block_out, config.block_in), 5, 13, 6, "int8")
    outcome = run_schedule(s, [a, w, result], [av, wv], config)
    np.testing.assert_array_equal(outcome.output, low8(product(low8(product(av, wv)), wv)))
    assert outcome.launches == 1
