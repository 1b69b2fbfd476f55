"""A board whose accelerator is the functional simulator: its control registers as a driver sees them, memory coherent.

The simulator has no base registers; so the addresses in the words are moved before it runs them.
"""

import numpy as np
import numpy.typing as npt

from isa.bulk import decode_fields
from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.layout import instruction_layouts
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import control_registers
from runtime.session import Session
from tests.support.hw.c_board import READ, WRITE, Board, BoardCalls

__all__ = ["FunctionalBoard"]


class FunctionalBoard(BoardCalls):
    """Registers in a table; a write of ``launch`` runs the program at once.

    What ``statuses`` says is read before the real status, as of an accelerator that is busy or has failed.
    """

    def __init__(self, config: VTAConfig, nbytes: int, *, skew: int = 0) -> None:
        self.config = config
        self.session = Session(config, "sim")
        self.block = self.session.memory.alloc(nbytes + 4096)
        self.words = self.session.memory.alloc(1 << 20)
        registers = control_registers(config, HardwareConfig(addr_width=64))
        self.at = {entry.name: entry.offset for entry in registers}
        self.values = {entry.offset + 4 * n: entry.value >> 32 * n & 0xFFFFFFFF for entry in registers for n in (0, 1)}
        self.statuses: list[int] = []
        self.written: list[tuple[int, int]] = []
        self._callbacks = (READ(lambda _, offset: self.read(offset)), WRITE(lambda _, *what: self.write(*what)))
        address = self.block.address + skew
        view = self.session.memory.view(address, nbytes)
        read, write = self._callbacks
        self.board = Board(read=read, write=write, memory=view.ctypes.data, address=address, memory_bytes=nbytes)

    def read(self, offset: int) -> int:
        """Return a register."""
        if offset == self.at["status"] and self.statuses:
            return self.statuses.pop(0)
        return self.values.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """Write a register."""
        self.written.append((offset, value))
        if offset == self.at["launch"]:
            self._launch()
        elif offset not in (self.at["abort"], self.at["irq_pending"]):
            self.values[offset] = value

    def _value(self, name: str) -> int:
        return self.values[self.at[name]] | self.values[self.at[name] + 4] << 32

    def _launch(self) -> None:
        count = self.values[self.at["insn_count"]]
        words = self.session.memory.view(self._value("insn_address"), 16 * count).copy().view("<u8").reshape(-1, 2)
        moved = self.session.memory.view(self.words.address, 16 * count).view("<u8").reshape(-1, 2)
        moved[:] = self._moved(words)
        stats = self.session.device.launch(self.words.address, count)
        assert stats is not None
        self.values[self.at["status"]] = 2
        self.values[self.at["cycles"]] = count

    def _moved(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Add the base registers to the addresses of what moves data."""
        layout = instruction_layouts(self.config)["LOAD"]
        shift = np.uint64(layout.offsets[layout.fields.index(layout.field("dram_base"))])
        result = words.copy()
        for name in ("LOAD", "STORE"):
            table = decode_fields(words, self.config).get(name)
            for index, memory in zip(table.index, table.columns["memory"].tolist(), strict=True) if table else ():
                name_of = "ACC" if memory == MemoryId.ACC_8BIT else MemoryId(memory).name
                base = self._value(f"{name_of.lower()}_base") // self.config.elem_bytes(MemoryId(memory))
                if table.columns["y_size"][table.index == index] and table.columns["x_size"][table.index == index]:
                    result[index, 0] += np.uint64(base) << shift
        return result
