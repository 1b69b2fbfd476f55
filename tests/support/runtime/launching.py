"""Programs and words put into device memory, for tests that launch them on a device."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.bulk import words_to_array
from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Instruction
from isa.program import Program
from runtime.memory.device_memory import FIRST_ADDRESS, DeviceMemory

__all__ = ["MEMORY_LIMIT", "Placed", "encode_words", "place_array", "place_program", "place_words"]

MEMORY_LIMIT = 1 << 26
"""Enough for every program of the tests."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Instruction words in device memory."""

    address: int
    count: int


def encode_words(instructions: Sequence[Instruction], config: VTAConfig) -> list[int]:
    """Return the words of ``instructions``."""
    return [encode(instruction, config) for instruction in instructions]


def place_array(memory: DeviceMemory, array: npt.NDArray[np.generic]) -> int:
    """Allocate room for ``array``, copy it there, return its address."""
    raw = np.frombuffer(array.tobytes(), np.uint8)
    block = memory.alloc(max(1, raw.size))
    memory.view(block.address, raw.size)[:] = raw
    return block.address


def place_words(memory: DeviceMemory, words: Sequence[int]) -> Placed:
    """Put instruction words into a block of their own."""
    return Placed(place_array(memory, words_to_array(words)), len(words))


def place_program(memory: DeviceMemory, program: Program) -> Placed:
    """Put the image of a program where it belongs in a fresh ``memory``, and its words after it."""
    image = program.dram(at_least=FIRST_ADDRESS + 1)
    block = memory.alloc(image.size - FIRST_ADDRESS)
    assert block.address == FIRST_ADDRESS, "the memory is fresh"
    memory.view(block.address, block.nbytes)[:] = image[FIRST_ADDRESS:]
    return Placed(place_array(memory, program.words), len(program.instructions))
