"""A functional simulator with memory, for tests of single instructions."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Finish, Instruction, Load, MemoryId, MicroOp
from isa.reference import Reference
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import LaunchStats
from runtime.sim.code_path import CodePath
from tests.support.runtime.launching import MEMORY_LIMIT, encode_words, place_array, place_words

__all__ = ["Rig"]


class Rig:
    """Device memory, a simulator on it, and a reference that executes the same instructions on a copy of the memory."""

    def __init__(self, config: VTAConfig, code_path: CodePath) -> None:
        self.config = config
        self.memory = DeviceMemory(MEMORY_LIMIT)
        self.simulator = FunctionalSimulator(config, self.memory, code_path=code_path)
        self.reference = Reference(config, np.zeros(0, np.uint8))

    def array(self, numbers: npt.NDArray[np.generic], memory: MemoryId) -> int:
        """Put ``numbers`` into DRAM; return the dram_base of the first element."""
        address = place_array(self.memory, numbers)
        size = self.config.elem_bytes(memory)
        assert address % size == 0
        return address // size

    def room(self, nbytes: int, memory: MemoryId) -> int:
        """Make room in DRAM; return the dram_base of the first element."""
        return self.memory.alloc(nbytes).address // self.config.elem_bytes(memory)

    def micro_ops(self, micro_ops: Sequence[MicroOp], *, sram_base: int = 0) -> Load:
        """Return the instruction that loads ``micro_ops``."""
        words = np.array([encode_uop(micro_op, self.config) for micro_op in micro_ops], "<u4")
        base = self.array(words, MemoryId.UOP)
        return Load(
            memory=MemoryId.UOP, sram_base=sram_base, dram_base=base, y_size=1, x_size=len(micro_ops), x_stride=1
        )

    def launch(self, *instructions: Instruction) -> LaunchStats:
        """Launch ``instructions`` and FINISH on the simulator alone."""
        placed = place_words(self.memory, encode_words([*instructions, Finish()], self.config))
        return self.simulator.launch(placed.address, placed.count)

    def run(self, *instructions: Instruction) -> LaunchStats:
        """Launch ``instructions`` and FINISH, and require what the reference does with them, to the last bit."""
        self.reference.memory = self.memory.address_space().copy()
        self.reference.run(encode_words([*instructions, Finish()], self.config))
        stats = self.launch(*instructions)
        size = self.reference.memory.size
        np.testing.assert_array_equal(self.memory.address_space()[:size], self.reference.memory)
        np.testing.assert_array_equal(self.acc, self.reference.acc)
        np.testing.assert_array_equal(self.simulator.scratchpad(MemoryId.INP), self.reference.inp)
        np.testing.assert_array_equal(self.simulator.scratchpad(MemoryId.WGT), self.reference.wgt)
        return stats

    @property
    def acc(self) -> npt.NDArray[np.int32]:
        """The accumulator, shape (depth, batch, block_out)."""
        return self.simulator.scratchpad(MemoryId.ACC).astype(np.int32, copy=False)
