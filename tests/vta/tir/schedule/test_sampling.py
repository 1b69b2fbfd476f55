"""Random choices: legal ones, the same for the same seed, and remembered by the trace."""

from math import prod

import pytest

from tests.support.compiler.block_programs import check, gemm_relu
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.schedule import Schedule
from vta.tir.structural import require_equal


@pytest.mark.parametrize("n", [1, 2, 4])
def test_tiles_divide_the_loop(n: int) -> None:
    sch = Schedule(gemm_relu()[0], seed=3)
    i = sch.get_loops("C")[0]
    found = [sch.sample_perfect_tile(i, n, max_innermost_factor=4) for _ in range(30)]
    assert all(prod(factors) == 12 and len(factors) == n for factors in found)
    assert n == 1 or max(factors[-1] for factors in found) == 4
    sch.seed(3)
    assert [sch.sample_perfect_tile(i, n, max_innermost_factor=4) for _ in range(30)] == found


def test_a_trace_decides_as_before() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func, seed=5)
    i, _, k = sch.get_loops("C")
    factors = sch.sample_perfect_tile(i, 2)
    sch.split(i, factors)
    if sch.sample_categorical([0, 1], [0.0, 1.0]):
        sch.unroll(k)
    sch.enter_postproc()
    check(sch.func, inputs, expected, compiled=False)
    again = Schedule(func, seed=6)
    sch.trace.apply_to_schedule(again)
    require_equal(again.mod, sch.mod)
    assert f"sch.sample_perfect_tile(l0, 2, 16, decision={factors})" in str(sch.trace)
    assert again.trace.as_python() == sch.trace.as_python()


def test_probabilities_count() -> None:
    sch = Schedule(gemm_relu()[0], seed=7)
    drawn = [sch.sample_categorical([4, 8, 16], [0.7, 0.3, 0.0]) for _ in range(200)]
    assert 16 not in drawn
    assert 110 < drawn.count(4) < 170
    assert sch.sample_categorical([4, 8], [1, 0], decision=1) == 8
    assert sch.copy().fork_seed() != sch.fork_seed()


def test_what_is_no_choice_is_refused() -> None:
    sch = Schedule(gemm_relu()[0])
    i = sch.get_loops("C")[0]
    refused(
        "sample_perfect_tile: loop 'i' has 12 iterations, which [2, 5] does not divide into 2 factors",
        lambda: sch.sample_perfect_tile(i, 2, decision=[2, 5]),
    )
    assert sch.sample_perfect_tile(i, 2, decision=[9, 4]) == [3, 4], "of another extent: the first one fits"
    refused(
        "sample_perfect_tile: loop 'i': expected one factor or more, got n=0", lambda: sch.sample_perfect_tile(i, 0)
    )
    refused("sample_categorical: 2 candidates have 1 probabilities", lambda: sch.sample_categorical([1, 2], [1.0]))
    refused(
        "sample_categorical: probabilities are at least 0 and sum to 1, not [0.5, 0.6]",
        lambda: sch.sample_categorical([1, 2], [0.5, 0.6]),
    )
    refused(
        "sample_categorical: 2 is no place among 2 candidates",
        lambda: sch.sample_categorical([1, 2], [0.5, 0.5], decision=2),
    )
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    free = Schedule(te.create_prim_func([a, te.compute((n,), lambda x: a[x] + 1, name="B")]))
    refused(
        "sample_perfect_tile: loop 'x' has n iterations, no constant number",
        lambda: free.sample_perfect_tile(free.get_loops("B")[0], 2),
    )


def test_a_place_to_compute_is_one_that_works() -> None:
    func, inputs, expected = gemm_relu()
    for seed in range(4):
        sch = Schedule(func, seed=seed)
        sch.compute_at("C", sch.sample_compute_location("C"))
        check(sch.func, inputs, expected)
        again = Schedule(func)
        sch.trace.apply_to_schedule(again)
        require_equal(again.mod, sch.mod)
    sch = Schedule(func)
    refused("sample_compute_location: 9 is no place among 2 loops", lambda: sch.sample_compute_location("C", 9))
    refused(
        "sample_compute_location: block 'D' can be computed in no loop that reads it",
        lambda: sch.sample_compute_location("D"),
    )
