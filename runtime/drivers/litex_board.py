"""A board that was built with ``vta fpga build`` around LiteX: its folder says where everything is.

Tests: ``tests/runtime/drivers/test_litex_board.py``; in simulation: ``tests/integration/test_board_simulation.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.drivers.board_file import Table, configurations, read_json
from runtime.drivers.links import Bus, LinkError
from runtime.memory.device_memory import PAGE_BYTES

__all__ = ["BoardFacts", "CsrEntry", "LiteXPort", "read_board"]

_LAUNCH_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class CsrEntry:
    """Where a register of LiteX is on the bus, and how many words it takes."""

    address: int
    words: int


@dataclass(frozen=True, slots=True)
class BoardFacts:
    """What the folder of a board says: its configurations, the map of its bus, and its ``memory`` (``board.json``)."""

    name: str
    vta: VTAConfig
    hardware: HardwareConfig
    clock: int
    ip: str
    udp_port: int
    baud: int
    registers: int
    memory: Mapping[str, Any]
    links: Sequence[str]
    csr: Mapping[str, CsrEntry]


def read_board(folder: Path) -> BoardFacts:
    """Return what the folder of a board says; ``BoardFileError`` for anything else."""
    facts, bus = read_json(folder / "board.json"), read_json(folder / "csr.json")
    vta, hardware = configurations(facts)
    registers = bus.table("csr_registers")
    entries = {name: registers.table(name) for name in registers}
    return BoardFacts(
        name=facts.typed("board", str),
        vta=vta,
        hardware=hardware,
        clock=facts.typed("clock", int),
        ip=facts.typed("ip", str),
        udp_port=facts.typed("udp_port", int),
        baud=facts.typed("baud", int),
        registers=facts.typed("registers", int),
        memory=facts.table("memory"),
        links=facts.typed("links", list),
        csr=Table(bus.file, {name: _entry(found) for name, found in entries.items()}),
    )


def _entry(found: Table) -> CsrEntry:
    return CsrEntry(found.typed("addr", int), found.typed("size", int))


class LiteXPort:
    """The accelerator of such a board behind a bus. Its memory must have been started (``start_memory``)."""

    def __init__(self, facts: BoardFacts, bus: Bus) -> None:
        self.name = facts.name
        self.base = 0
        self.memory_bytes = int(facts.memory["bytes"]) - PAGE_BYTES  # nothing at the very end: see UartBus
        self._bus = bus
        self._registers = facts.registers
        self._origin = int(facts.memory["origin"])
        self._launches = facts.csr["vta_launches"].address

    def read_register(self, offset: int) -> int:
        """Return a word of the control registers."""
        return int(self._bus.read(self._registers + offset, 1)[0])

    def sample_register(self, offset: int) -> int:
        """Return a word of the control registers that changes while a launch runs."""
        return self._bus.sample(self._registers + offset)

    def write_register(self, offset: int, value: int) -> None:
        """Write a register that reads back what was written."""
        self._bus.write(self._registers + offset, [value])

    def strobe_register(self, offset: int) -> None:
        """Write a one to a register that does not read back; it may be lost."""
        self._bus.strobe(self._registers + offset, 1)

    def launch(self, offset: int) -> None:
        """Begin a launch, exactly once: the board counts the requests, and one that was lost is made again."""
        before = self._launched()
        for _ in range(_LAUNCH_ATTEMPTS):
            self._bus.strobe(self._registers + offset, 1)
            launched = self._launched() - before & 0xFFFF_FFFF
            if launched == 1:
                return
            if launched:
                raise LinkError(
                    f"{self.name}: a launch was begun {launched} times, since its packet came more than once; "
                    "what it stored may be wrong"
                )
        raise LinkError(f"{self.name}: {_LAUNCH_ATTEMPTS} requests to begin a launch did not arrive")

    def _launched(self) -> int:
        return int(self._bus.read(self._launches, 1)[0])

    def read_memory(self, offset: int, nbytes: int) -> bytes:
        """Return bytes of memory."""
        return self._bus.read(self._origin + offset, nbytes // 4).astype("<u4").tobytes()

    def write_memory(self, offset: int, data: bytes) -> None:
        """Write bytes of memory."""
        self._bus.write(self._origin + offset, np.frombuffer(data, "<u4").astype(np.uint32))

    def close(self) -> None:
        """Give the link back."""
        self._bus.close()
