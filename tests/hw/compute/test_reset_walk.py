# amaranth: UnusedElaboratable=no
"""A reset clears exactly the tiles of its loops, four a cycle where a step is odd."""

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from hw.compute.reset_walk import ResetWalk, reset_job_layout
from hw.sim import compile_design
from tests.support.hw.accumulator_places import bank, place
from tests.support.hw.compute_rig import COMPUTE_CONFIGS

CONFIG = COMPUTE_CONFIGS["block4"]
KEYS = ("counts", "steps")


@cache
def _compiled() -> Any:
    return compile_design(ResetWalk(CONFIG))


def _design() -> Any:
    """Return the unit as it is at power-on."""
    design = _compiled()
    design.reset()
    return design


def _clear(job: dict[str, Any], *, grant: float, rng: np.random.Generator) -> tuple[Any, ...]:
    design = _design()
    _begin(design, {"tag": 9, **job})
    cleared, cycles = [], 0
    while True:
        free = sum(int(rng.random() < grant) << number for number in range(4))
        design.poke("free", free)
        cleared += _tiles(design, free & design.peek("write"))
        cycles += 1
        done = design.peek("done")
        design.step()
        if done >> 4:
            assert done & 15 == 9
            assert not design.peek("write")
            return sorted(cleared), cycles


def _begin(design: Any, job: dict[str, Any]) -> None:
    """Go to the cycle in which the first tiles of the job are offered."""
    design.poke("free", 0)
    design.poke("job__payload", int(reset_job_layout(CONFIG).const(job).as_bits()))
    design.poke("job__valid", 1)
    assert not design.peek("job__ready")
    design.step()
    assert design.peek("job__ready")
    design.step()
    design.poke("job__valid", 0)
    for _ in range(2):
        assert not design.peek("write")
        design.step()


def _tiles(design: Any, mask: int) -> list[int]:
    """Return the tiles of the banks in ``mask``, in order."""
    width = CONFIG.log_acc_depth
    places = [(design.peek("address") >> number * width) % (1 << width) for number in range(4)]
    assert [bank(at, width) for at in places] == list(range(4))
    return sorted(place(at, width) for number, at in enumerate(places) if mask >> number & 1)


def _due(job: dict[str, Any], loop: int) -> int:
    """Return a cycle for each four turns of ``loop``, or as many as there are of them in one bank."""
    width, cycles = CONFIG.log_acc_depth, 0
    (outer, inner), (first, second) = ([part for at, part in enumerate(job[key]) if at != loop] for key in KEYS)
    for base in (job["first"] + turn * first + other * second for turn in range(outer) for other in range(inner)):
        tiles = [base + turn * job["steps"][loop] for turn in range(job["counts"][loop])]
        banks = [bank(place(tile % (1 << width), width), width) for tile in tiles]
        cycles += sum(max(Counter(banks[at : at + 4]).values()) for at in range(0, len(banks), 4))
    return cycles


def _expected(job: dict[str, Any]) -> Any:
    counts, steps = job["counts"], job["steps"]
    return sorted(
        (job["first"] + u * steps[0] + j * steps[1] + i * steps[2]) % CONFIG.acc_depth
        for u in range(counts[0])
        for j in range(counts[1])
        for i in range(counts[2])
    )


@pytest.mark.parametrize("grant", [1.0, 0.4])
def test_each_tile_of_the_loops_is_cleared_once(grant: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        job: dict[str, Any] = {
            "first": int(rng.integers(CONFIG.acc_depth)),
            "counts": [int(n) for n in rng.integers(1, 10, 3)],
            "steps": [int(n) for n in rng.integers(0, CONFIG.acc_depth, 3)],
        }
        cleared, _ = _clear(job, grant=grant, rng=rng)
        assert cleared == _expected(job)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 2, 0)])
