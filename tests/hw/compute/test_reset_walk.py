# amaranth: UnusedElaboratable=no
"""A reset clears exactly the tiles of its loops, four a cycle where a step is odd."""

from typing import Any

import numpy as np
import pytest

from hw.compute.reset_walk import ResetWalk, reset_job_layout
from hw.sim import compile_design
from tests.support.hw.compute_rig import COMPUTE_CONFIGS

CONFIG = COMPUTE_CONFIGS["block4"]


def _clear(job: dict[str, Any], *, grant: float, rng: np.random.Generator) -> tuple[Any, ...]:
    design = compile_design(ResetWalk(CONFIG))
    word = reset_job_layout(CONFIG).const({"tag": 9, **job}).as_bits()
    design.poke("job__payload", int(word))
    design.poke("job__valid", 1)
    assert design.peek("job__ready")
    design.step()
    design.poke("job__valid", 0)
    width = CONFIG.log_acc_depth
    cleared, cycles = [], 0
    while True:
        mask = sum(int(rng.random() < grant) << lane for lane in range(4)) & design.peek("write")
        design.poke("grant", mask)
        addresses = design.peek("address")
        cleared += [(addresses >> (lane * width)) % (1 << width) for lane in range(4) if mask >> lane & 1]
        cycles += 1
        done = design.peek("done")
        design.step()
        if done >> 4:
            assert done & 15 == 9
            assert design.peek("job__ready")
            return sorted(cleared), cycles


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
    assert cycles == 16 * 2 * 3 / 4


@pytest.mark.parametrize("odd", range(3))
def test_four_turns_of_a_loop_with_an_odd_step_are_enough(odd: int) -> None:
    rng = np.random.default_rng(9)
    counts, steps = [2, 2, 2], [20, 40, 70]
    counts[odd], steps[odd] = 4, 3
    job: dict[str, Any] = {"first": 5, "counts": counts, "steps": steps}
    cleared, cycles = _clear(job, grant=1.0, rng=rng)
    assert cleared == _expected(job)
    assert cycles == 2 * 2
