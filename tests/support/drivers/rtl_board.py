"""The accelerator's AXI top in simulation, as a driver's port, and behind a board's bus."""

from collections.abc import Callable, Mapping

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import MAP_BYTES, control_registers, register
from runtime.drivers.litex_board import BoardFacts, CsrEntry
from tests.support.drivers.word_space import WordSpace
from tests.support.hw.c_board import RtlBoard

__all__ = ["LAUNCHES", "MEMORY_CONTROL", "ORIGIN", "REGISTERS", "RtlPort", "RtlWords", "facts_of"]

REGISTERS, ORIGIN, LAUNCHES, MEMORY_CONTROL = 0x3000_0000, 0x4000_0000, 0xF000_0000, 0xF000_0100

_CYCLES = 400
"""Cycles that pass between two looks at the status."""


def facts_of(
    config: VTAConfig, hardware: HardwareConfig, nbytes: int, *, csr: Mapping[str, CsrEntry] | None = None
) -> BoardFacts:
    """Return what such a board's folder would say; its memory needs no start."""
    return BoardFacts(
        name="the board",
        vta=config,
        hardware=hardware,
        clock=60_000_000,
        ip="192.168.1.50",
        udp_port=1234,
        baud=1_000_000,
        registers=REGISTERS,
        memory={"origin": ORIGIN, "bytes": nbytes},
        links=("etherbone", "uart"),
        csr={"vta_launches": CsrEntry(LAUNCHES, 1), **(csr or {})},
    )


class RtlPort:
    """An ``AcceleratorPort`` right at the simulated top; ``before_status`` is called before each look at the status."""

    name = "the board"

    def __init__(self, config: VTAConfig, hardware: HardwareConfig, nbytes: int, *, base: int = 0x10_0000) -> None:
        self.board = RtlBoard(config, hardware, nbytes, address=base, with_irq=False)
        self.base = base
        self.memory_bytes = nbytes
        self.written = 0
        self.before_status: Callable[[], None] = lambda: None
        self._status = register(control_registers(config, hardware), "status").offset

    def read_register(self, offset: int) -> int:
        if offset == self._status:
            self.before_status()
            self.board.design.step(_CYCLES)
        return self.board.read(offset)

    def sample_register(self, offset: int) -> int:
        return self.read_register(offset)

    def write_register(self, offset: int, value: int) -> None:
        self.board.write(offset, value)

    def strobe_register(self, offset: int) -> None:
        self.board.write(offset, 1)

    def launch(self, offset: int) -> None:
        self.board.write(offset, 1)

    def read_memory(self, offset: int, nbytes: int) -> bytes:
        return self.board.there[offset : offset + nbytes].tobytes()

    def write_memory(self, offset: int, data: bytes) -> None:
        self.written += len(data)
        self.board.there[offset : offset + len(data)] = memoryview(data)

    def close(self) -> None:
        pass


class RtlWords(WordSpace):
    """The same behind the bus of a board of LiteX, which counts launches."""

    def __init__(self, config: VTAConfig, hardware: HardwareConfig, nbytes: int) -> None:
        self.port = RtlPort(config, hardware, nbytes, base=0)
        super().__init__(self.port.board.there, origin=ORIGIN, registers={LAUNCHES: 0, MEMORY_CONTROL: 1})

    def read_register(self, address: int) -> int:
        place = address - REGISTERS
        return self.port.read_register(place) if 0 <= place < MAP_BYTES else super().read_register(address)

    def write_register(self, address: int, value: int) -> None:
        place = address - REGISTERS
        if not 0 <= place < MAP_BYTES:
            super().write_register(address, value)
            return
        self.registers[LAUNCHES] += place == 0
        self.port.write_register(place, value)
