"""Waveforms of the hardware, compared with what the device reports."""

import io

import numpy as np
import pytest

from hw.sim import SimulatorError
from isa.instructions import MemoryId
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from tests.support.hw.small_designs import SMALL_DESIGNS
from tests.support.hw.vcd_values import read_vcd
from tests.support.isa.random_programs import random_program
from tests.support.runtime.launching import MEMORY_LIMIT, place_program

CONFIG = SMALL_DESIGNS["block4"]
PATTERNS = ["control__*", "*_cause", "running", "compute.window.*"]


def test_a_launch_with_waveforms_does_what_it_does_without() -> None:
    memories = []
    cycles = []
    waves = io.StringIO()
    for file in (None, waves):
        program = random_program(np.random.default_rng(11), CONFIG)
        memory = DeviceMemory(MEMORY_LIMIT)
        device = RtlSimulator(CONFIG, memory)
        placed = place_program(memory, program)
        if file is None:
            device.launch(placed.address, placed.count)
        else:
            with device.waves(file, PATTERNS):
                device.launch(placed.address, placed.count)
        memories.append(memory.address_space().tobytes() + device.scratchpad(MemoryId.ACC).tobytes())
        cycles.append(device.stats.cycles)
    assert memories[0] == memories[1]
    assert cycles[0] == cycles[1]
    values = read_vcd(waves.getvalue().encode(), "top.clk")
    assert sum(values["top.running"]) == cycles[0]
    assert values["top.control__cycles"][-1] == cycles[0]
    assert any(name.startswith("top.compute.window.") for name in values)


def test_scratchpads_live_on_when_waveforms_begin_and_end() -> None:
    memory = DeviceMemory(MEMORY_LIMIT)
    device = RtlSimulator(CONFIG, memory)
    placed = place_program(memory, random_program(np.random.default_rng(12), CONFIG))
    device.launch(placed.address, placed.count)
    before = [device.scratchpad(name).tobytes() for name in (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC)]
    with device.waves(io.StringIO(), PATTERNS):
        inside = [device.scratchpad(n).tobytes() for n in (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC)]
    assert before == inside
    assert device.scratchpad(MemoryId.ACC).tobytes() == before[3]


def test_a_pattern_that_fits_nothing_is_refused_before_anything_is_compiled() -> None:
    device = RtlSimulator(CONFIG, DeviceMemory(MEMORY_LIMIT))
    with pytest.raises(SimulatorError) as caught, device.waves(io.StringIO(), ["compute.windw.*"]):
        pass
    assert str(caught.value).startswith("no signal of the design matches 'compute.windw.*'; did you mean 'compute.")
