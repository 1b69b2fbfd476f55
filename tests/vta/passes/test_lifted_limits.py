"""What upstream's compiler could not do, item by item of the list of its limits: right numbers, or one sentence."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import vta
from isa.config import VTAConfig
from tests.support.compiler.run_schedule import run_schedule
from tests.support.configs import CONFIGS
from vta import te, topi
from vta.passes.errors import PassError
from vta.tir.calls import call_intrin
from vta.tir.expr import Expr

DEFAULT = CONFIGS["default"]
EACH_CONFIG = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())

Values = NDArray[np.int64]
Stages = Callable[[te.Tensor], list[te.Tensor]]


def each(fn: Callable[..., Expr], *operands: te.Tensor, name: str) -> te.Tensor:
    """An element-wise stage."""
    return te.compute(operands[0].shape, lambda *i: fn(*(t(*i) for t in operands)), name)


def scheduled(env: vta.Environment, blocks: Sequence[int], stages: Stages) -> tuple[te.Schedule, list[te.Tensor]]:
    """Load ``x`` (int32), run ALU stages, store the last one's low bits."""
    shape = (*blocks, env.BATCH, env.BLOCK_OUT)
    x = te.placeholder(shape, env.acc_dtype, "x")
    load = each(lambda v: v, x, name="load")
    made = stages(load)
    out = each(lambda v: v.astype(env.out_dtype), made[-1], name="out")
    s = te.create_schedule(out.op)
    for tensor in (load, *made):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].pragma(s[tensor].op.axis[0], env.dma_copy if tensor is load else env.alu)
    s[out].pragma(s[out].op.axis[0], env.dma_copy)
    return s, [x, out]


def check(
    stages: Stages, expected: Callable[[Values], Values], config: VTAConfig = DEFAULT, blocks: Sequence[int] = (2, 3)
) -> None:
    with vta.Environment(config) as env:
        schedule, args = scheduled(env, blocks, stages)
    values = np.random.default_rng(34).integers(-70000, 70000, (*blocks, env.BATCH, env.BLOCK_OUT)).astype(np.int32)
    outcome = run_schedule(schedule, args, [values], config)
    np.testing.assert_array_equal(outcome.output, expected(values.astype(np.int64)).astype(np.int8))


def refusal(stages: Stages, blocks: Sequence[int] = (2, 3)) -> str:
    with vta.Environment(DEFAULT) as env:
        schedule, args = scheduled(env, blocks, stages)
        with pytest.raises(PassError) as error:
            vta.lower(schedule, args)
    return str(error.value)


def one(fn: Callable[[Expr], Expr]) -> Stages:
    return lambda load: [each(fn, load, name="stage")]


# --- 34, 72, 73: ALU operands ----------------------------------------------------------------------------------------


@EACH_CONFIG
def test_quirk_34_an_immediate_operation_beside_its_operand(config: VTAConfig) -> None:
    def stages(load: te.Tensor) -> list[te.Tensor]:
        b = each(lambda v: v + 1, load, name="b")
        return [b, each(lambda p, q: p * 3 + q, load, b, name="c")]

    check(stages, lambda x: x * 4 + 1, config)


@EACH_CONFIG
def test_quirk_35_more_than_two_loops_that_do_not_fold(config: VTAConfig) -> None:
    def stages(load: te.Tensor) -> list[te.Tensor]:
        return [
            te.compute((2, 3, 2, 2, *load.shape[-2:]), lambda a, b, c, d, *i: load(a, 0, c, b, *i) + d * b, "stage")
        ]

    def expected(x: Values) -> Values:
        b, d = np.arange(3).reshape(1, 3, 1, 1, 1, 1), np.arange(2).reshape(1, 1, 1, 2, 1, 1)
        return np.moveaxis(x[:, 0], 1, 2)[:, :, :, None] + d * b

    check(stages, expected, config, blocks=(2, 2, 2, 3))


