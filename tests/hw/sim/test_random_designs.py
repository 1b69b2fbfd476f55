"""Random designs of every kind of cell, cycle by cycle against Amaranth's own simulator."""

import pytest

from tests.support.hw.amaranth_trace import assert_same_trace
from tests.support.hw.random_designs import (
    Gated,
    Lanes,
    MemoryMix,
    Queues,
    RandomDesign,
    Registers,
    StateMachine,
    Targets,
)

KINDS: list[tuple[type[RandomDesign], int]] = [
    (Registers, 10),
    (Targets, 10),
    (StateMachine, 8),
    (Queues, 6),
    (MemoryMix, 16),
    (Gated, 6),
    (Lanes, 8),
]


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind, count in KINDS for seed in range(count)])
def test_random_designs_behave_as_in_the_simulator_of_amaranth(kind: type[RandomDesign], seed: int) -> None:
    assert_same_trace(kind(seed=seed), cycles=60, seed=seed, hold=(0.0, 0.7)[seed % 2])
