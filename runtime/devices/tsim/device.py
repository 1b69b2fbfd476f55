"""Target ``tsim``: the hardware itself, cycle by cycle in native code, with a memory that has a latency.

The design of ``hw.core`` is compiled once for each pair of configurations and kept in the user's cache. A launch goes
through the core's control as a driver's does; its cycles, and what each module spent them on, are counted along with
it. Tests: ``tests/runtime/devices/tsim/test_device.py``, ``tests/runtime/observe/test_timeline.py``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.instructions import MemoryId, Module
from isa.machine.error_codes import ErrorCode, stop_text
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
from runtime.devices.tsim.rehearsal import rehearse
from runtime.devices.tsim.stream import Fault, Foreseen, InstructionStream
from runtime.devices.tsim.uops import MicroOpShadow
from runtime.memory.device_memory import PAGE_BYTES, DeviceMemory, DeviceMemoryError
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
        fault = stream.refusal()
        if fault is not None:
            raise self._refused(stream, _execution_error(fault, origins), origins)
        foreseen = self._foresee(stream)
        noted = self._trace is not None or self._timeline is not None
        ended = self._run(insn_address, stream, foreseen, noted=noted)
        done = self._executed(stream, ended, foreseen.places)
        self._stats = self._stats + done
        error = self._error(stream, ended, foreseen.fault, origins)
        if noted:
            timeline = self._timeline_of(stream, ended, foreseen.places, origins, error)
            _report(self._trace, self._timeline, timeline, stream)
        if error is not None:
            raise error
        self._stats = self._stats + Statistics(launches=1)
        return LaunchStats(statistics=replace(done, launches=1))

    def _run(self, address: int, stream: InstructionStream, foreseen: Foreseen, *, noted: bool) -> CoreRun:
        """Let the hardware do what was foreseen, and keep the shadow of its micro-ops right whatever comes of it."""
        as_foreseen = False
        try:
            with self._placed(address, stream, foreseen.places) as (code, count, end), self._beating() as beat:
                ended = self._core.run(code, count, memory_end=end, noted=noted, beat=beat)
            as_foreseen = ended.done and foreseen.fault is None and not stream.stores_own_uops
        finally:
            if not as_foreseen:
                self._uops.learn(self._core.scratchpad(MemoryId.UOP).astype(np.uint32))
        return ended

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

    def _foresee(self, stream: InstructionStream) -> Foreseen:
        """Return what the launch is going to execute: the hardware does not notice an index or address out of range."""
        memory = self.memory.address_space()
        if stream.stores_own_uops:
            return rehearse(stream, self._core.scratchpad, memory)
        faults = dict(stream.out_of_range(len(memory)))
        before = faults[Module.COMPUTE].index if Module.COMPUTE in faults else len(stream)
        fault = self._uops.first_fault(stream, memory, before=before)
        if fault is not None:
            faults[Module.COMPUTE] = fault
        return stream.up_to_first(faults.values()) if faults else stream.whole

    def _read(self, address: int, count: int) -> InstructionStream:
        """Return the words of a launch, decoded; what was launched last is kept, since launches come again."""
        words = read_launch(self.memory, address, count)
        skip = bool(self._flags & DeviceDebug.SKIP_EXEC)
        stream = self._stream
        if stream is None or stream.skip != skip or not np.array_equal(stream.array, words):
            stream = self._stream = InstructionStream(words, self.config, skip=skip)
        return stream

    @contextmanager
    def _placed(
        self, address: int, stream: InstructionStream, places: npt.NDArray[np.int64]
    ) -> Iterator[tuple[int, int, int]]:
        """Yield address and number of the words to execute, and the end of the memory that the hardware must reach.

        They are executed where they lie, unless they differ from what lies there, or the launch stores over them: a
        launch is as it was when it began, so the words that the hardware fetches then lie out of the program's reach.
        """
        words = stream.words_to_run(places)
        if np.array_equal(words, stream.array) and not stream.stores_over(address, address + words.nbytes):
            yield address, len(words), self.memory.nbytes
            return
        with self._hidden(words.nbytes) as (hidden, view):
            view[:] = words.astype("<u8").reshape(-1).view(np.uint8)
            yield hidden, len(words), hidden + -(-words.nbytes // PAGE_BYTES) * PAGE_BYTES

    @contextmanager
    def _hidden(self, nbytes: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
        try:
            block = self.memory.hidden(nbytes)
            with block as found:
                yield found
        except DeviceMemoryError as error:
            raise DeviceError(
                f"this launch needs a copy of its instructions, and there is no place for it: {error}"
            ) from None

    def _executed(self, stream: InstructionStream, ended: CoreRun, places: npt.NDArray[np.int64]) -> Statistics:
        """Return what a launch did, cycles included."""
        chosen = stream.started(ended.started)
        if ended.done:
            chosen = np.zeros(len(stream), np.bool_)
            chosen[places] = True
        counted = count_words(stream.tables, chosen, self.config)
        return replace(counted, cycles=ended.cycles, account=ended.account)

    def _error(
        self, stream: InstructionStream, ended: CoreRun, fault: Fault | None, origins: Sequence[Origin | None] | None
    ) -> DeviceError | None:
        """Return the exception for how a launch ended, None if it ended well."""
        if ended.error:
            return DeviceError(stop_text(ErrorCode(ended.error), ended.place))
        if not ended.done:
            return DeadlockError(stream.heads(ended.started, fetched=ended.fetched))
        return None if fault is None else _execution_error(fault, origins)

    def _timeline_of(
        self,
        stream: InstructionStream,
        ended: CoreRun,
        places: npt.NDArray[np.int64],
        origins: Sequence[Origin | None] | None,
        error: DeviceError | None,
    ) -> Timeline:
        """Return the times of a launch that executed the words at ``places``; FINISH completes when the launch does."""
        notes = ended.notes
        assert notes is not None
        issued, begun, finished, settled = (np.full(len(stream), NEVER, np.int64) for _ in range(4))
        sent = places[: len(notes.issued)]
        issued[sent] = notes.issued[: len(sent)]
        for module in Module:
            indices = places[stream.modules[places] == module]
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
