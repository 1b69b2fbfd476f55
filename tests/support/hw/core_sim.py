"""A core in native code with a DRAM: for whole programs and their cycles."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.core import Core
from hw.sim import compile_design
from hw.sim.axi.memory import AxiMemory
from hw.sim.logs.histogram import Histogram
from hw.sim.translate.hooks import Hook
from isa.config import VTAConfig
from isa.machine.causes import Cause
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.program import Program
from isa.reference import Reference
from tests.support.golden.golden import Case
from tests.support.hw.core_rig import program_image

__all__ = ["CoreSim", "Launch", "golden_launches"]

MODULES = ("fetch", "load", "compute", "store")


@dataclass(frozen=True, slots=True)
class Launch:
    """How a launch ended; ``causes`` has, by module, the cycles of each cause."""

    done: bool
    error: ErrorCode
    place: int
    cycles: int
    fetched: int
    started: dict[str, int]
    causes: dict[str, dict[str, int]]


class CoreSim:
    """One core, compiled once; scratchpads and counters live on from launch to launch."""

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig | None = None) -> None:
        self.vta = vta
        self.hardware = HardwareConfig() if hardware is None else hardware
        self.axi = AxiMemory("axi")
        bits = max(Cause).bit_length()
        self.histograms = {name: Histogram(f"{name}_cause", bits=bits, gate="running") for name in MODULES}
        hooks: list[Hook] = [self.axi, *self.histograms.values()]
        self.design = compile_design(Core(vta, self.hardware), hooks=hooks)

    def launch(self, memory: Any, address: int, count: int, *, limit: int = 10_000_000, **timing: Any) -> Launch:
        """Run a launch in ``memory`` (bytes, from address 0 on); ``timing`` is for ``AxiMemory.configure``.

        What has not ended after ``limit`` cycles is given up by the next launch.
        """
        design = self.design
        self.axi.attach(memory)
        self.axi.configure(**timing)
        before = {name: histogram.counts.copy() for name, histogram in self.histograms.items()}
        design.poke("control__insn_address", address)
        design.poke("control__insn_count", count)
        design.poke("control__launch", 1)
        design.step()
        design.poke("control__launch", 0)
        left = limit
        while left > 0 and design.peek("control__busy"):
            design.step(min(left, 200))
            left -= 200
        counts = {name: histogram.counts - before[name] for name, histogram in self.histograms.items()}
        return Launch(
            done=bool(design.peek("control__done")),
            error=ErrorCode(design.peek("control__error")),
            place=design.peek("control__error_place"),
            cycles=design.peek("control__cycles"),
            fetched=design.peek("control__fetched"),
            started={name: design.peek(f"control__{name}_started") for name in MODULES[1:]},
            causes={
                name: {cause.name: int(values[cause]) for cause in Cause if values[cause]}
                for name, values in counts.items()
            },
        )

    def run(self, program: Program, **timing: Any) -> tuple[Launch, Any]:
        """Run a program; return how it ended and its DRAM afterwards."""
        image, address = program_image(program)
        memory = aligned(image)
        launch = self.launch(memory, address, len(program.words), **timing)
        return launch, memory[: len(program.dram())]


def aligned(image: bytes | bytearray) -> Any:
    """Return a writable array with ``image`` in it and some room after it."""
    memory = np.zeros(-(-len(image) // 4096) * 4096 + 8192, np.uint8)
    memory[: len(image)] = np.frombuffer(bytes(image), np.uint8)
    return memory


def golden_launches(case: Case, *, seed: int) -> tuple[Any, list[tuple[int, list[int]]]]:
    """Return DRAM for the case (random data), and the address and words of its launches."""
    record = case.record
    ends = [buffer["phy"] + buffer["bytes"] for buffer in record["buffers"]]
    ends += [launch["insn_phy"] + 16 * len(launch["insns"]) for launch in record["launches"]]
    memory = np.zeros(-(-max(ends) // 4096) * 4096 + 8192, np.uint8)
    memory[:] = np.random.default_rng(seed).integers(0, 256, memory.size, np.uint8)
    launches = []
    for launch in record["launches"]:
        words = [int(entry["hex"], 16) for entry in launch["insns"]]
        put(memory, launch["uop_phy"], b"".join(int(h, 16).to_bytes(4, "little") for h in launch["uop_dram_hex"]))
        put(memory, launch["insn_phy"], b"".join(word.to_bytes(16, "little") for word in words))
        launches.append((launch["insn_phy"], words))
    return memory, launches


def put(memory: Any, address: int, content: bytes) -> None:
    """Copy bytes into memory."""
    memory[address : address + len(content)] = np.frombuffer(content, np.uint8)


def reference_memory(case: Case, memory: Any, launches: list[tuple[int, list[int]]]) -> Any:
    """Return what the reference interpreter leaves in a copy of ``memory``."""
    machine = Reference(case.config, memory.copy())
    for _, words in launches:
        machine.run(words)
    return machine.memory
