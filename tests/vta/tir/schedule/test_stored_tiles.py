"""compute_at of blocks that hold others: the steps whose tiles are needed, neither fewer nor, where they fit, more."""

from random import Random

import numpy as np
import pytest

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_moving import extents
from vta import te
from vta.arith.simplify import Analyzer
from vta.tir.buffer import decl_buffer
from vta.tir.expr import IntImm, IterKind, IterVar, Range, Var, const
from vta.tir.schedule import BlockScheduleError, Schedule
from vta.tir.schedule.stored_tiles import Tile, stored_tiles
from vta.tir.stmt import Block, BufferStore, For, seq


def test_a_blockized_gemm_moves_to_its_consumer() -> None:
    _, inputs, expected = gemm_relu()
    for rows, columns, tile, steps in (
        (4, 5, (2, 5), [2, 1, 4]),
        (4, 10, (4, 5), [1, 2, 4]),
        (2, 5, (4, 10), [1, 1, 4]),
    ):
        sch = Schedule(gemm_relu()[0])
        i, j, k = sch.get_loops("C")
        (i0, i1), (j0, j1), (k0, k1) = (
            sch.split(i, [None, tile[0]]),
            sch.split(j, [None, tile[1]]),
            sch.split(k, [4, 2]),
        )
        sch.reorder(i0, j0, k0, i1, j1, k1)
        outer = sch.blockize(i1)
        i, j = sch.get_loops("D")
        (i0, i1), (j0, j1) = sch.split(i, [None, rows]), sch.split(j, [None, columns])
        sch.reorder(i0, j0, i1, j1)
        sch.compute_at(outer, j0, preserve_unit_loops=True)
        assert extents(sch, outer.name)[2:] == steps
        check(sch.func, inputs, expected)


def test_tiles_that_lie_across_what_is_needed_are_made_whole() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    _, j = sch.get_loops("Q")
    _, j1 = sch.split(j, [None, 7])
    block = sch.blockize(j1)
    _, j = sch.get_loops("R")
    j0, _ = sch.split(j, [None, 3])
    sch.compute_at(block, j0, preserve_unit_loops=True)  # five neighbours: in two tiles of seven at most
    assert extents(sch, block.name) == [9, 4, 1, 2]
    check(sch.func, inputs, expected)


@pytest.mark.parametrize("seed", range(30))
def test_random_tiles_are_made_where_they_are_needed(seed: int) -> None:
    rng = Random(f"tiles {seed}")
    n, m, reach = rng.randint(3, 20), rng.randint(3, 20), rng.randint(1, 3)
    a = te.placeholder((n, m + reach), name="A", dtype="int32")
    p = te.compute((n, m + reach), lambda i, j: a[i, j] * 3 + i - j, name="P")
    q = te.compute((n, m), lambda i, j: p[i, j] - p[n - 1 - i, j + reach], name="Q")
    sch = Schedule(te.create_prim_func([a, q]))
    i, j = sch.get_loops("P")
    divisors = [[d for d in range(1, size + 1) if size % d == 0] for size in (n, m + reach)]
    _, j1 = sch.split(j, [None, rng.choice(divisors[1])])
    if rng.random() < 0.5:
        i0, i1 = sch.split(i, [None, rng.choice(divisors[0])])
        sch.reorder(i0, sch.get_loops("P")[2], i1, j1)
        block = sch.blockize(i1)
    else:
        block = sch.blockize(j1)
    loops = sch.get_loops("Q")
    j0, _ = sch.split(loops[1], [None, rng.randint(1, m)])
    sch.compute_at(block, rng.choice([loops[0], j0]))
    values = np.random.default_rng(seed).integers(-9, 9, (n, m + reach)).astype(np.int32)
    made = values * 3 + np.arange(n, dtype=np.int32)[:, None] - np.arange(m + reach, dtype=np.int32)
    check(sch.func, [values], made[:, :m] - made[::-1, reach:], compiled=seed % 5 == 0)


def test_steps_are_those_whose_tiles_have_something_of_the_part() -> None:
    """By trying: every tile that meets the part is among the steps, and no step too many where both ends are known."""
    axis = IterVar(Range(const(0), const(50)), Var("t"))
    for size in (1, 2, 3, 5):
        for first, last in ((0, size - 1), (1, size), (-2, size), (0, 0)):
            for begin, extent in ((0, 1), (7, 4), (12, 9)):
                steps = Tile(axis, size, first, last).steps(Range(const(begin), const(extent)), Analyzer())
                assert isinstance(steps.min, IntImm)
                assert isinstance(steps.extent, IntImm)
                meets = [t for t in range(-20, 60) if t * size + first < begin + extent and t * size + last >= begin]
                found = list(range(steps.min.value, steps.min.value + steps.extent.value))
                assert set(meets) <= set(found)
                assert len(found) <= len(meets) or not meets or (size == 1 and first == last)


def block_of(*stores: BufferStore, axes: tuple[IterVar, ...]) -> Block:
    return Block("b", axes, tuple(axis.var for axis in axes), seq(stores))


def test_places_that_do_not_follow_from_one_axis_are_refused() -> None:
    buffer = decl_buffer((16, 16), "int32", "B")
    x, y = (IterVar(Range(const(0), const(4)), Var(name)) for name in "xy")
    r = IterVar(Range(const(0), const(4)), Var("r"), IterKind.COMM_REDUCE)
    sentence = "move: block 'b' must store at one axis for each dimension, each once"
    for stores in (
        [(x.var + y.var, x.var)],
        [(x.var, x.var)],
        [(x.var, y.var), (y.var, x.var)],
        [(x.var, y.var), (x.var, const(0))],
        [(x.var * x.var, y.var)],
        [(3 - x.var, y.var)],
    ):
        made = [BufferStore(buffer, const(0), place) for place in stores]
        with pytest.raises(BlockScheduleError) as error:
            stored_tiles(block_of(*made, axes=(x, y)), buffer, "move")
        assert str(error.value) == sentence
    made = [BufferStore(buffer, const(0), (x.var, r.var))]
    with pytest.raises(BlockScheduleError) as error:
        stored_tiles(block_of(*made, axes=(x, r)), buffer, "move")
    assert str(error.value) == "move: block 'b' stores at an axis that it reduces over"


def test_a_dimension_that_each_step_stores_whole_has_no_tile() -> None:
    buffer = decl_buffer((16, 16), "int32", "B")
    x, k = IterVar(Range(const(0), const(4)), Var("x")), Var("k")
    body = For(k, const(0), const(16), BufferStore(buffer, const(0), (x.var * 4 + 1, k)))
    assert stored_tiles(Block("b", (x,), (x.var,), body), buffer, "move") == [Tile(x, 4, 1, 1), None]
