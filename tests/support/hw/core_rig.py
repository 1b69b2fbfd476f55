"""A core in Amaranth's own simulator with a DRAM: for small configurations and short programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from hw.core import Core
from isa.config import VTAConfig
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.program import Program
from tests.support.hw.axi_dram import AxiDram

__all__ = ["CoreRig", "Outcome", "memory_after", "program_image"]

_GUARD = 8192


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a launch ended; ``done`` and ``error`` are as in the registers."""

    done: bool
    error: ErrorCode
    place: int
    cycles: int
    counts: dict[str, int]


def program_image(program: Program) -> tuple[bytearray, int]:
    """Return DRAM with the program, its instructions after everything else, and their address."""
    dram = program.dram()
    address = -(-len(dram) // 4096) * 4096
    memory = bytearray(address + 16 * len(program.words) + _GUARD)
    memory[: len(dram)] = dram.tobytes()
    memory[address : address + 16 * len(program.words)] = program.words.astype("<u8").tobytes()
    return memory, address


class CoreRig:
    """One core and its DRAM. Launches run one after the other in one simulation."""

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig, memory: bytearray, **dram: Any) -> None:
        self.core = Core(vta, hardware)
        self.dram = AxiDram(memory, **dram)

    def run(self, launches: Sequence[tuple[int, int]], *, limit: int | Sequence[int] = 5000) -> list[Outcome]:
        """Launch each (address, count) and wait for its end, at most ``limit`` cycles; return how each ended.

        A launch that has not ended by then is given up by the next one.
        """
        limits = [limit] * len(launches) if isinstance(limit, int) else limit
        outcomes: list[Outcome] = []
        control = self.core.control

        async def host(ctx: Any) -> None:
            for (address, count), cycles in zip(launches, limits, strict=True):
                ctx.set(control.insn_address, address)
                ctx.set(control.insn_count, count)
                ctx.set(control.launch, 1)
                await ctx.tick()
                ctx.set(control.launch, 0)
                for _ in range(cycles):
                    await ctx.tick()
                    if not ctx.get(control.busy):
                        break
                outcomes.append(self._outcome(ctx))

        simulator = Simulator(self.core)
        simulator.add_clock(1e-6)
        simulator.add_testbench(host)
        simulator.add_testbench(self.dram.bench(self.core.axi), background=True)
        simulator.run()
        return outcomes

    def _outcome(self, ctx: Any) -> Outcome:
        control = self.core.control
        names = ("read_beats", "write_beats", "fetched", "load_started", "compute_started", "store_started")
        return Outcome(
            done=bool(ctx.get(control.done)),
            error=ErrorCode(ctx.get(control.error)),
            place=ctx.get(control.error_place),
            cycles=ctx.get(control.cycles),
            counts={name: ctx.get(getattr(control, name)) for name in names},
        )


def memory_after(program: Program, memory: bytearray) -> np.ndarray[Any, Any]:
    """Return the part of ``memory`` that the program's own DRAM covers."""
    return np.frombuffer(bytes(memory[: len(program.dram())]), np.uint8)
