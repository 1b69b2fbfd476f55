"""Target ``tsim``: the hardware itself, cycle by cycle in native code, with a memory that has a latency.

The design of ``hw.core`` is compiled once for each pair of configurations and kept in the user's cache. A launch goes
through the core's control as a driver's does; its cycles, and what each module spent them on, are counted beside it.
The only module of the runtime that may import ``hw``, when a device is made. Tests: ``tests/runtime/test_rtl_*.py``.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import isa
from isa.config import VTAConfig
from isa.encoding import INSTRUCTION_BYTES, DecodingError, decode
from isa.instructions import Module
from isa.origin import Origin
from runtime.accounting import CycleAccount
from runtime.devices.device import (
    DeadlockError,
    DeviceDebug,
    DeviceError,
    ExecutionError,
    TraceEvent,
    TraceHook,
)
from runtime.devices.rtl_stream import Fault, InstructionStream
from runtime.devices.rtl_uops import MicroOpShadow
from runtime.memory import FIRST_ADDRESS, DeviceMemory
from runtime.stats import LaunchStats, Statistics
from runtime.word_counts import count_words

if TYPE_CHECKING:
    from hw.config import HardwareConfig
    from hw.sim import CompiledDesign

__all__ = ["DEFAULT_LATENCY", "RtlSimulator"]

DEFAULT_LATENCY = 32
"""Cycles from an address to its first beat, and from a last beat to its response, unless a device says otherwise."""

MODULES = ("fetch", "load", "compute", "store")
"""The modules whose cycles are accounted for."""

STALL_CHANCE = 0.25
"""Of a channel in a cycle, where random stalls are asked for."""

_STARTS = {module: f"launch.{module.name.lower()}_start" for module in Module}
_ENDS = {Module.LOAD: "load.writer.done", Module.COMPUTE: "compute.window.retires", Module.STORE: "store.completed"}
"""Signals of the core that are high where an instruction starts or completes; each module does its own in order."""

_SLICE = 1 << 13
"""Cycles between two looks at the watchdog and at pending signals."""


class RtlSimulator:
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
        Of the memory, in cycles (see ``hw.sim.axi_memory``).
    stall_seed : int
        If given, memory stalls at random on every channel.
    """

    name = "tsim"

    def __init__(
        self,
        config: VTAConfig,
        memory: DeviceMemory,
        *,
        hardware: "HardwareConfig | None" = None,
        latency: int = DEFAULT_LATENCY,
        stall_seed: int | None = None,
    ) -> None:
        from hw.config import HardwareConfig

        self.config = config
        self.memory = memory
        self.hardware = HardwareConfig() if hardware is None else hardware
        self._core = _Core(config, self.hardware, memory, latency=latency, stall_seed=stall_seed)
        self._uops = MicroOpShadow(config)
        self._stats = Statistics(cycles=0)
        self._flags = DeviceDebug.NONE
        self._trace: TraceHook | None = None

    @property
    def stats(self) -> Statistics:
        """Counters since the device was made or cleared; failed launches count what they executed."""
        return self._stats

    def clear_stats(self) -> None:
        """Set all counters to zero."""
        self._stats = Statistics(cycles=0)

    def debug_mode(self, flag: int) -> None:
        """Set the flags of ``DeviceDebug`` for the launches to come."""
        self._flags = DeviceDebug(flag)

    def set_trace(self, hook: TraceHook | None) -> None:
        """Call ``hook`` for each instruction of the launches to come, after the launch, in order of completion."""
        self._trace = hook

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        """Run a launch, as ``Device.launch`` says.

        An access out of range is found before the launch, and the instructions before it are executed.
        """
        stream = self._read(insn_address, insn_count)
        fault = stream.misplaced_finish()
        if fault is not None:
            raise _execution_error(fault, origins)
        fault = self._first_fault(stream)
        count = insn_count if fault is None else fault.index
        with self._patched(insn_address, stream, count):
            ended = self._core.run(insn_address, min(count + 1, insn_count), log=self._trace is not None)
        if self._trace is not None:
            _report(self._trace, stream, ended, origins)
        done = self._executed(stream, ended, count)
        self._stats = self._stats + done
        if ended.error:
            raise self._error(stream, ended, origins)
        if not ended.done:
            raise DeadlockError(stream.heads(ended.started, fetched=ended.fetched))
        if fault is not None:
            raise _execution_error(fault, origins)
        self._stats = self._stats + Statistics(launches=1)
        return LaunchStats(statistics=replace(done, launches=1))

    def _first_fault(self, stream: InstructionStream) -> Fault | None:
        fault = stream.first_out_of_range(self.memory.nbytes)
        end = stream.legal if fault is None else fault.index
        return self._uops.first_fault(stream.work, self.memory.address_space(), before=end) or fault

    def _read(self, address: int, count: int) -> InstructionStream:
        """Return the words of a launch; refuse a range that is not in memory."""
        end = address + count * INSTRUCTION_BYTES
        if count < 1:
            raise DeviceError(f"a launch has at least one instruction, FINISH, not {count}")
        if address < FIRST_ADDRESS or end > self.memory.nbytes:
            raise DeviceError(
                f"instructions at {address:#x} to {end - 1:#x} are outside of the mapped range "
                f"{FIRST_ADDRESS:#x} to {self.memory.nbytes:#x}"
            )
        raw = self.memory.view(address, count * INSTRUCTION_BYTES)
        words = raw.copy().view("<u8").reshape(-1, 2).astype(np.uint64)
        return InstructionStream(words, self.config, skip=bool(self._flags & DeviceDebug.SKIP_EXEC))

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

    def _executed(self, stream: InstructionStream, ended: "_Ended", count: int) -> Statistics:
        """Return what a launch did, cycles included."""
        chosen = np.arange(len(stream)) < count if ended.done else stream.started(ended.started)
        counted = count_words(stream.tables, chosen, self.config)
        return replace(counted, cycles=ended.cycles, account=ended.account)

    def _error(
        self, stream: InstructionStream, ended: "_Ended", origins: Sequence[Origin | None] | None
    ) -> DeviceError:
        """Return the exception for an error code of the hardware."""
        from hw.errors import ErrorCode

        code = ErrorCode(ended.error)
        match code:
            case ErrorCode.OPCODE | ErrorCode.UNUSED_BITS | ErrorCode.ILLEGAL:
                return _execution_error(Fault(ended.place, _refusal(stream.word(ended.place), self.config)), origins)
            case _:
                return DeviceError(f"the hardware stopped with error {code.name} at {ended.place}")


