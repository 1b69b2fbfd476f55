"""Random programs of the compute module agree with the reference, whatever stalls."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from isa.machine.hardware_config import HardwareConfig
from tests.support.hw.compute_rig import COMPUTE_CONFIGS, EDGE_CONFIGS, ComputeRig, Stalls, random_compute_program
from tests.support.turns import few

SEEDS = few(range(100, 104))


def _random_stalls(rng: np.random.Generator) -> Any:
    return Stalls(
        insn=int(rng.integers(60)),
        tokens=int(rng.integers(80)),
        memory=int(rng.integers(70)),
        store=int(rng.integers(70)),
        latency=int(rng.integers(1, 60)),
    )


DEAR = ("mixed_widths", "in2out4_int4", "one_element_each")
"""Configurations whose sides others have as well."""


def each(names: Iterable[str]) -> list[Any]:
    """Return the names as parameters, the dear ones for the long run."""
    return [pytest.param(name, marks=pytest.mark.long if name in DEAR else ()) for name in names]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", each(COMPUTE_CONFIGS))
def test_random_programs_agree_with_the_reference_under_random_stalls(name: str, seed: int) -> None:
    config = COMPUTE_CONFIGS[name]
    rng = np.random.default_rng(seed)
    program, memory = random_compute_program(rng, config)
    stalls = Stalls() if seed % 4 == 0 else _random_stalls(rng)
    rig = ComputeRig(config, seed=seed, stalls=stalls, memory=memory)
    trace = rig.run(program)
    rig.check()
    assert len(trace.starts) == len(program) + 1
    assert len(trace.g2l) == sum(instruction.deps.push_prev for instruction in program)
    assert len(trace.g2s) == sum(instruction.deps.push_next for instruction in program)


@pytest.mark.parametrize("name", each(EDGE_CONFIGS))
def test_random_programs_agree_at_the_edges_of_what_is_legal(name: Any) -> None:
    config = EDGE_CONFIGS[name]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        program, memory = random_compute_program(rng, config)
        rig = ComputeRig(config, seed=seed, stalls=_random_stalls(rng), memory=memory)
        rig.run(program)
        rig.check()


@pytest.mark.parametrize("data_width", [pytest.param(128, marks=pytest.mark.long), 512])
def test_wide_memory_ports_load_the_same(data_width: Any) -> None:
    config = COMPUTE_CONFIGS["block4"]
    rng = np.random.default_rng(data_width)
    program, memory = random_compute_program(rng, config)
    hardware = HardwareConfig(data_width=data_width)
    rig = ComputeRig(config, seed=1, stalls=_random_stalls(rng), hardware=hardware, memory=memory)
    rig.run(program)
    rig.check()


@pytest.mark.long
@pytest.mark.parametrize("name", COMPUTE_CONFIGS)
def test_many_random_programs_agree_with_the_reference(name: Any) -> None:
    config = COMPUTE_CONFIGS[name]
    for seed in range(1000, 1150):
        rng = np.random.default_rng(seed)
        program, memory = random_compute_program(rng, config)
        rig = ComputeRig(config, seed=seed, stalls=_random_stalls(rng), memory=memory)
        rig.run(program)
        rig.check()
