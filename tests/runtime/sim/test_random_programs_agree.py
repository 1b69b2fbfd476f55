"""A sample of ``bench/fuzz.py``: random valid programs on the reference and on every code path."""

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.sim.code_path import CodePath
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.engine_comparison import first_difference, run_reference

SEED = 1


def differences(config: VTAConfig, code_path: CodePath, programs: int) -> list[str]:
    found = []
    for index in range(programs):
        program = random_program(np.random.default_rng([SEED, index]), config)
        difference = first_difference(program, code_path, run_reference(program))
        if difference is not None:
            found.append(f"program {index}: {difference}")
    return found


@pytest.mark.parametrize("name", CONFIGS)
def test_random_programs_give_what_the_reference_gives(name: str, code_path: CodePath) -> None:
    assert differences(CONFIGS[name], code_path, 25) == []


@pytest.mark.parametrize("name", ODD_CONFIGS)
def test_random_programs_of_odd_configurations_give_what_the_reference_gives(name: str, code_path: CodePath) -> None:
    assert differences(ODD_CONFIGS[name], code_path, 6) == []
