"""Loops of definitions: where operands are loaded, how sums are cut, in which order loops run."""

from dataclasses import replace

import vta
from tests.support.tuning import definitions as d
from vta import te
from vta.auto_scheduler.nest import Kernel, Level, Nest
from vta.auto_scheduler.nest_tiles import NestTiles
from vta.auto_scheduler.parts import parts_of


def nest_of(tensors: list[te.Tensor]) -> Nest:
    env = vta.get_env()
    return Nest(parts_of(tensors[-1], env), env)


def test_operands_are_loaded_in_steps_for_tiles_or_for_many_of_these() -> None:
    nest = nest_of(d.two_products())
    tiles = NestTiles((1, 1, 4, 4), ((1, 3, 3),) * 2, 1, (1, 1))
    assert nest.has_shared
    assert [(load.tensor.name, load.level, load.readers) for load in nest.loads(tiles)] == [
        ("PadInput", Level.STEP, (0,)),
        ("PadInput", Level.STEP, (1,)),
        ("kernel", Level.STEP, (0,)),
        ("other", Level.STEP, (1,)),
    ]
    shared, *_ = nest.loads(replace(tiles, shared=True))
    assert (shared.level, shared.readers, shared.is_data) == (Level.TILE, (0, 1), True)
    nest = nest_of(d.gated(2, 6, 5, 2))
    assert nest.residents == ((2, 3), (1,))
    levels = [load.level for load in nest.loads(NestTiles((1, 1, 6, 5), tiles.steps, 1, (1, 1), (1,)))]
    assert levels == [Level.STEP, Level.RESIDENT, Level.STEP, Level.RESIDENT]
    assert not nest.has_shared


def test_sums_are_cut_from_the_outside_and_a_product_without_outer_sums_is_one_step() -> None:
    nest = nest_of(d.convolution(4, 5, 3))
    assert nest.step_choices(nest.parts.products[0]) == [
        (4, 3, 3), (2, 3, 3), (1, 3, 3), (1, 1, 3), (1, 1, 1),
    ]  # fmt: skip
    assert nest.step_trips(0, NestTiles((1, 1, 1, 1), ((2, 3, 3),))) == (2, 1, 1)
    nest = nest_of(d.dense(2, 1, 3))
    assert nest.step_choices(nest.parts.products[0]) == [(1,)]


def test_loops_around_tiles_begin_with_those_of_what_is_resident() -> None:
    nest = nest_of(d.convolution(4, 6, 4))
    tiles = NestTiles((1, 2, 3, 6), ((4, 3, 3),))
    assert (nest.order(tiles), nest.turning(tiles), nest.trips(tiles)) == ([0, 2, 1, 3], [3, 1, 2, 0], (1, 2, 2, 1))
    tiles = replace(tiles, resident=(1,))
    assert (nest.order(tiles), nest.turning(tiles)) == ([1, 0, 2, 3], [3, 2, 0])


def test_micro_ops_go_through_neighbours_and_instructions_through_the_longest_loops() -> None:
    nest = nest_of(d.convolution(4, 56, 8))
    assert nest.kernel(0, NestTiles((1, 2, 14, 56), ((4, 3, 3),))) == Kernel(3, 56, (2, 4, 1, 0, 3), (5, 6), 2 * 9 * 56)
    assert nest.kernel(0, NestTiles((1, 8, 14, 1), ((1, 3, 3),))) == Kernel(2, 14, (1, 0, 3, 2, 4), (5, 6), 9 * 14)


def test_tiles_of_gemm_divide_and_others_need_not() -> None:
    assert nest_of(d.convolution(1, 6, 2)).sides(2) == [1, 2, 3, 6]
    assert nest_of(d.pool_with_residual(1, 5)).sides(2) == [1, 2, 3, 5]


def test_windows_that_something_else_reads_stay() -> None:
    nest = nest_of(d.pool_with_residual(1, 4))
    assert {tensor.name for tensor in nest.in_place} == {"pool"}
    data, _, result = d.pool_with_residual(1, 4)
    del data
    pool = nest.parts.stages[0]
    [wide] = pool.op.input_tensors
    both = te.compute(pool.shape, lambda *i: pool(*i) + wide(*i), name="both")
    output = te.compute(pool.shape, lambda *i: both(*i).astype(result.dtype), name="stored")
    assert not nest_of([output]).in_place
