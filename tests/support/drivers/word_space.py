"""The bus of a board as an address space of words, with memory, registers of LiteX, and an accelerator."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

__all__ = ["WordSpace"]


class WordSpace:
    """Words at byte addresses: ``memory`` (bytes) at ``origin``, and registers that keep what is written to them.

    A subclass gives registers a meaning. ``strays`` has addresses of writes that hit nothing.
    """

    def __init__(self, memory: npt.NDArray[np.uint8], *, origin: int, registers: Mapping[int, int]) -> None:
        self.memory = memory
        self.origin = origin
        self.registers = dict(registers)
        self.strays: list[int] = []

    def read(self, address: int) -> int:
        """Return a word; what is not there reads as ones."""
        place = address - self.origin
        if 0 <= place < len(self.memory):
            return int(self.memory[place : place + 4].view("<u4")[0])
        return self.read_register(address)

    def write(self, address: int, value: int) -> None:
        """Write a word."""
        place = address - self.origin
        if 0 <= place < len(self.memory):
            self.memory[place : place + 4].view("<u4")[0] = value
        else:
            self.write_register(address, value)

    def read_register(self, address: int) -> int:
        return self.registers.get(address, 0xFFFF_FFFF)

    def write_register(self, address: int, value: int) -> None:
        if address in self.registers:
            self.registers[address] = value
        else:
            self.strays.append(address)
