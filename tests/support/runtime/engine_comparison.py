"""The functional simulator against the reference interpreter: everything that one program shows must be equal."""

from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.instructions import MemoryId
from isa.program import Program
from isa.reference import Reference
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import Statistics, count_instructions
from runtime.sim.code_path import CodePath
from tests.support.runtime.launching import MEMORY_LIMIT, place_program

__all__ = ["first_difference", "run_reference"]

Numbers = npt.NDArray[np.integer[Any]]

_SCRATCHPADS = (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC)


def run_reference(program: Program) -> Reference:
    """Return the reference after the program."""
    reference = Reference(program.config, program.dram())
    reference.run(program)
    return reference


def first_difference(program: Program, code_path: CodePath, expected: Reference) -> str | None:
    """Run a valid ``program`` on the functional simulator; say where it differs from ``expected``, or return None.

    Compared: all of DRAM, the four scratchpads, the counters, and that the order of execution is program order.
    """
    memory = DeviceMemory(MEMORY_LIMIT)
    placed = place_program(memory, program)
    simulator = FunctionalSimulator(program.config, memory, code_path=code_path)
    order: list[int] = []
    simulator.set_trace(lambda event: order.append(event.index))
    launch = simulator.launch(placed.address, placed.count)
    found: dict[str, Numbers] = {memory.name: simulator.scratchpad(memory) for memory in _SCRATCHPADS}
    found["DRAM"] = memory.address_space()[: expected.memory.size]
    wanted: dict[str, Numbers] = {memory.name: getattr(expected, memory.name.lower()) for memory in _SCRATCHPADS}
    wanted["DRAM"] = expected.memory
    for name, numbers in wanted.items():
        wrong = np.argwhere(found[name] != numbers)
        if wrong.size:
            place = tuple(wrong[0].tolist())
            return f"{name}{list(place)} is {found[name][place]}, the reference has {numbers[place]}"
    counters = Statistics(**asdict(expected.counts), instructions=count_instructions(program.instructions), launches=1)
    if launch.statistics != counters:
        return f"counters are {launch.statistics}, the reference has {counters}"
    if order != list(range(placed.count)):
        return f"the order of execution is {order}, a valid program has program order"
    return None