def _execution_error(fault: Fault, origins: Sequence[Origin | None] | None) -> ExecutionError:
    return ExecutionError(fault.index, fault.message, origins[fault.index] if origins else None)


def _report(
    hook: TraceHook, stream: InstructionStream, ended: "_Ended", origins: Sequence[Origin | None] | None
) -> None:
    """Call ``hook`` for the instructions that completed, in the order of their completion; FINISH ends the launch."""
    events = []
    for module, cycles in ended.spans.items():
        indices = np.flatnonzero(stream.modules == module).tolist()
        for index, (begin, end) in zip(indices, cycles, strict=False):  # what has not completed has no span
            last = ended.cycles - 1 if index == len(stream) - 1 else end
            origin = origins[index] if origins else None
            events.append((last, index, TraceEvent(index, module, stream.word(index), origin, begin=begin, end=last)))
    for _, _, event in sorted(events, key=lambda entry: entry[:2]):
        hook(event)


def _refusal(word: int, config: VTAConfig) -> str:
    try:
        decode(word, config)
    except DecodingError as error:
        return str(error)
    raise AssertionError("the hardware refused a word that isa.encoding accepts")


_Span = tuple[int, int]
"""The cycles of a launch, counted from 0, in which an instruction was started and in which it completed."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a launch ended: well, with an ``error`` (code and place), or not at all (a deadlock).

    ``spans`` are empty without a log.
    """

    done: bool
    error: int
    place: int
    cycles: int
    account: CycleAccount
    started: Mapping[Module, int]
    fetched: int
    spans: Mapping[Module, Sequence[_Span]]


