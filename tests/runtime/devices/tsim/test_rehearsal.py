"""A launch that stores micro-ops for itself, rehearsed: what it executes, and memory as it was."""

import numpy as np
import pytest

from isa.bulk import encode_all
from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.reference import Reference
from isa.text.assembler import assemble
from runtime.devices.tsim.rehearsal import rehearse
from runtime.devices.tsim.stream import Fault, InstructionStream

CONFIG = VTAConfig()
TEXT = """
load.acc sram=0 dram=0x40 x=1 push_next
store sram=0 dram=0x200 x=1 pop_prev push_prev
store sram=0 dram=0x200 x=1
load.uop sram=0 dram=0x800 x=1 pop_next
gemm uop=0:1 reset iter=1,2 dst=0,1
store sram=0 dram=0x2fff0 x=9
finish
"""


def rehearsed(value: int, *, skip: bool = False) -> tuple[list[int], Fault | None]:
    """Rehearse with ``value`` in all numbers that become micro-ops; check that nothing is left of it."""
    program = assemble(TEXT)
    memory = np.zeros(0x10000, np.uint8)
    memory[0x1000:0x1040].view("<i4")[:] = value
    before = memory.copy()
    pads = Reference(CONFIG, memory)
    stream = InstructionStream(encode_all(program.instructions, CONFIG), CONFIG, skip=skip)
    found = rehearse(stream, lambda pad: getattr(pads, pad.name.lower()), memory)
    np.testing.assert_array_equal(memory, before)
    assert not pads.acc.any()
    return found.places.tolist(), found.fault


def test_what_the_loads_bring_decides() -> None:
    outside = "DRAM bytes 0x2fff00 to 0x2fff8f are out of range, memory ends at 0x10000"
    assert rehearsed(0) == ([0, 1, 2, 3, 4], Fault(5, outside))
    too_far = "accumulator index 2048 is out of range, the buffer has 2048 elements"
    assert rehearsed(-1) == ([0, 1, 2, 3], Fault(4, too_far))


def test_skipped_work_fails_nowhere() -> None:
    assert rehearsed(-1, skip=True) == (list(range(7)), None)


@pytest.mark.parametrize("memory", [MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC])
def test_it_begins_with_the_scratchpads_as_they_are(memory: MemoryId) -> None:
    seen = []
    pads = Reference(CONFIG, np.zeros(0x2000, np.uint8))

    def scratchpad(pad: MemoryId) -> np.ndarray:
        seen.append(pad)
        return getattr(pads, pad.name.lower())

    program = assemble("finish")
    rehearse(InstructionStream(encode_all(program.instructions, CONFIG), CONFIG), scratchpad, pads.memory)
    assert memory in seen
