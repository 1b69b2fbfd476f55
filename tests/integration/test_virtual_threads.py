"""Virtual threads of every kind over loads, ALU stages, stores, temporaries in DRAM and host stages, against numpy."""

import numpy as np
import pytest

import vta
from tests.support.compiler.run_schedule import run_schedule
from tests.support.configs import CONFIGS
from vta import te

TAGS = pytest.mark.parametrize("tag", ["vthread", "cthread", "rotate"])
ROWS = 24


def low8(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int8)


def values_for(env: vta.Environment, rows: int = ROWS) -> np.ndarray:
    shape = (rows, env.BATCH, env.BLOCK_OUT)
    return np.random.default_rng(5).integers(-60, 61, size=shape).astype(np.int32)


@TAGS
@pytest.mark.parametrize(("rows", "parts"), [(64, 64), (64, 2), (128, 64), (61, 8), (3, 3), (5, 1)])
def test_br_068_an_elementwise_stage_on_up_to_sixty_four_threads(tag: str, rows: int, parts: int) -> None:
    env = vta.Environment(CONFIGS["default"])
    shape = (rows, env.BATCH, env.BLOCK_OUT)
    x = te.placeholder(shape, name="x", dtype=env.acc_dtype)
    loaded = te.compute(shape, lambda *i: x(*i), "loaded")
    added = te.compute(shape, lambda *i: loaded(*i) + 3, "added")
    out = te.compute(shape, lambda *i: added(*i).astype(env.out_dtype), "out")
    s = te.create_schedule(out.op)
    part, rest = s[out].split(out.op.axis[0], nparts=parts)
    s[out].bind(part, te.thread_axis(tag))
    for stage, pragma in ((loaded, env.dma_copy), (added, env.alu)):
        s[stage].set_scope(env.acc_scope)
        s[stage].compute_at(s[out], part)
        s[stage].pragma(s[stage].op.axis[0], pragma)
    s[out].pragma(rest, env.dma_copy)
    values = values_for(env, rows)
    np.testing.assert_array_equal(run_schedule(s, [x, out], [values], env.config).output, low8(values + 3))


@TAGS
@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("host", [False, True], ids=["accelerator", "host"])
@pytest.mark.parametrize("name", ["default", "b2k16"])
def test_every_thread_has_its_own_temporary_in_dram(tag: str, parts: int, host: bool, name: str) -> None:
    """x + 3 is stored to DRAM, doubled by the host or not, loaded again, doubled: all inside one thread's part."""
    env = vta.Environment(CONFIGS[name])
    shape = (ROWS, env.BATCH, env.BLOCK_OUT)
    x = te.placeholder(shape, name="x", dtype=env.acc_dtype)
    loaded = te.compute(shape, lambda *i: x(*i), "loaded")
    added = te.compute(shape, lambda *i: loaded(*i) + 3, "added")
    stored = te.compute(shape, lambda *i: added(*i).astype(env.out_dtype), "stored")
    again = te.compute(shape, lambda *i: stored(*i) * te.const(2, env.out_dtype), "again") if host else stored
    reloaded = te.compute(shape, lambda *i: again(*i).astype(env.acc_dtype), "reloaded")
    doubled = te.compute(shape, lambda *i: reloaded(*i) * 2, "doubled")
    out = te.compute(shape, lambda *i: doubled(*i).astype(env.out_dtype), "out")
    s = te.create_schedule(out.op)
    part, rest = s[out].split(out.op.axis[0], nparts=parts)
    s[out].bind(part, te.thread_axis(tag))
    for stage in (loaded, added, stored, again, reloaded, doubled):
        s[stage].compute_at(s[out], part)
    for stage in (loaded, added, reloaded, doubled):
        s[stage].set_scope(env.acc_scope)
    for stage in (loaded, stored, reloaded):
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    for stage in (added, doubled):
        s[stage].pragma(s[stage].op.axis[0], env.alu)
    s[out].pragma(rest, env.dma_copy)
    values = values_for(env)
    first = low8(values + 3)
    expected = low8((low8(first * 2) if host else first) * 2)
    np.testing.assert_array_equal(run_schedule(s, [x, out], [values], env.config).output, expected)


@TAGS
@pytest.mark.parametrize("host", [False, True], ids=["accelerator", "host"])
@pytest.mark.parametrize("outer", [1, 3])
@pytest.mark.parametrize("name", ["default", "in16out32"])
def test_threads_wait_for_what_comes_before_and_are_waited_for(tag: str, host: bool, outer: int, name: str) -> None:
    """Threads inside of a loop load what was stored (and changed by the host) outside of them, round after round."""
    env = vta.Environment(CONFIGS[name])
    shape = (ROWS, env.BATCH, env.BLOCK_OUT)
    x = te.placeholder(shape, name="x", dtype=env.acc_dtype)
    loaded = te.compute(shape, lambda *i: x(*i), "loaded")
    stored = te.compute(shape, lambda *i: loaded(*i).astype(env.out_dtype), "stored")
    again = te.compute(shape, lambda *i: stored(*i) + te.const(1, env.out_dtype), "again") if host else stored
    reloaded = te.compute(shape, lambda *i: again(*i).astype(env.acc_dtype), "reloaded")
    out = te.compute(shape, lambda *i: reloaded(*i).astype(env.out_dtype), "out")
    s = te.create_schedule(out.op)
    block, rest = s[out].split(out.op.axis[0], nparts=outer)
    part, rest = s[out].split(rest, nparts=4)
    s[out].bind(part, te.thread_axis(tag))
    for stage in (stored, again):
        s[stage].compute_at(s[out], block)
    s[reloaded].compute_at(s[out], part)
    for stage in (loaded, reloaded):
        s[stage].set_scope(env.acc_scope)
    for stage in (loaded, stored, reloaded):
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    s[out].pragma(rest, env.dma_copy)
    values = values_for(env)
    outcome = run_schedule(s, [x, out], [values], env.config)
    np.testing.assert_array_equal(outcome.output, low8(values + int(host)))