class _Core:
    """The compiled core with its memory, driven through its control signals."""

    def __init__(
        self,
        config: VTAConfig,
        hardware: "HardwareConfig",
        memory: DeviceMemory,
        *,
        latency: int,
        stall_seed: int | None,
    ) -> None:
        import hw
        from hw.accounting import Cause
        from hw.core import Core
        from hw.sim import AxiMemory, Histogram, cached_design
        from hw.sim.cache import source_digest
        from hw.sim.event_log import EventLog

        self._memory = memory
        self._begin = 0  # cycle of the last launch
        self._causes = tuple(Cause)
        self._axi = AxiMemory("axi", latency=latency)
        if stall_seed is not None:
            self._axi.configure(stalls=STALL_CHANCE, seed=stall_seed)
        bits = max(self._causes).bit_length()
        self._histograms = {name: Histogram(f"{name}_cause", bits=bits, gate="running") for name in MODULES}
        self._log = EventLog([*_STARTS.values(), *_ENDS.values()])
        sources = source_digest([Path(package.__path__[0]) for package in (hw, isa)])
        self._design: CompiledDesign = cached_design(
            f"core {config.digest} {hardware.digest} {sources}",
            lambda: Core(config, hardware),
            hooks=(self._axi, *self._histograms.values(), self._log),
        )
        # A stall or a slow memory is no deadlock: more cycles than any answer takes.
        self._slice = _SLICE + 16 * latency

    def run(self, address: int, count: int, *, log: bool) -> _Ended:
        """Launch, and wait for the end or until nothing moves any more; with ``log``, note every start and end."""
        from hw.sim import AxiError

        begin = self._memory.base_pointer + FIRST_ADDRESS
        self._axi.attach_pointer(begin, self._memory.nbytes - FIRST_ADDRESS, address=FIRST_ADDRESS)
        try:
            self._start(address, count)
            self._log.enabled = log
            self._begin = self._design.cycles
            self._wait()
            self._log.enabled = False
        except AxiError as error:
            self._design.reset()
            raise DeviceError(f"the hardware broke the rules of its bus: {error}") from error
        except BaseException:  # an interrupt of the user, too
            self._design.reset()
            raise
        return self._ended()

    def _start(self, address: int, count: int) -> None:
        """Begin a launch; if one is stuck, the hardware gives it up first."""
        design = self._design
        design.poke("control__insn_address", address)
        design.poke("control__insn_count", count)
        design.poke("control__launch", 1)
        design.step()
        design.poke("control__launch", 0)
        while not (design.peek("running") and design.peek("control__cycles") == 0):
            design.step()
        for histogram in self._histograms.values():
            histogram.counts[:] = 0

    def _wait(self) -> None:
        design, before = self._design, None
        while design.run_until("control__done", self._slice) == self._slice:
            now = self._progress()
            if design.peek("control__error") or now == before:
                break
            before = now
        stuck = not design.peek("control__done") and not design.peek("control__error")
        while design.peek("control__busy") and not stuck:
            design.step()

    def _progress(self) -> tuple[object, ...]:
        """Return what changes as long as any module works or any beat moves."""
        from hw.accounting import Cause

        return (
            *(int(histogram.counts[Cause.WORK]) for histogram in self._histograms.values()),
            self._axi.counts,
            *self._started().values(),
        )

    def _started(self) -> dict[Module, int]:
        return {module: self._design.peek(f"control__{module.name.lower()}_started") for module in Module}

    def _ended(self) -> _Ended:
        peek = self._design.peek
        done = bool(peek("control__done"))
        account = {
            name: {cause.name.lower(): int(histogram.counts[cause]) for cause in self._causes}
            for name, histogram in self._histograms.items()
        }
        return _Ended(
            done=done,
            error=peek("control__error"),
            place=peek("control__error_place"),
            cycles=peek("control__cycles"),
            account=CycleAccount(account),
            started=self._started(),
            fetched=peek("control__fetched"),
            spans=self._spans(),
        )

    def _spans(self) -> dict[Module, list[_Span]]:
        """Return from what cycle to what cycle each module was at its instructions, in order, as far as was noted."""
        cycles: list[list[int]] = [[] for _ in range(2 * len(Module))]
        for event in self._log.take():
            for number in event.signals:
                cycles[number].append(event.cycle - self._begin)
        starts, ends = cycles[: len(Module)], cycles[len(Module) :]
        return {module: list(zip(starts[at], ends[at], strict=False)) for at, module in enumerate(Module)}
