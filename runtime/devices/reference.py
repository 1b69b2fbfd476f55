"""Target ``reference``: the device that runs launches through the interpreter that defines the instruction set.

Slow and obvious. Tokens decide which module goes on (always the ready one with the smallest index, so a valid program
runs in program order), and a launch in which none can go on is reported as a deadlock.

Tests: ``tests/runtime/devices/test_device_errors.py``.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.bulk import array_to_words
from isa.config import VTAConfig
from isa.encoding import DecodingError, decode, layout_name
from isa.instructions import Finish, Instruction, MemoryId, Module
from isa.origin import Origin
from isa.reference import Counts, InterpreterError, Reference
from isa.tokens import Deadlock, token_order
from runtime.devices.device import (
    Capabilities,
    DeadlockError,
    DeviceDebug,
    ExecutionError,
    ModuleHead,
    TraceEvent,
)
from runtime.devices.launch_words import read_launch
from runtime.devices.observed import Beat, CountedDevice
from runtime.memory.device_memory import FIRST_ADDRESS, DeviceMemory
from runtime.observe.stats import LaunchStats, Statistics, count_instructions
from runtime.observe.timeline import timed

__all__ = ["ReferenceDevice"]


class ReferenceDevice(CountedDevice):
    """A ``Device`` around ``isa.reference.Reference``; scratchpads keep their contents from launch to launch."""

    name = "reference"
    capabilities = Capabilities(scratchpads=True)

    def __init__(self, config: VTAConfig, memory: DeviceMemory) -> None:
        super().__init__(Statistics())
        self.config = config
        self.memory = memory
        self._machine = Reference(config, memory.address_space(), first_address=FIRST_ADDRESS)

    def debug_mode(self, flag: int) -> None:
        """Set the flags of ``DeviceDebug`` for the launches to come."""
        self._machine.skip_execution = bool(DeviceDebug(flag) & DeviceDebug.SKIP_EXEC)

    def scratchpad(self, memory: MemoryId) -> npt.NDArray[np.int32] | npt.NDArray[np.uint32]:
        """Return a copy of a scratchpad as numbers, shaped as in ``isa.reference.Reference``."""
        machine = self._machine
        match memory:
            case MemoryId.UOP:
                return machine.uop.copy()
            case MemoryId.INP:
                return machine.inp.copy()
            case MemoryId.WGT:
                return machine.wgt.copy()
            case MemoryId.ACC | MemoryId.ACC_8BIT | MemoryId.OUT:
                return machine.acc.copy()
            case _:
                assert_never(memory)

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        """Run a launch, as ``Device.launch`` says."""
        array = read_launch(self.memory, insn_address, insn_count)
        sources = [None] * insn_count if origins is None else origins
        with timed(self._timeline, self.name, self.config, array, origins) as executed, self._beating() as beat:
            return self._run(array, sources, executed, beat)

    def _run(
        self, array: npt.NDArray[np.uint64], sources: Sequence[Origin | None], executed: list[int], beat: Beat
    ) -> LaunchStats:
        """Execute a launch, noting in ``executed`` each instruction that completed."""
        words = array_to_words(array)
        instructions = [self._decode(index, words, sources) for index in range(len(words))]
        self._machine.memory = self.memory.address_space()
        self._machine.counts = Counts()
        order = token_order(instructions)
        try:
            for index in order.executed:
                beat(None, len(executed), len(words))
                self._step(index, instructions[index], sources)
                executed.append(index)
                if self._trace is not None:
                    self._trace(TraceEvent(index, instructions[index].module, words[index], sources[index]))
        finally:  # a launch that fails counts what it executed
            counted = count_instructions([instructions[index] for index in executed])
            done = Statistics(**asdict(self._machine.counts), instructions=counted)
            self._stats = self._stats + done
        if order.deadlock is not None:
            raise DeadlockError(_heads(order.deadlock))
        self._stats = self._stats + Statistics(launches=1)
        return LaunchStats(statistics=replace(done, launches=1))

    def _decode(self, index: int, words: Sequence[int], origins: Sequence[Origin | None]) -> Instruction:
        """Return a legal instruction that stands where it may: FINISH is the last one, and nothing else is."""
        try:
            instruction = decode(words[index], self.config)
        except DecodingError as error:
            raise ExecutionError(index, str(error), origins[index]) from None
        is_last = index == len(words) - 1
        if isinstance(instruction, Finish) and not is_last:
            text = f"FINISH must be the last instruction of a launch, and this one has {len(words)}"
            raise ExecutionError(index, text, origins[index])
        if is_last and not isinstance(instruction, Finish):
            text = f"the last instruction of a launch must be FINISH, not {layout_name(instruction)}"
            raise ExecutionError(index, text, origins[index])
        return instruction

    def _step(self, index: int, instruction: Instruction, origins: Sequence[Origin | None]) -> None:
        try:
            self._machine.step(instruction)
        except InterpreterError as error:
            message = str(error).partition(": ")[2]  # without the index, which a single step does not know
            raise ExecutionError(index, message, origins[index]) from None


def _heads(deadlock: Deadlock) -> list[ModuleHead]:
    """Return the head of each module, those with nothing left included."""
    heads = {module: ModuleHead(module, None) for module in Module}
    for head in deadlock.heads:
        heads[head.module] = ModuleHead(head.module, head.index, tuple(queue.ends for queue in head.awaits))
    return list(heads.values())
