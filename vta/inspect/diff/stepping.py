"""A program on a device, one instruction at a time in program order, or up to some instruction at once.

A step is a launch of that instruction without its tokens, and FINISH: scratchpads keep their contents from one launch
to the next, so every device can be stepped, the hardware too. Tests: tests/vta/inspect/diff/test_stepping.py.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.bulk import encode_all
from isa.config import VTAConfig
from isa.instructions import NO_DEPS, Finish, Instruction
from isa.program import Program
from runtime.devices.device import Device
from runtime.memory.placement import place_image
from runtime.session import Session
from vta.inspect.diff.state import Space

__all__ = ["Engine", "engine"]


def engine(program: Program, name: str) -> "Engine":
    """Return a fresh engine by its name (``reference``, ``sim``, ``tsim``), with the program's memory in place."""
    return Engine(program, Session(program.config, name).device)


class Engine:
    """A ``program`` on a fresh device. Raises what ``Device.launch`` raises."""

    def __init__(self, program: Program, device: Device) -> None:
        self.program = program
        self.name = device.name
        self._device = device
        self._words = encode_all([_alone(entry) for entry in program.instructions], program.config)
        self._end = encode_all([Finish()], program.config)
        place_image(device.memory, program)
        self._code = device.memory.alloc(max(1, len(program.instructions) + 1) * 16)

    @property
    def config(self) -> VTAConfig:
        """The configuration of the program and the device."""
        return self.program.config

    def step(self, index: int) -> None:
        """Execute instruction ``index`` alone."""
        if isinstance(self.program.instructions[index], Finish):
            return
        self._launch(np.concatenate([self._words[index : index + 1], self._end]), index)

    def run(self, count: int) -> None:
        """Execute the first ``count`` instructions in one launch, overlapping as their tokens allow."""
        ends = count and isinstance(self.program.instructions[count - 1], Finish)
        words = self.program.words[:count]
        self._launch(words if ends else np.concatenate([words, self._end]), 0)

    def contents(self, space: Space) -> npt.NDArray[Any]:
        """Return what a scratchpad or DRAM holds; DRAM as bytes that must not be changed, an index an address."""
        return self._device.memory.address_space() if space is None else self._device.scratchpad(space)

    def _launch(self, words: npt.NDArray[np.uint64], first: int) -> None:
        self._device.memory.write(self._code, 0, words.astype("<u8").tobytes())
        origins = [*self.program.origins[first : first + len(words)], None]
        self._device.launch(self._code.address, len(words), origins=origins[: len(words)])


def _alone(instruction: Instruction) -> Instruction:
    return replace(instruction, deps=NO_DEPS)
