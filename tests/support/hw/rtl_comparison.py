"""The hardware simulator against the reference interpreter: memory and counters must be equal, whatever memory does."""

from dataclasses import asdict, replace

import numpy as np

from isa.machine.hardware_config import HardwareConfig
from isa.program import Program
from isa.reference import Reference
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import LaunchStats, Statistics, count_instructions
from tests.support.runtime.launching import MEMORY_LIMIT, place_program

__all__ = ["account_error", "rtl_difference"]


def rtl_difference(
    program: Program,
    expected: Reference,
    *,
    latency: int,
    stall_seed: int | None,
    hardware: HardwareConfig | None = None,
) -> str | None:
    """Run a valid ``program``; say where it differs from ``expected``, or return None.

    Compared: all of DRAM, the counters, and that every module accounts for every cycle.
    """
    memory = DeviceMemory(MEMORY_LIMIT)
    placed = place_program(memory, program)
    simulator = RtlSimulator(program.config, memory, hardware=hardware, latency=latency, stall_seed=stall_seed)
    launch = simulator.launch(placed.address, placed.count)
    found = memory.address_space()[: expected.memory.size]
    wrong = np.flatnonzero(found != expected.memory)
    if wrong.size:
        at = wrong[0]
        return f"DRAM byte {at:#x} is {found[at]}, the reference has {expected.memory[at]} ({wrong.size} bytes differ)"
    counters = Statistics(**asdict(expected.counts), instructions=count_instructions(program.instructions), launches=1)
    if replace(launch.statistics, cycles=None, account=None) != counters:
        return f"counters are {launch.statistics}, the reference has {counters}"
    return account_error(launch)


def account_error(launch: LaunchStats) -> str | None:
    """Return what is wrong with the account of a launch, or None."""
    assert launch.account is not None
    for module in launch.account.modules:
        if launch.account.total(module) != launch.cycles:
            return f"{module} accounts for {launch.account.total(module)} of {launch.cycles} cycles"
    return None
