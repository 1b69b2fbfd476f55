"""A sample of ``bench/fuzz.py``: random valid programs on the reference and on every code path."""

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.sim.code_path import Machine
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.engine_comparison import first_difference, run_reference

SEED = 1


def differences(config: VTAConfig, machine: Machine, programs: int) -> list[str]:
    found = []
    for index in range(programs):
        program = random_program(np.random.default_rng([SEED, index]), config)
        difference = first_difference(program, machine, run_reference(program))
        if difference is not None:
            found.append(f"program {index}: {difference}")
    return found


@pytest.mark.parametrize("name", CONFIGS)
def test_random_programs_give_what_the_reference_gives(name: str, machine: Machine) -> None:
    assert differences(CONFIGS[name], machine, 25) == []


@pytest.mark.parametrize("name", ODD_CONFIGS)
def test_random_programs_of_odd_configurations_give_what_the_reference_gives(name: str, machine: Machine) -> None:
    assert differences(ODD_CONFIGS[name], machine, 6) == []
