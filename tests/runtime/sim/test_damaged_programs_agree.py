"""Damaged programs: both devices say the same, at the same instruction, having counted and written the same."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import MemoryId
from runtime.devices.device import DeadlockError, DeviceError, ExecutionError
from runtime.devices.functional import FunctionalSimulator
from runtime.devices.reference import ReferenceDevice
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import Statistics
from tests.support.configs import CONFIGS
from tests.support.isa.damaged_programs import damaged_program
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.launching import MEMORY_LIMIT, place_program, place_words
from tests.support.turns import few

SEED = 7
ALL = {**CONFIGS, **ODD_CONFIGS}
SCRATCHPADS = (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC)


@dataclass(frozen=True)
class Outcome:
    kind: str
    text: str
    stats: Statistics
    contents: dict[str, np.ndarray]


def run(kind: type[ReferenceDevice] | type[FunctionalSimulator], config: VTAConfig, index: int) -> Outcome:
    program, words, uops = damaged_program(np.random.default_rng([SEED, index]), config)
    memory = DeviceMemory(MEMORY_LIMIT)
    place_program(memory, program)
    if uops:
        memory.view(program.uop_base, 4 * len(uops))[:] = np.array(uops, "<u4").view(np.uint8)
    placed = place_words(memory, words)
    device = kind(config, memory)
    outcome, text = "done", ""
    try:
        device.launch(placed.address, placed.count)
    except (ExecutionError, DeadlockError, DeviceError) as error:
        outcome, text = type(error).__name__, str(error)
    contents = {pad.name: device.scratchpad(pad) for pad in SCRATCHPADS}
    return Outcome(outcome, text, device.stats, {**contents, "DRAM": memory.address_space().copy()})


@pytest.mark.parametrize("name", few(ALL))
def test_damaged_programs_end_alike_on_both_devices(name: str) -> None:
    kinds: Counter[str] = Counter()
    for index in range(60 if name in CONFIGS else 25):
        expected, found = (run(kind, ALL[name], index) for kind in (ReferenceDevice, FunctionalSimulator))
        kinds[expected.kind] += 1
        assert (found.kind, found.text) == (expected.kind, expected.text), index
        assert found.stats == expected.stats, index
        for place, contents in expected.contents.items():
            np.testing.assert_array_equal(found.contents[place], contents, f"{place} of program {index}")
    assert min(kinds["done"], kinds["ExecutionError"]) > 2, kinds
