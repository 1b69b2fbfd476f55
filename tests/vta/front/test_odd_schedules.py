"""Schedules that are legal and that nobody would write: what they compute is right all the same."""

import numpy as np
import pytest

import vta
from tests.support.compiler.run_schedule import run_schedule
from vta import te

ENV = vta.get_env()
SHAPE = (6, 4, 1, 16)
VALUES = np.random.default_rng(0).integers(-100, 100, SHAPE).astype(np.int32)


def _increment() -> tuple[te.Schedule, list[te.Tensor], list[te.Tensor]]:
    """Return the schedule of (A + 1) as int8 with its scopes, the arguments, and the three stages."""
    a = te.placeholder(SHAPE, "int32", "A")
    loaded = te.compute(SHAPE, lambda *i: a(*i), "A_buf")
    more = te.compute(SHAPE, lambda *i: loaded(*i) + 1, "B")
    result = te.compute(SHAPE, lambda *i: more(*i).astype("int8"), "C")
    s = te.create_schedule(result.op)
    s[loaded].set_scope(ENV.acc_scope)
    s[more].set_scope(ENV.acc_scope)
    return s, [a, result], [loaded, more, result]


@pytest.mark.parametrize("tag", ["cthread", "vthread", "rotate"])
@pytest.mark.parametrize("threaded", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_pragma_may_stand_around_the_threads_of_its_stage(threaded: tuple[int, ...], tag: str) -> None:
    s, args, stages = _increment()
    for i, (stage, pragma) in enumerate(zip(stages, (ENV.dma_copy, ENV.alu, ENV.dma_copy), strict=True)):
        axis = stage.op.axis[0]
        if i in threaded:
            axis, _ = s[stage].split(axis, nparts=3)
            s[stage].bind(axis, te.thread_axis(tag))
        s[stage].pragma(axis, pragma)
    np.testing.assert_array_equal(run_schedule(s, args, [VALUES], ENV.config).output, (VALUES + 1).astype(np.int8))


@pytest.mark.parametrize("factor", [2, 4, 5, 7])
@pytest.mark.parametrize("tag", [None, "cthread", "rotate"])
def test_tiles_of_a_fused_axis_may_turn_from_one_row_to_the_next(tag: str | None, factor: int) -> None:
    s, args, (loaded, more, result) = _increment()
    rows, columns = result.op.axis[:2]
    s[result].reorder(columns, rows)
    fused = s[result].fuse(columns, rows)
    outer, inner = s[result].split(fused, factor=factor)
    if tag is not None:
        outer, turn = s[result].split(outer, factor=2)
        s[result].bind(turn, te.thread_axis(tag))
    s[more].compute_at(s[result], outer)
    s[loaded].compute_at(s[result], outer)
    s[loaded].pragma(loaded.op.axis[0], ENV.dma_copy)
    s[more].pragma(more.op.axis[0], ENV.alu)
    s[result].pragma(inner, ENV.dma_copy)
    np.testing.assert_array_equal(run_schedule(s, args, [VALUES], ENV.config).output, (VALUES + 1).astype(np.int8))


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("tag", [None, "cthread", "rotate"])
def test_a_reduction_in_tiles_that_do_not_divide_reads_an_operand_that_was_loaded_whole(
    tag: str | None, factor: int
) -> None:
    a = te.placeholder(SHAPE, "int32", "A")
    loaded = te.compute(SHAPE, lambda *i: a(*i), "A_buf")
    along = te.reduce_axis((0, SHAPE[1]), "along")
    largest = te.compute((6, 1, 16), lambda i, b, c: te.max(loaded(i, along.var, b, c) >> 1, axis=[along]), "largest")
    result = te.compute((6, 1, 16), lambda *i: largest(*i).astype("int8"), "result")
    s = te.create_schedule(result.op)
    s[loaded].set_scope(ENV.acc_scope)
    s[largest].set_scope(ENV.acc_scope)
    outer, inner = s[result].split(result.op.axis[0], factor=factor)
    if tag is not None:
        outer, turn = s[result].split(outer, factor=2)
        s[result].bind(turn, te.thread_axis(tag))
    s[largest].compute_at(s[result], outer)
    whole = s[largest].fuse()
    parts = s[largest].split(along, factor=3)
    row, *lanes = largest.op.axis
    s[largest].reorder(whole, row, *parts, *lanes)
    s[loaded].pragma(loaded.op.axis[0], ENV.dma_copy)
    s[largest].pragma(whole, ENV.alu)
    s[result].pragma(inner, ENV.dma_copy)
    expected = (VALUES >> 1).max(axis=1).astype(np.int8)
    np.testing.assert_array_equal(run_schedule(s, [a, result], [VALUES], ENV.config).output, expected)
