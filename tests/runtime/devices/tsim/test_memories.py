"""The scratchpads of the hardware, read from its netlist: those of the reference after the same program."""

import numpy as np
import pytest

from isa.instructions import MemoryId
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from tests.support.configs import CONFIGS
from tests.support.hw.small_designs import SMALL_DESIGNS
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.engine_comparison import run_reference
from tests.support.runtime.launching import MEMORY_LIMIT, place_program

DESIGNS = {**SMALL_DESIGNS, "default": CONFIGS["default"], "depthwise_int4": ODD_CONFIGS["depthwise_int4"]}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long if "int4" in n else ()) for n in DESIGNS])
def test_the_scratchpads_are_the_references(name: str) -> None:
    for seed in range(3):
        program = random_program(np.random.default_rng([seed, 9]), DESIGNS[name])
        expected = run_reference(program)
        memory = DeviceMemory(MEMORY_LIMIT)
        simulator = RtlSimulator(program.config, memory)
        placed = place_program(memory, program)
        simulator.launch(placed.address, placed.count)
        assert np.array_equal(simulator.scratchpad(MemoryId.UOP), expected.uop)
        assert np.array_equal(simulator.scratchpad(MemoryId.INP), expected.inp)
        assert np.array_equal(simulator.scratchpad(MemoryId.WGT), expected.wgt)
        assert np.array_equal(simulator.scratchpad(MemoryId.ACC), expected.acc)
        assert simulator.scratchpad(MemoryId.INP).dtype == expected.inp.dtype
