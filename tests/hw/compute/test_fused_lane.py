# amaranth: UnusedElaboratable=no
"""A lane with fused steps computes every operation, and two with a shift, every cycle."""

from typing import Any

import numpy as np
import pytest

from hw.compute.fused_lane import FUSED_LATENCY, FusedLane
from hw.errors import ComponentError
from hw.sim import compile_design
from isa.instructions import FUSED, AluOpcode
from tests.support.isa.alu_judge import judge

EXTREMES = [0, 1, -1, 2, 31, 32, 33, -31, -32, -33, 2**31 - 1, -(2**31), 0x55555555, -(2**31) + 1]
COUNTS = [0, 1, 5, 15, 16, 23, 31, 32, 33, 32767, -1, -7, -16, -31, -32, -33, -32768]

Step = tuple[AluOpcode, bool, int, int, int, int]
"""Operation, whether fused, x, y, z, and what is shifted by."""


def _steps(seed: int, count: int) -> list[Step]:
    rng = np.random.default_rng(seed)

    def number() -> int:
        return int(rng.choice(EXTREMES)) if rng.random() < 0.4 else int(rng.integers(-(2**31), 2**31))

    def step() -> Step:
        fused = bool(rng.random() < 0.6)
        opcode = AluOpcode(rng.choice(list(FUSED) if fused else list(AluOpcode)))
        y = int(rng.integers(-40, 41)) if opcode is AluOpcode.SHR and rng.random() < 0.7 else number()
        shift = int(rng.choice(COUNTS)) if rng.random() < 0.7 else int(rng.integers(-(2**15), 2**15))
        return opcode, fused, number(), y, number(), shift

    return [step() for _ in range(count)]


def _expected(step: Step) -> int:
    """Judge each operation of a step by itself: a fused one is three steps, one after the other."""
    opcode, fused, x, y, z, shift = step
    result = judge(opcode, x, y)
    if fused:
        result = judge(AluOpcode.SHR, judge(FUSED[opcode], result, z), shift)
    return result & 0xFFFFFFFF


def _results(lane: FusedLane, steps: list[Step], held: int = 0) -> list[int]:
    design = compile_design(lane)
    design.poke("rst", held)
    results = []
    idle: list[Any] = [steps[-1]] * (FUSED_LATENCY - 1)
    for opcode, fused, x, y, z, shift in (*steps, *idle):
        for name, value in (("opcode", opcode), ("fused", fused), ("x", x), ("y", y), ("z", z), ("count", shift)):
            design.poke(name, int(value))
        design.step()
        results.append(design.peek("result"))
    return results[FUSED_LATENCY - 1 :]


@pytest.mark.parametrize("held", [0, 1])
def test_fused_steps_and_others_follow_each_other_and_give_what_separate_ones_do(held: int) -> None:
    steps = _steps(1, 4000)
    assert _results(FusedLane(), steps, held) == [_expected(step) for step in steps]


@pytest.mark.parametrize(("multipliers", "wide"), [(0, False), (1, True), (2, True)])
def test_products_of_fewer_multipliers_are_the_same(multipliers: int, wide: bool) -> None:
    steps = [step for step in _steps(2, 2000) if step[0] is AluOpcode.MUL]
    assert _results(FusedLane(multipliers=multipliers, wide=wide), steps) == [_expected(step) for step in steps]


def test_a_fused_lane_has_use_for_three_multipliers() -> None:
    with pytest.raises(ComponentError, match=r"^FusedLane has use for 0 to 3 multipliers, not 4$"):
        FusedLane(multipliers=4)
