"""The functional simulator (target ``sim``): a whole launch in one call of native code, generated for the
configuration.

Bits, counters and order are those of ``isa.reference``; scratchpads are zero when the simulator is made and keep their
contents from launch to launch. Tests:
``tests/runtime/sim/test_functional_device.py``, ``tests/runtime/sim/test_tokens.py``,
``tests/runtime/sim/test_failures.py``, ``tests/runtime/sim/test_slices.py``.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.encoding import decode
from isa.instructions import MemoryId, Module
from isa.origin import Origin
from isa.tokens import TokenQueue
from runtime.devices.device import (
    Capabilities,
    DeadlockError,
    DeviceDebug,
    DeviceError,
    ExecutionError,
    ModuleHead,
    TraceEvent,
    TraceHook,
)
from runtime.devices.launch_words import read_launch, require_in_memory
from runtime.devices.observed import Beat, ObservedDevice
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import InstructionCounts, LaunchStats, Statistics, count_instructions
from runtime.observe.timeline import TimelineHook, timed
from runtime.sim.arena import Arena
from runtime.sim.build import compile_kernels
from runtime.sim.code_path import CodePath, host_code_path
from runtime.sim.record import BYTE_COUNTERS, COUNTER_NAMES, KIND_NAMES, Status
from runtime.sim.report import awaited_tokens, failure_text, head_of

__all__ = ["FunctionalSimulator"]

_INSTRUCTIONS, _OPERATIONS = 1 << 16, 1 << 22
"""Instructions, and tensor operations, that run without a look at pending signals: some hundredths of a second."""


class FunctionalSimulator(ObservedDevice):
    """A device that runs launches on the host's processor.

    ``code_path`` names the code path (best first: VNNI, AVX2, generic); by default the best that the host has. Raises
    ``runtime.sim.code_path.CodePathError`` if the host cannot run it.
    """

    name = "sim"
    capabilities = Capabilities(scratchpads=True)

    def __init__(self, config: VTAConfig, memory: DeviceMemory, *, code_path: CodePath | None = None) -> None:
        super().__init__()
        self.config = config
        self.memory = memory
        self._kernels = compile_kernels(config, host_code_path() if code_path is None else code_path)
        self._arena = Arena(self._kernels.geometry)
        self._arena.put("dram", memory.base_pointer)
        self._counters = self._arena.record[: len(COUNTER_NAMES)]
        self._totals = np.zeros(len(COUNTER_NAMES), np.uint64)
        self._launches = 0
        self._origins: Sequence[Origin | None] | None = None
        self._executed: list[int] = []
        """Of the launch in progress, if it is timed."""

    @property
    def code_path(self) -> CodePath:
        """The code path in use."""
        return self._kernels.path

    @property
    def stats(self) -> Statistics:
        """Counters since the device was made or cleared; failed launches count what they executed."""
        return _statistics(self._totals + self._counters, self._launches)

    def clear_stats(self) -> None:
        """Set all counters to zero."""
        self._totals[:] = 0
        self._counters[:] = 0
        self._launches = 0

    def debug_mode(self, flag: int) -> None:
        """Set the flags of ``DeviceDebug`` for the launches to come."""
        self._arena.put("skip_execution", int(bool(DeviceDebug(flag) & DeviceDebug.SKIP_EXEC)))

    def scratchpad(self, memory: MemoryId) -> npt.NDArray[np.int32] | npt.NDArray[np.uint32]:
        """Return a copy of a scratchpad as numbers, shaped as in ``isa.reference.Reference``."""
        return self._arena.scratchpad(memory)

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        """Run a launch, as ``Device.launch`` says."""
        if self._timeline is not None:
            self._run_timed(self._timeline, insn_address, insn_count, origins)
        else:
            self._run(insn_address, insn_count, origins)
        return LaunchStats(statistics=_statistics(self._counters, 1))

    def _run(self, insn_address: int, insn_count: int, origins: Sequence[Origin | None] | None) -> None:
        self.start(insn_address, insn_count, origins=origins)
        with self._beating() as beat:
            while not self.advance(_INSTRUCTIONS, beat=beat):
                pass

    def _run_timed(
        self, hook: TimelineHook, insn_address: int, insn_count: int, origins: Sequence[Origin | None] | None
    ) -> None:
        array = read_launch(self.memory, insn_address, insn_count)
        with timed(hook, self.name, self.config, array, origins) as self._executed:
            self._run(insn_address, insn_count, origins)

    def start(self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None) -> None:
        """Fetch a launch without running it; ``advance`` does that, step by step.

        Raises ``DeviceError`` for a range that is not in memory, ``ExecutionError`` for the first illegal word.
        """
        require_in_memory(self.memory, insn_address, insn_count)
        arena = self._arena
        self._totals += self._counters
        self._counters[:] = 0
        self._origins = origins
        arena.reserve(insn_count)
        arena.put("count", insn_count)
        arena.put("dram_end", self.memory.nbytes)
        if self._kernels.fetch(arena.address, self.memory.base_pointer + insn_address) == Status.FAILED:
            arena.put("count", 0)
            raise self._failure()

    def advance(self, count: int = 1, *, beat: Beat | None = None) -> bool:
        """Run at most ``count`` more instructions of the launch that was started; return whether it is done.

        ``beat`` is told how far it is now and then.

        Scratchpads, memory and counters can be looked at in between. Raises ``ExecutionError`` or ``DeadlockError``,
        which end the launch, and ``DeviceError`` if there is none.
        """
        arena = self._arena
        executed, total = arena.get("executed"), arena.get("count")
        if executed == total:
            raise DeviceError("no launch is in progress: start one first")
        arena.put("stop_at", executed + count)
        status = Status.PAUSED
        try:
            # Back in Python now and then, so that an interrupt is seen, in the middle of a long instruction, too.
            while status == Status.PAUSED and arena.get("executed") < min(executed + count, total):
                arena.put("budget", _OPERATIONS)
                status = Status(self._kernels.run(arena.address))
                if beat is not None and status == Status.PAUSED:
                    beat(None, arena.get("executed"), total)
        finally:
            self._report(executed)
        if status == Status.PAUSED:
            return False
        if status == Status.DONE:
            self._launches += 1
            return True
        arena.put("executed", total)
        if status == Status.DEADLOCK:
            raise self._deadlock()
        self._uncount()
        raise self._failure()

    def _report(self, first: int) -> None:
        """Tell who listens of the instructions that ran, from the one that was number ``first``."""
        if self._trace is not None:
            self._report_trace(self._trace, first)
        if self._timeline is not None:
            self._executed.extend(self._arena.order[first : self._arena.get("executed")].tolist())

    def _report_trace(self, hook: TraceHook, first: int) -> None:
        for index in self._arena.order[first : self._arena.get("executed")].tolist():
            word = self._arena.word(index)
            origin = self._origins[index] if self._origins else None
            hook(TraceEvent(index, decode(word, self.config).module, word, origin))

    def _uncount(self) -> None:
        """Take the instruction that failed off the counters of executed instructions."""
        failed = decode(self._arena.word(self._arena.get("index")), self.config)
        kinds = count_instructions([failed]).as_dict()
        self._counters[len(BYTE_COUNTERS) :] -= np.array([kinds[name] for name in KIND_NAMES], np.uint64)

    def _failure(self) -> ExecutionError:
        record = self._arena.fields()
        index = record["index"]
        micro_ops = self._arena.scratchpad(MemoryId.UOP)
        text = failure_text(self.config, record, self._arena.word(index), lambda i: int(micro_ops[i]))
        return ExecutionError(index, text, self._origins[index] if self._origins else None)

    def _deadlock(self) -> DeadlockError:
        record = self._arena.fields()
        heads = []
        for module in Module:
            index = head_of(record, module)
            awaits: tuple[TokenQueue, ...] = ()
            if index is not None:
                awaits = awaited_tokens(self.config, record, self._arena.word(index), module)
            heads.append(ModuleHead(module, index, tuple(queue.ends for queue in awaits)))
        return DeadlockError(heads)


def _statistics(counters: npt.NDArray[np.uint64], launches: int) -> Statistics:
    values = counters.tolist()
    split = len(BYTE_COUNTERS)
    kinds = InstructionCounts(**dict(zip(KIND_NAMES, values[split:], strict=True)))
    upstream = dict(zip(BYTE_COUNTERS, values[:split], strict=True))
    return Statistics(**upstream, instructions=kinds, launches=launches)
