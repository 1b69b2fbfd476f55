"""Target ``tsim``: the hardware itself, cycle by cycle in native code, with a memory that has a latency.

The design of ``hw.core`` is compiled once for each pair of configurations and kept in the user's cache. A launch goes
through the core's control as a driver's does; its cycles, and what each module spent them on, are counted beside it.
Tests: ``tests/runtime/test_rtl_*.py``, ``tests/runtime/observe/test_timeline.py``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO, assert_never

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.encoding import DecodingError, decode
from isa.instructions import MemoryId, Module
from isa.machine.hardware_config import HardwareConfig
from isa.origin import Origin
from runtime.devices.device import (
    DEFAULT_LATENCY,
    Capabilities,
    DeadlockError,
    DeviceDebug,
    DeviceError,
    ExecutionError,
    HardwareSetup,
    TraceEvent,
    TraceHook,
)
from runtime.devices.launch_words import read_launch
from runtime.devices.observed import CountedDevice
from runtime.devices.tsim.core import CoreRun, RtlCore
from runtime.devices.tsim.stream import Fault, InstructionStream
from runtime.devices.tsim.uops import MicroOpShadow
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import LaunchStats, Statistics
from runtime.observe.timeline import NEVER, Timeline, TimelineHook, order_timeline
from runtime.observe.word_counts import count_words

if TYPE_CHECKING:
    from hw.sim import VcdLog

__all__ = ["RtlSimulator"]


class RtlSimulator(CountedDevice):
    """A device that runs launches on the simulated hardware.

    Parameters
    ----------
    config : VTAConfig
        What programs see.
    memory : DeviceMemory
        DRAM.
    hardware : HardwareConfig
        What programs do not see; ``HardwareConfig()`` if not given.
    latency : int
        Of the memory, in cycles (see ``hw.sim.axi.memory``).
    stall_seed : int
        If given, memory stalls at random on every channel.
    recordable : bool
        Whether ``set_trace`` and ``set_timeline`` can be used. The simulation is compiled without any logs otherwise;
        what they cost while they are off is measured that way (``bench/recording.py``).
    """

    name = "tsim"

    def __init__(
        self,
        config: VTAConfig,
        memory: DeviceMemory,
        *,
        hardware: HardwareConfig | None = None,
        latency: int = DEFAULT_LATENCY,
        stall_seed: int | None = None,
        recordable: bool = True,
    ) -> None:
        super().__init__(Statistics(cycles=0))
        self.config = config
        self.memory = memory
        self.hardware = HardwareConfig() if hardware is None else hardware
        self.latency = latency
        self.stall_seed = stall_seed
        setup = HardwareSetup(hardware=self.hardware, latency=latency, stall_seed=stall_seed)
        self.capabilities = Capabilities(clock=True, scratchpads=True, signals=True, setup=setup)
        self.recordable = recordable
        self._core = self._make_core()
        self._uops = MicroOpShadow(config)
        self._stream: InstructionStream | None = None
        self._flags = DeviceDebug.NONE

    def _make_core(self, waves: "VcdLog | None" = None) -> RtlCore:
        return RtlCore(
            self.config,
            self.hardware,
            self.memory,
            latency=self.latency,
            stall_seed=self.stall_seed,
            recordable=self.recordable,
            waves=waves,
        )

    def debug_mode(self, flag: int) -> None:
        """Set the flags of ``DeviceDebug`` for the launches to come."""
        self._flags = DeviceDebug(flag)

    def set_trace(self, hook: TraceHook | None) -> None:
        """Call ``hook`` for each instruction of the launches to come, after the launch, in order of completion."""
        self._require_logs(hook)
        super().set_trace(hook)

    def set_timeline(self, hook: TimelineHook | None) -> TimelineHook | None:
        """Call ``hook`` at the end of each launch to come with the times of everything in it; return the one before."""
        self._require_logs(hook)
        return super().set_timeline(hook)

    def _require_logs(self, hook: object) -> None:
        if hook is not None and not self.recordable:
            raise DeviceError(
                "this tsim was made with recordable=False, so it keeps no times; "
                "make one with recordable=True to trace or record launches"
            )

    def signals(self, patterns: Sequence[str] = ()) -> list[str]:
        """Return the names of the signals that ``waves`` writes for these patterns, raising what that raises."""
        from hw.sim import matching_signals

        names = self._core.signals
        return matching_signals(names, patterns) if patterns else [name for name in names if "." not in name]

    @contextmanager
    def waves(self, file: TextIO, patterns: Sequence[str] = ()) -> Iterator[None]:
        """Write a waveform (VCD) of the launches inside to ``file``.

        ``patterns`` choose signals by their dotted names, ``*`` for anything: ``compute.*``; without any, those of the
        top. A pattern that fits no signal is a SimulatorError. Such a simulation is compiled for the signals chosen.
        """
        from hw.sim import VcdLog

        plain = self._core
        log = VcdLog(self.signals(patterns), file)
        self._core = self._make_core(log)
        self._core.take_memories(plain)
        try:
            yield
        finally:
            log.close()
            plain.take_memories(self._core)
            self._core = plain

    def scratchpad(self, memory: MemoryId) -> npt.NDArray[np.int32] | npt.NDArray[np.uint32]:
        """Return a copy of a scratchpad as numbers, shaped as in ``isa.reference.Reference``."""
        return self._core.scratchpad(memory)

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        """Run a launch, as ``Device.launch`` says.

        An access out of range is found before the launch, and the instructions before it are executed.
        """
        stream = self._read(insn_address, insn_count)
        fault = stream.misplaced_finish()
        if fault is not None:
            raise self._refused(stream, _execution_error(fault, origins), origins)
        fault = self._first_fault(stream)
        count = insn_count if fault is None else fault.index
        with self._patched(insn_address, stream, count):
            noted = self._trace is not None or self._timeline is not None
            with self._beating() as beat:
                ended = self._core.run(insn_address, min(count + 1, insn_count), noted=noted, beat=beat)
        done = self._executed(stream, ended, count)
        self._stats = self._stats + done
        error = self._error(stream, ended, fault, origins)
        if noted:
            timeline = self._timeline_of(stream, ended, count, origins, error)
            _report(self._trace, self._timeline, timeline, stream)
        if error is not None:
            raise error
        self._stats = self._stats + Statistics(launches=1)
        return LaunchStats(statistics=replace(done, launches=1))

    def _refused(
        self, stream: InstructionStream, error: DeviceError, origins: Sequence[Origin | None] | None
    ) -> DeviceError:
        """Return the error of a launch that does not even begin; whoever listens is told of it."""
        if self._timeline is not None:
            told = order_timeline(
                device=self.name, config=self.config, array=stream.array, executed=(), origins=origins, error=str(error)
            )
            self._timeline(told)
        return error

    def _first_fault(self, stream: InstructionStream) -> Fault | None:
        fault = stream.first_out_of_range(self.memory.nbytes)
        end = stream.legal if fault is None else fault.index
        return self._uops.first_fault(stream.work, self.memory.address_space(), before=end) or fault

    def _read(self, address: int, count: int) -> InstructionStream:
        """Return the words of a launch, decoded; what was launched last is kept, since launches come again."""
        words = read_launch(self.memory, address, count)
        skip = bool(self._flags & DeviceDebug.SKIP_EXEC)
        stream = self._stream
        if stream is None or stream.skip != skip or not np.array_equal(stream.array, words):
            stream = self._stream = InstructionStream(words, self.config, skip=skip)
        return stream

    @contextmanager
    def _patched(self, address: int, stream: InstructionStream, count: int) -> Iterator[None]:
        """Put the words that are to be executed into memory, and back what was there, if they differ."""
        words = stream.words_to_run(count)
        view = self.memory.view(address, words.nbytes)
        kept = view.copy()
        view[:] = words.astype("<u8").reshape(-1).view(np.uint8)
        try:
            yield
        finally:
            view[:] = kept

    def _executed(self, stream: InstructionStream, ended: CoreRun, count: int) -> Statistics:
        """Return what a launch did, cycles included."""
        chosen = np.arange(len(stream)) < count if ended.done else stream.started(ended.started)
        counted = count_words(stream.tables, chosen, self.config)
        return replace(counted, cycles=ended.cycles, account=ended.account)

    def _error(
        self, stream: InstructionStream, ended: CoreRun, fault: Fault | None, origins: Sequence[Origin | None] | None
    ) -> DeviceError | None:
        """Return the exception for how a launch ended, None if it ended well."""
        from isa.machine.error_codes import ErrorCode

        code = ErrorCode(ended.error)
        match code:
            case ErrorCode.NONE if not ended.done:
                return DeadlockError(stream.heads(ended.started, fetched=ended.fetched))
            case ErrorCode.NONE:
                return None if fault is None else _execution_error(fault, origins)
            case ErrorCode.OPCODE | ErrorCode.UNUSED_BITS | ErrorCode.ILLEGAL:
                return _execution_error(Fault(ended.place, _refusal(stream.word(ended.place), self.config)), origins)
            case ErrorCode.NO_FINISH | ErrorCode.READ_RESPONSE | ErrorCode.WRITE_RESPONSE:
                return DeviceError(f"the hardware stopped with error {code.name} at {ended.place}")
            case _:
                assert_never(code)

    def _timeline_of(
        self,
        stream: InstructionStream,
        ended: CoreRun,
        count: int,
        origins: Sequence[Origin | None] | None,
        error: DeviceError | None,
    ) -> Timeline:
        """Return the times of a launch whose first ``count`` words were executed; FINISH completes when it does."""
        notes = ended.notes
        assert notes is not None
        issued, begun, finished, settled = (np.full(len(stream), NEVER, np.int64) for _ in range(4))
        issued[:count][: len(notes.issued)] = notes.issued[:count]
        for module in Module:
            indices = np.flatnonzero(stream.modules[:count] == module)
            settles = notes.settles if module is Module.COMPUTE else notes.ends[module]
            for column, times in (
                (begun, notes.starts[module]),
                (finished, notes.ends[module]),
                (settled, settles),
            ):
                column[indices[: len(times)]] = times[: len(indices)]
        if finished[-1] != NEVER:
            finished[-1] = settled[-1] = ended.cycles - 1
        return Timeline(
            device=self.name,
            config=self.config,
            array=stream.array,
            origins=tuple(origins) if origins is not None else (None,) * len(stream),
            duration=ended.cycles,
            issued=issued,
            begun=begun,
            ended=finished,
            settled=settled,
            states=notes.states,
            bursts=notes.bursts,
            account=ended.account,
            error=None if error is None else str(error),
        )


def _execution_error(fault: Fault, origins: Sequence[Origin | None] | None) -> ExecutionError:
    return ExecutionError(fault.index, fault.message, origins[fault.index] if origins else None)


def _report(trace: TraceHook | None, hook: TimelineHook | None, timeline: Timeline, stream: InstructionStream) -> None:
    """Call ``trace`` for the instructions that completed, in the order of their completion, and ``hook`` for it all."""
    if trace is not None:
        completed = np.flatnonzero(timeline.ended != NEVER)
        order = completed[np.argsort(timeline.ended[completed], kind="stable")]
        for index in order.tolist():
            begin, end = int(timeline.begun[index]), int(timeline.ended[index])
            module, origin = Module(int(stream.modules[index])), timeline.origins[index]
            trace(TraceEvent(index, module, stream.word(index), origin, begin=begin, end=end))
    if hook is not None:
        hook(timeline)


def _refusal(word: int, config: VTAConfig) -> str:
    try:
        decode(word, config)
    except DecodingError as error:
        return str(error)
    raise AssertionError("the hardware refused a word that isa.encoding accepts")
