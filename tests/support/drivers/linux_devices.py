"""Files in place of a UIO device and of u-dma-buf, and the accelerator's registers in simulation behind a mapping."""

import mmap
from pathlib import Path

import numpy as np

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import control_registers, register
from tests.support.hw.c_board import RtlBoard

__all__ = ["LinuxDevices", "RegisterWindow"]


class LinuxDevices:
    """``uio`` and ``dma`` as files of the right size, ``facts`` as the folder in which u-dma-buf tells of itself."""

    def __init__(self, folder: Path, *, nbytes: int, base: int) -> None:
        self.uio, self.dma, self.facts = folder / "uio0", folder / "udmabuf-vta", folder / "class"
        self.base = base
        self.uio.write_bytes(bytes(mmap.PAGESIZE))
        self.dma.write_bytes(bytes(nbytes))
        self.facts.mkdir()
        (self.facts / "phys_addr").write_text(f"{base:#x}\n")
        (self.facts / "size").write_text(f"{nbytes}\n")


class RegisterWindow:
    """Words of the registers of a simulated accelerator whose memory is the file of u-dma-buf, mapped once more."""

    def __init__(self, config: VTAConfig, hardware: HardwareConfig, linux: LinuxDevices) -> None:
        with linux.dma.open("r+b") as file:
            self._mapping = mmap.mmap(file.fileno(), 0)
        there = np.frombuffer(self._mapping, np.uint8)
        self._board = RtlBoard(config, hardware, len(there), address=linux.base, with_irq=False)
        self._board.axi.attach(there, address=linux.base)
        self._status = register(control_registers(config, hardware), "status").offset // 4

    def __getitem__(self, word: int) -> int:
        if word == self._status:
            self._board.design.step(400)
        return self._board.read(4 * word)

    def __setitem__(self, word: int, value: int) -> None:
        self._board.write(4 * word, value)
