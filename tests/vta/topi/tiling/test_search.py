from dataclasses import replace

import pytest

from isa.config import VTAConfig
from vta.topi.tiling import (
    Bus,
    Candidate,
    Footprint,
    TilingError,
    Work,
    cheapest,
    copies_in_turn,
    divisors,
    even_parts,
    followed_cycles,
    turning_loop,
)

CONFIG = VTAConfig()


def work(gemm: int) -> Work:
    """Return one tile with so many products."""
    return Work(
        tiles=1, steps=1, tile_copies=1, step_copies=1, load=1, load_instructions=1, gemm=gemm, alu=1, epilogue_load=0,
        store=1, accumulators=1,
    )  # fmt: skip


def test_the_cheapest_candidate_that_fits_is_picked() -> None:
    candidates = [
        Candidate("slow", Footprint(), work(900)),
        Candidate("quick", Footprint(), work(500)),
        Candidate("as quick", Footprint(), work(500)),
        Candidate("too large", Footprint(acc=5000), work(10)),
    ]
    assert cheapest(candidates, CONFIG, "a layer") == "quick"


def test_fewer_steps_are_worth_a_few_cycles_more() -> None:
    cut = replace(work(100), steps=10)
    products = 1000 + followed_cycles(cut, Bus()) - followed_cycles(work(1000), Bus())
    candidates = [
        Candidate("ten steps", Footprint(), cut),
        Candidate("one step", Footprint(), work(products + 5)),
        Candidate("slow", Footprint(), work(9000)),
    ]
    assert cheapest(candidates, CONFIG, "a layer") == "ten steps"
    assert cheapest(candidates, CONFIG, "a layer", tolerance=0.004) == "one step"
    assert cheapest(candidates[:1], CONFIG, "a layer", tolerance=0.004) == "ten steps"


def test_the_candidate_that_comes_closest_says_why_none_fits() -> None:
    candidates = [Candidate(n, Footprint(acc=n, wgt=n), work(1)) for n in (9000, 3000, 5000)]
    with pytest.raises(TilingError) as caught:
        cheapest(candidates, CONFIG, "a layer")
    assert str(caught.value) == (
        "a layer: no tiles fit this configuration: even in the smallest ones the weight buffer would need 3000 "
        "elements and has 1024 (256 bytes each); the accumulator buffer would need 3000 elements and has 2048 "
        "(64 bytes each)"
    )
    with pytest.raises(TilingError) as caught:
        cheapest([], CONFIG, "a layer")
    assert str(caught.value) == (
        "a layer: no tiles fit this configuration: even in the smallest ones there are no candidates"
    )


def test_divisors_and_even_parts() -> None:
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert even_parts(13) == [13, 7, 5, 4, 3, 2, 1]
    assert even_parts(1) == [1]


def test_memory_in_turn_goes_by_the_first_loop_that_divides_or_by_the_longest() -> None:
    assert turning_loop({"i": 4, "j": 6}, 3) == "j"
    assert turning_loop({"i": 4, "j": 6}, 2) == "i"
    assert turning_loop({"i": 4, "j": 7}, 5) == "j"
    assert turning_loop({"i": 4, "j": 7}, 8) is None


def test_incomplete_rounds_are_priced_where_nothing_divides_and_they_are_no_single_iteration() -> None:
    assert copies_in_turn((4, 6), (4, 3, 2, 7, 5, 1)) == (4, 3, 2, 1)
    assert copies_in_turn((1, 17), (4, 3, 2, 7, 5, 1)) == (3, 7, 5, 1)
    assert copies_in_turn((3,), (4, 2, 1)) == (1,)
    assert copies_in_turn((1,), (4, 2, 1)) == (1,)