def product(env: vta.Environment, shape: Sequence[int], sums: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A product of tiles with blocks of rows in as many dimensions as ``shape`` has, no two of which fold into one."""
    a = te.placeholder((*(n + 1 for n in shape), sums + 1, env.BATCH, env.BLOCK_IN), env.inp_dtype, "a")
    w = te.placeholder((sums, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "w")
    a_buf, w_buf = (te.compute(t.shape, lambda *i, t=t: t(*i), name) for t, name in ((a, "a_buf"), (w, "w_buf")))
    ko, ki = te.reduce_axis((0, sums), "ko"), te.reduce_axis((0, env.BLOCK_IN), "ki")
    c_buf = te.compute(
        (*shape, env.BATCH, env.BLOCK_OUT),
        lambda *i: te.sum(
            a_buf(*i[:-2], ko, i[-2], ki).astype(env.acc_dtype) * w_buf(ko, i[-1], ki).astype(env.acc_dtype),
            axis=[ko, ki],
        ),
        "c_buf",
    )
    c = each(lambda v: v.astype(env.out_dtype), c_buf, name="c")
    s = te.create_schedule(c.op)
    for stage, scope in ((a_buf, env.inp_scope), (w_buf, env.wgt_scope), (c_buf, env.acc_scope)):
        s[stage].set_scope(scope)
        if stage is not c_buf:
            s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    axes = s[c_buf].op.axis
    s[c_buf].reorder(*axes[:-2], ko, *axes[-2:], ki)
    s[c_buf].tensorize(axes[-2], env.gemm)
    s[c].pragma(s[c].op.axis[0], env.dma_copy)
    return s, [a, w, c]


def product_of(a: Values, w: Values, shape: Sequence[int]) -> Values:
    inner = a[tuple(slice(n) for n in shape)][..., : len(w), :, :]
    return np.einsum("...kbi,kji->...bj", inner.astype(np.int64), w.astype(np.int64))


@EACH_CONFIG
@pytest.mark.parametrize("shape", [(2, 2, 2, 3), (3, 2, 2)])
def test_quirk_35_and_74_gemm_loops_beyond_two_and_a_reduction_innermost(
    shape: tuple[int, ...], config: VTAConfig
) -> None:
    with vta.Environment(config) as env:
        schedule, (a, w, c) = product(env, shape, sums=2)
    rng = np.random.default_rng(35)
    inputs = [rng.integers(-8, 8, tuple(map(int, t.shape))).astype(t.dtype) for t in (a, w)]
    outcome = run_schedule(schedule, [a, w, c], inputs, config)
    np.testing.assert_array_equal(outcome.output, product_of(*inputs, shape).astype(np.int8))


ROWS, COLUMNS, OUTER, INNER = 32, 8, 2, 20


def long_kernel(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor]]:
    """Sums over two loops, one of them innermost: folding the outermost loops leaves 15,360 micro-ops."""
    a = te.placeholder((ROWS + OUTER * INNER, env.BATCH, env.BLOCK_IN), env.inp_dtype, "a")
    w = te.placeholder((COLUMNS + OUTER * INNER + 2, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "w")
    a_buf, w_buf = (te.compute(t.shape, lambda *i, t=t: t(*i), name) for t, name in ((a, "a_buf"), (w, "w_buf")))
    axes = [te.reduce_axis((0, n), name) for n, name in ((OUTER, "ko"), (INNER, "kj"), (env.BLOCK_IN, "ki"))]
    ko, kj, ki = axes

    def value(b: Expr, c: Expr, x: Expr, y: Expr, i: Expr, j: Expr) -> Expr:
        k = ko * INNER + kj
        return te.sum(a_buf(x + k, i, ki).astype("int32") * w_buf(k + c + y, j, ki).astype("int32"), axis=axes)

    c_buf = te.compute((2, 3, ROWS, COLUMNS, env.BATCH, env.BLOCK_OUT), value, "c_buf")
    c = each(lambda v: v.astype(env.out_dtype), c_buf, name="c")
    s = te.create_schedule(c.op)
    for stage, scope in ((a_buf, env.inp_scope), (w_buf, env.wgt_scope), (c_buf, env.acc_scope)):
        s[stage].set_scope(scope)
    for stage in (a_buf, w_buf, c):
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    outer = s[c_buf].op.axis
    s[c_buf].reorder(ko, *outer[:-2], kj, *outer[-2:], ki)
    s[c_buf].tensorize(outer[-2], env.gemm)
    return s, [a, w, c]


@pytest.mark.parametrize("log_uop_buff_size", [15, 8])
def test_quirk_35_a_kernel_larger_than_the_micro_op_buffer(log_uop_buff_size: int) -> None:
    """With room for 8,192 micro-ops it folds other loops; with room for 64 the host runs some around the kernel."""
    config = replace(DEFAULT, log_uop_buff_size=log_uop_buff_size)
    with vta.Environment(config) as env:
        schedule, args = long_kernel(env)
    rng = np.random.default_rng(35)
    a, w = (rng.integers(-8, 8, tuple(map(int, t.shape))).astype(np.int8) for t in args[:2])
    sums = OUTER * INNER
    windows = np.stack([a[k : k + ROWS] for k in range(sums)]).astype(np.int64)
    weights = np.stack([w[k : k + 2 + COLUMNS] for k in range(sums)]).astype(np.int64)
    products = np.einsum("kxbi,kyji->xybj", windows, weights)
    expected = np.stack([products[:, c : c + COLUMNS] for c in range(3)])
    outcome = run_schedule(schedule, args, [a, w], config)
    np.testing.assert_array_equal(outcome.output, np.stack([expected] * 2).astype(np.int8))


@EACH_CONFIG
def test_quirk_37_differences_shifts_of_constants_and_casts(config: VTAConfig) -> None:
    check(one(lambda v: v - 3), lambda x: x - 3, config)
    check(one(lambda v: (3 - v) - v), lambda x: 3 - 2 * x, config)
    small = one(lambda v: te.const(1000, "int32") >> te.max(te.min(v, 5), 0))
    check(small, lambda x: 1000 >> np.clip(x, 0, 5), config)
    check(
        one(lambda v: v.astype("int8").astype("int32") >> 1), lambda x: x.astype(np.int8).astype(np.int64) >> 1, config
    )


def test_quirk_37_a_negative_shift_is_refused() -> None:
    assert refusal(one(lambda v: call_intrin("int32", "tir.shift_right", v, -2))).endswith(
        "ALU stage: x >> count: expected a count that is never negative, got -2; shift the other way"
    )


@EACH_CONFIG
def test_quirk_72_large_immediates_and_several_operations_in_one_stage(config: VTAConfig) -> None:
    check(one(lambda v: te.min(v, 40000)), lambda x: np.minimum(x, 40000), config)
    check(one(lambda v: te.max(v, -40000) - 70000), lambda x: np.maximum(x, -40000) - 70000, config)
    check(one(lambda v: te.min(te.max((v + 5) >> 3, -128), 127)), lambda x: np.clip((x + 5) >> 3, -128, 127), config)


@EACH_CONFIG
def test_quirk_73_what_is_read_again_is_not_overwritten(config: VTAConfig) -> None:
    def stages(load: te.Tensor) -> list[te.Tensor]:
        b = each(lambda v: v * 2, load, name="b")
        t = each(lambda v: v + 9, b, name="t")
        u = each(lambda v: te.min(v, 4), t, name="u")
        return [b, t, u, each(te.max, b, u, name="d")]

    check(stages, lambda x: np.maximum(2 * x, np.minimum(2 * x + 9, 4)), config)


@EACH_CONFIG
def test_quirk_35_a_stage_of_several_outputs(config: VTAConfig) -> None:
    def stages(load: te.Tensor) -> list[te.Tensor]:
        first, second = te.compute(load.shape, lambda *i: (load(*i) + 1, load(*i) * 2), "both")
        return [first, each(lambda p, q: p - q, first, second, name="difference")]

    check(stages, lambda x: 1 - x, config)


# --- 38: transfers ---------------------------------------------------------------------------------------------------


@EACH_CONFIG
def test_quirk_38_a_transfer_of_many_dimensions(config: VTAConfig) -> None:
    def stages(load: te.Tensor) -> list[te.Tensor]:
        return [te.compute((2, 2, 2, 2, *load.shape[-2:]), lambda a, b, c, d, *i: load(a, b, c, d, *i) + 1, "stage")]

    with vta.Environment(config) as env:
        shape = (3, 3, 3, 3, env.BATCH, env.BLOCK_OUT)
        x = te.placeholder(shape, env.acc_dtype, "x")
        load = te.compute((2, 2, 2, 2, *shape[-2:]), lambda a, b, c, d, *i: x(a + 1, b, c + 1, d, *i), "load")
        stage = stages(load)[0]
        out = te.compute(stage.shape, lambda *i: stage(*i).astype(env.out_dtype), "out")
        s = te.create_schedule(out.op)
        for tensor, pragma in ((load, env.dma_copy), (stage, env.alu)):
            s[tensor].set_scope(env.acc_scope)
            s[tensor].pragma(s[tensor].op.axis[0], pragma)
        s[out].pragma(s[out].op.axis[0], env.dma_copy)
    values = np.random.default_rng(38).integers(-99, 99, shape).astype(np.int32)
    outcome = run_schedule(s, [x, out], [values], config)
    np.testing.assert_array_equal(outcome.output, (values[1:, :2, 1:, :2] + 1).astype(np.int8))


def padded(env: vta.Environment, shape: Sequence[int], pads: Sequence[int]) -> tuple[te.Schedule, list[te.Tensor]]:
    """Padded rows, columns and blocks of channels, all in one load."""
    x = te.placeholder((*shape, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "x")
    load = topi.nn.pad(x, [*pads, 0, 0], name="load")
    stage = each(lambda v: v + 1, load, name="stage")
    out = each(lambda v: v.astype(env.out_dtype), stage, name="out")
    s = te.create_schedule(out.op)
    for tensor, pragma in ((load, env.dma_copy), (stage, env.alu)):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].pragma(s[tensor].op.axis[0], pragma)
    s[out].pragma(s[out].op.axis[0], env.dma_copy)
    return s, [x, out]


@EACH_CONFIG
@pytest.mark.parametrize(
    ("shape", "pads"), [((2, 3, 4), (1, 2, 3)), ((4, 3), (20, 3)), ((3, 4), (0, 17)), ((2, 2, 3), (0, 1, 1))]
)
def test_quirk_38_pads_of_any_size_on_any_dimension(
    shape: tuple[int, ...], pads: tuple[int, ...], config: VTAConfig
) -> None:
    with vta.Environment(config) as env:
        schedule, args = padded(env, shape, pads)
        values = np.random.default_rng(38).integers(-9, 9, (*shape, env.BATCH, env.BLOCK_OUT)).astype(np.int32)
    widths = [(pad, pad) for pad in (*pads, 0, 0)]
    outcome = run_schedule(schedule, args, [values], config)
    np.testing.assert_array_equal(outcome.output, (np.pad(values, widths) + 1).astype(np.int8))


def test_quirk_38_a_pad_value_that_is_not_zero_is_refused() -> None:
    with vta.Environment(DEFAULT) as env:
        x = te.placeholder((4, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "x")
        load = topi.nn.pad(x, [1, 0, 0], pad_value=7, name="load")
        out = each(lambda v: v.astype(env.out_dtype), load, name="out")
        s = te.create_schedule(out.op)
        s[load].set_scope(env.acc_scope)
        for tensor in (load, out):
            s[tensor].pragma(s[tensor].op.axis[0], env.dma_copy)
        with pytest.raises(PassError) as error:
            vta.lower(s, [x, out])
    assert str(error.value).endswith(
        "dma_copy: the padding is not zero: expected 0 where the condition does not hold (a load pads with zeros), "
        "got 7; pad on the host, or with an ALU stage"
    )


TINY = replace(DEFAULT, log_block=0, log_acc_buff_size=13, log_inp_buff_size=8, log_wgt_buff_size=8)
"""Elements of one number. (No scratchpad that a configuration may have holds a row of 65,536 elements.)"""


def test_quirk_38_a_stride_beyond_its_field_is_several_instructions() -> None:
    with vta.Environment(TINY) as env:
        x = te.placeholder((3, 70000, 1, 1), env.acc_dtype, "x")
        load = te.compute((3, 5, 1, 1), lambda i, j, b, c: x(i, j + 69995, b, c), "load")
        out = each(lambda v: v.astype(env.out_dtype), load, name="out")
        s = te.create_schedule(out.op)
        s[load].set_scope(env.acc_scope)
        for tensor in (load, out):
            s[tensor].pragma(s[tensor].op.axis[0], env.dma_copy)
    values = np.random.default_rng(38).integers(-99, 99, (3, 70000, 1, 1)).astype(np.int32)
    outcome = run_schedule(s, [x, out], [values], TINY)
    np.testing.assert_array_equal(outcome.output, values[:, 69995:].astype(np.int8))