def test_four_tiles_a_cycle_where_some_loop_has_an_odd_step(order: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    counts, steps = [16, 2, 3], [1, 20, 70]
    job: dict[str, Any] = {"first": 5, "counts": [counts[i] for i in order], "steps": [steps[i] for i in order]}
    cleared, cycles = _clear(job, grant=1.0, rng=rng)
    assert cleared == _expected(job)
    assert cycles == _due(job, order.index(0))
    assert 16 * 2 * 3 / 4 <= cycles <= 16 * 2 * 3 / 2


@pytest.mark.parametrize("odd", range(3))
def test_four_turns_of_a_loop_with_an_odd_step_are_enough(odd: int) -> None:
    rng = np.random.default_rng(9)
    counts, steps = [2, 2, 2], [20, 40, 70]
    counts[odd], steps[odd] = 4, 3
    job: dict[str, Any] = {"first": 5, "counts": counts, "steps": steps}
    cleared, cycles = _clear(job, grant=1.0, rng=rng)
    assert cleared == _expected(job)
    assert cycles == _due(job, odd)
    assert 2 * 2 <= cycles <= 2 * 2 * 2


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize("even", [0, 2, 4, 64])
def test_neighbours_of_the_first_loop_with_an_odd_step_are_offered(odd: int, even: int) -> None:
    """Loops with even steps, or of three turns, are not it: their neighbours may lie in one bank."""
    for counts in ((16, 16, 16), (4, 4, 4)):
        steps = [even] * odd + [5] + [7] * (2 - odd)
        assert _first_offered(counts, steps) == [0, 5, 10, 15]
        short = [3] * odd + list(counts[odd:])
        assert _first_offered(short, [7] * odd + [5] + [even] * (2 - odd)) == [0, 5, 10, 15]


def test_without_such_a_loop_the_first_one_is_walked() -> None:
    assert _first_offered([3, 3, 3], [7, 5, 3]) == [0, 7, 14]
    assert _first_offered([5, 5, 5], [2, 4, 6]) == [0, 2]  # 4 and 6 lie in their banks
    assert _first_offered([1, 3, 2], [7, 5, 3]) == [0]


def _first_offered(counts: Any, steps: Any) -> list[int]:
    """Return the tiles of the first cycle."""
    design = _design()
    _begin(design, {"tag": 1, "first": 0, "counts": list(counts), "steps": list(steps)})
    return _tiles(design, design.peek("write"))


def test_the_next_job_is_taken_while_tiles_wait_and_what_is_cleared_is_work() -> None:
    design = _design()
    job = {"tag": 3, "first": 0, "counts": [5, 1, 1], "steps": [1, 1, 1]}
    design.poke("job__payload", int(reset_job_layout(CONFIG).const(job).as_bits()))
    design.poke("job__valid", 1)
    seen = []
    for free in (0, 0b1111, 0, 0, 0b0101, 0, 0b1010, 0, 1, 0, 0b1111, 1, 0):
        design.poke("free", free)
        done = design.peek("done")
        seen.append((*(design.peek(name) for name in ("job__ready", "write", "working")), done if done >> 4 else 0))
        design.step()
    assert seen == [
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (0, 0, 0, 0),
        (0, 0, 0, 0),
        (1, 0b1111, 1, 0),
        (0, 0b1010, 0, 0),
        (0, 0b1010, 1, 0),
        (0, 1, 0, 0),
        (0, 1, 1, 16 + 3),
        (1, 0b1111, 0, 0),
        (0, 0b1111, 1, 0),
        (0, 1, 1, 16 + 3),
        (1, 0b1111, 0, 0),
    ]


def test_as_many_micro_ops_as_there_are_and_as_many_turns_as_an_instruction_has_can_be_cleared() -> None:
    for counts in ([CONFIG.uop_depth, 1, 1], [1, (1 << 14) - 1, 1], [1, 1, (1 << 14) - 1]):
        job: dict[str, Any] = {"first": 4, "counts": counts, "steps": [1, 1, 1]}
        cleared, cycles = _clear(job, grant=1.0, rng=np.random.default_rng(1))
        assert cycles == -(-max(counts) // 4)
        assert cleared == _expected(job)
