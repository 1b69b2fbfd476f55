"""What upstream's compiler could not do with whole programs, item by item: threads, hosts and stores in one kernel."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.compiler.run_schedule import run_schedule
from tests.support.configs import CONFIGS
from vta import te
from vta.passes.errors import PassError
from vta.tir.expr import Call, IntImm, StringImm
from vta.tir.stmt import AttrStmt, Evaluate, For, LetStmt, SeqStmt, Stmt

DEFAULT = CONFIGS["default"]
EACH_CONFIG = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())


def each(fn: object, operand: te.Tensor, name: str) -> te.Tensor:
    """An element-wise stage."""
    return te.compute(operand.shape, lambda *i: fn(operand(*i)), name)


@EACH_CONFIG
def test_quirk_40_common_subexpressions_leave_kernels_alone(config: VTAConfig) -> None:
    """Two virtual threads in a product: upstream's closures got a second variable, and failed when they ran."""
    with vta.Environment(config) as env:
        schedule, args = threaded_product(env, threads=(2, 1))
    check_product(schedule, args, config)


def threaded_product(env: vta.Environment, threads: tuple[int, int]) -> tuple[te.Schedule, list[te.Tensor]]:
    """A product of 4x4 tiles; ``threads`` on rows and on columns of tiles."""
    a = te.placeholder((4, 4, env.BATCH, env.BLOCK_IN), env.inp_dtype, "a")
    w = te.placeholder((4, 4, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "w")
    a_buf, w_buf = (te.compute(t.shape, lambda *i, t=t: t(*i), name) for t, name in ((a, "a_buf"), (w, "w_buf")))
    ko, ki = te.reduce_axis((0, 4), "ko"), te.reduce_axis((0, env.BLOCK_IN), "ki")
    c_buf = te.compute(
        (4, 4, env.BATCH, env.BLOCK_OUT),
        lambda o, m, b, c: te.sum(
            a_buf(o, ko, b, ki).astype("int32") * w_buf(m, ko, c, ki).astype("int32"), axis=[ko, ki]
        ),
        "c_buf",
    )
    c = each(lambda v: v.astype(env.out_dtype), c_buf, name="c")
    s = te.create_schedule(c.op)
    rows, columns, *lanes = s[c].op.axis
    row_thread, row = s[c].split(rows, nparts=threads[0])
    column_thread, column = s[c].split(columns, nparts=threads[1])
    s[c].reorder(row_thread, column_thread, row, column, *lanes)
    for axis, count in ((row_thread, threads[0]), (column_thread, threads[1])):
        if count > 1:
            s[c].bind(axis, te.thread_axis("cthread"))
    s[c_buf].compute_at(s[c], column_thread)
    s[c_buf].set_scope(env.acc_scope)
    axes = s[c_buf].op.axis
    s[c_buf].reorder(ko, *axes, ki)
    s[c_buf].tensorize(axes[2], env.gemm)
    for stage, scope in ((a_buf, env.inp_scope), (w_buf, env.wgt_scope)):
        s[stage].set_scope(scope)
        s[stage].compute_at(s[c_buf], ko)
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    s[c].pragma(row, env.dma_copy)
    return s, [a, w, c]


def check_product(schedule: te.Schedule, args: Sequence[te.Tensor], config: VTAConfig) -> None:
    rng = np.random.default_rng(58)
    a, w = (rng.integers(-8, 8, tuple(map(int, t.shape))).astype(np.int8) for t in args[:2])
    expected = np.einsum("okbi,mkci->ombc", a.astype(np.int64), w.astype(np.int64))
    np.testing.assert_array_equal(run_schedule(schedule, args, [a, w], config).output, expected.astype(np.int8))


@EACH_CONFIG
@pytest.mark.parametrize("threads", [(2, 2), (4, 2), (1, 4)])
def test_quirk_58_virtual_threads_inside_of_each_other(threads: tuple[int, int], config: VTAConfig) -> None:
    with vta.Environment(config) as env:
        schedule, args = threaded_product(env, threads)
    check_product(schedule, args, config)


def test_quirk_58_threads_inside_of_each_other_share_memory_as_a_single_one_does() -> None:
    with vta.Environment(DEFAULT) as env:
        texts = [str(vta.lower(*threaded_product(env, threads))) for threads in ((4, 1), (2, 2))]
    places = [re.findall(r"VTAStoreBuffer2D\", [^,]*\([^)]*\)[^)]*\), (\d+)", text) for text in texts]
    assert places == [["0", "4", "8", "12"], ["0", "8", "4", "12"]]


# --- 56, 78: stores --------------------------------------------------------------------------------------------------


def rounds(stmt: Stmt, symbol: str) -> int:
    """Return how often ``stmt`` calls ``symbol``."""
    match stmt:
        case For(extent=IntImm(value=extent)):
            return extent * rounds(stmt.body, symbol)
        case SeqStmt():
            return sum(rounds(child, symbol) for child in stmt.stmts)
        case Evaluate(value=Call(args=(StringImm(value=name), *_))):
            return int(name == symbol)
        case AttrStmt() | LetStmt():
            return rounds(stmt.body, symbol)
        case _:
            return 0


@pytest.mark.parametrize(("axis", "stores"), [(0, 1), (1, 4), (2, 16)])
def test_quirk_56_a_store_covers_what_its_axis_holds(axis: int, stores: int) -> None:
    """The pragma on an inner axis means a store for each of its rounds, as in the recorded tutorials."""
    with vta.Environment(DEFAULT) as env:
        a = te.placeholder((4, 4, 1, 16), "int32", "a")
        load = each(lambda v: v, a, name="load")
        out = each(lambda v: v.astype("int8"), load, name="out")
        s = te.create_schedule(out.op)
        s[load].set_scope(env.acc_scope)
        s[load].pragma(s[load].op.axis[0], env.dma_copy)
        s[out].pragma(s[out].op.axis[axis], env.dma_copy)
        func = vta.lower(s, [a, out], name="f").functions["f"]
    assert rounds(func.body, "VTAStoreBuffer2D") == stores


# --- 41, 42, 46: settings, the host in a kernel, capacity ------------------------------------------------------------


def test_quirk_41_lower_keeps_the_settings_of_the_context_around() -> None:
    seen: list[str] = []

    def instrument(name: str, func: object) -> None:
        assert func is not None
        seen.append(name)

    settings = vta.build_config(disabled_pass=["tir.CommonSubexprElimTIR"], config={})
    with vta.Environment(DEFAULT) as env, settings, vta.transform.PassContext(instruments=(instrument,)):
        vta.lower(*threaded_product(env, threads=(1, 1)))
    assert "FoldUopLoop" in seen
    assert "CommonSubexprElimTIR" not in seen


@EACH_CONFIG
@pytest.mark.parametrize("vectors", [False, True])
def test_quirk_42_the_host_works_on_what_the_accelerator_wrote_in_one_kernel(
    config: VTAConfig, *, vectors: bool
) -> None:
    """x + 3 on the accelerator, doubled by the host, + 1 on the accelerator, negated by the host."""
    with vta.Environment(config) as env:
        x = te.placeholder((6, env.BATCH, env.BLOCK_OUT), "int32", "x")
        first = each(lambda v: v, x, "first")
        added = each(lambda v: v + 3, first, "added")
        stored = each(lambda v: v.astype(env.out_dtype), added, "stored")
        doubled = each(lambda v: v.astype("int32") * 2, stored, "doubled")
        again = each(lambda v: v, doubled, "again")
        more = each(lambda v: v + 1, again, "more")
        result = each(lambda v: v.astype(env.out_dtype), more, "result")
        out = each(lambda v: te.const(0, env.out_dtype) - v, result, "out")
        s = te.create_schedule(out.op)
        for stage in (first, added, again, more):
            s[stage].set_scope(env.acc_scope)
        for stage, pragma in (
            (first, env.dma_copy), (added, env.alu), (stored, env.dma_copy),
            (again, env.dma_copy), (more, env.alu), (result, env.dma_copy),
        ):  # fmt: skip
            s[stage].pragma(s[stage].op.axis[0], pragma)
        if vectors:
            for stage in (doubled, out):
                s[stage].vectorize(s[stage].op.axis[2])
            assert "ramp" in str(vta.lower(s, [x, out]))
    values = np.random.default_rng(42).integers(-60, 60, (6, env.BATCH, env.BLOCK_OUT)).astype(np.int32)
    expected = -((values + 3).astype(np.int8).astype(np.int32) * 2 + 1)
    np.testing.assert_array_equal(run_schedule(s, [x, out], [values], config).output, expected.astype(np.int8))


def test_quirk_46_too_much_memory_names_buffer_need_and_limit() -> None:
    with vta.Environment(DEFAULT) as env:
        x = te.placeholder((3000, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "x")
        load = each(lambda v: v, x, "load")
        out = each(lambda v: v.astype(env.out_dtype), load, "out")
        s = te.create_schedule(out.op)
        s[load].set_scope(env.acc_scope)
        for stage in (load, out):
            s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
        with pytest.raises(PassError) as error:
            vta.lower(s, [x, out])
    assert (
        str(error.value)
        .partition(": ")[2]
        .startswith("memory 'local.acc_buffer' is too small for 'load' (3000 elements): expected at most 2048 elements")
    )
