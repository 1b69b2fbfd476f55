"""An accelerator on a board as a device: memory is kept here, and what differs is brought there before a launch.

What the hardware does not check is looked for before a launch, which then does not begin: transfers out of memory or of
a scratchpad, and micro-ops beyond the buffer. Indices inside of micro-ops are not looked at; the hardware cuts them to
the width that there is. Tests: ``tests/runtime/drivers/test_board_device.py``.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.instructions import Module
from isa.machine.causes import Cause
from isa.machine.counters import COUNTED_MODULES
from isa.machine.error_codes import MEMORY_RESPONSES, ErrorCode, stop_text
from isa.machine.hardware_config import HardwareConfig
from isa.origin import Origin
from runtime.devices.device import (
    Capabilities,
    DeadlockError,
    DeviceDebug,
    DeviceError,
    ExecutionError,
    HardwareSetup,
    TraceHook,
)
from runtime.devices.launch_words import read_launch
from runtime.devices.observed import Beat, CountedDevice
from runtime.devices.tsim.stream import InstructionStream
from runtime.drivers.ports import AcceleratorPort, ControlRegisters
from runtime.memory.device_memory import PAGE_BYTES, DeviceMemory
from runtime.observe.accounting import CycleAccount
from runtime.observe.stats import LaunchStats, Statistics
from runtime.observe.timeline import TimelineHook
from runtime.observe.word_counts import count_words

__all__ = ["BoardDevice"]

_LINE_BYTES = 64
"""Bytes that are brought to the board together."""

_BUSY, _DONE, _FAILED = 1, 2, 4
"""Bits of the status register."""

_BASES = ("uop_base", "inp_base", "wgt_base", "acc_base", "out_base")

_PROGRESS = ("fetched", "load_started", "compute_started", "store_started", "read_beats", "write_beats")
"""Registers one of which changes as long as a launch goes on."""

_LOOKS = 16
"""Looks at the status in a row before the driver begins to sleep between them."""

_LONGEST_SLEEP = 0.02


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a launch ended: its error, the register that says where, cycles, and what was started."""

    error: ErrorCode
    place: int
    cycles: int
    fetched: int
    started: Mapping[Module, int]
    account: CycleAccount | None
    stuck: bool = False


class BoardDevice(CountedDevice):
    """Runs launches on the accelerator behind a port.

    A launch in which nothing moves for ``patience`` seconds is aborted, and is a ``DeadlockError``. After an error of
    the link, or of the board's memory, nothing that the board holds is relied on: the accelerator is reset and memory
    is brought there anew, and what a launch stored that memory did not take is not read.
    """

    name = "board"

    def __init__(
        self, config: VTAConfig, port: AcceleratorPort, *, hardware: HardwareConfig, patience: float = 2.0
    ) -> None:
        super().__init__(Statistics(cycles=0))
        self.config = config
        self.hardware = hardware
        self.patience = patience
        self._port = port
        self._registers = ControlRegisters(port, config, hardware)
        self._registers.require_match()
        self.memory = DeviceMemory(min(port.memory_bytes, 1 << 31) // PAGE_BYTES * PAGE_BYTES)
        self.capabilities = Capabilities(clock=True, setup=HardwareSetup(hardware=hardware))
        self._there = np.zeros(self.memory.limit, np.uint8)
        self._known = np.zeros(self.memory.limit // _LINE_BYTES, np.bool_)
        self._doubtful = True  # whoever used the board before may have left a launch

    def close(self) -> None:
        """Give the link to the board back; the device cannot be used afterwards."""
        self._port.close()

    def debug_mode(self, flag: int) -> None:
        """Accept no flag but none; the hardware executes everything."""
        if DeviceDebug(flag):
            raise DeviceError(f"a board has no debug mode ({DeviceDebug(flag).name}); use 'sim' or 'tsim'")

    def set_trace(self, hook: TraceHook | None) -> None:
        """Refuse to trace: a board does not tell when its instructions complete."""
        if hook is not None:
            raise DeviceError("a board does not tell of single instructions; trace on 'tsim'")

    def set_timeline(self, hook: TimelineHook | None) -> TimelineHook | None:
        """Refuse to record: a board does not tell when its instructions complete."""
        if hook is not None:
            raise DeviceError("a board does not tell of single instructions; record on 'tsim'")
        return None

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        """Run a launch, as ``Device.launch`` says; what is found to be out of range does not begin."""
        words = read_launch(self.memory, insn_address, insn_count)
        stream = InstructionStream(words, self.config)
        fault = stream.refusal() or min(
            stream.out_of_range(self.memory.nbytes).values(), key=lambda fault: fault.index, default=None
        )
        if fault is not None:
            raise ExecutionError(fault.index, fault.message, origins[fault.index] if origins else None)
        try:
            ended = self._run(insn_address, stream)
        except BaseException:  # an interrupt of the user, too
            self._doubtful = True
            raise
        return self._result(stream, ended)

    def _run(self, address: int, stream: InstructionStream) -> _Ended:
        if self._doubtful:
            self._settle()
        self._bring(stream, address)
        self._registers.write("insn_address", self._port.base + address)
        self._registers.write("insn_count", len(stream))
        for name in _BASES:
            self._registers.write(name, self._port.base)
        with self._beating() as beat:
            self._registers.launch()
            ended = self._wait(len(stream), beat)
        if ended.error in MEMORY_RESPONSES:
            self._doubtful = True
        else:
            self._fetch(stream)
        return ended

    def _settle(self) -> None:
        """Give up whatever the accelerator does, and rely on nothing in its memory."""
        self._registers.write("insn_count", 1)  # which a reset makes zero
        end = time.monotonic() + self.patience
        while self._registers.read("insn_count") or self._registers.read("status") & _BUSY:
            if time.monotonic() > end:
                raise DeviceError(
                    f"{self._port.name}: the accelerator stays busy after a reset; load its bitstream again"
                )
            if self._registers.read("insn_count"):
                self._registers.strobe("reset")
            time.sleep(0.001)
        self._known[:] = False
        self._doubtful = False

    # ---- memory

    def _bring(self, stream: InstructionStream, address: int) -> None:
        """Write those lines of what a launch reads, or stores a part of, that differ from what the board has."""
        ranges = [*stream.loaded_ranges, *stream.stored_ranges, (address, address + stream.array.nbytes)]
        for first, end in _runs(self._lines(ranges)):
            low, high = first * _LINE_BYTES, end * _LINE_BYTES
            here = self.memory.view(low, high - low).reshape(-1, _LINE_BYTES)
            there = self._there[low:high].reshape(-1, _LINE_BYTES)
            differs = ~self._known[first:end] | (here != there).any(axis=1)
            for begin, stop in _runs(differs):
                lines = here[begin:stop].copy()
                self._known[first + begin : first + stop] = False
                self._port.write_memory(low + begin * _LINE_BYTES, lines.tobytes())
                there[begin:stop] = lines
                self._known[first + begin : first + stop] = True

    def _fetch(self, stream: InstructionStream) -> None:
        """Read what the launch may have stored."""
        for first, end in _runs(self._lines(stream.stored_ranges)):
            low, high = first * _LINE_BYTES, end * _LINE_BYTES
            data = np.frombuffer(self._port.read_memory(low, high - low), np.uint8)
            self.memory.view(low, high - low)[:] = data
            self._there[low:high] = data

    def _lines(self, ranges: Iterable[tuple[int, int]]) -> npt.NDArray[np.bool_]:
        """Return which lines of memory these bytes are in."""
        lines = np.zeros(self.memory.nbytes // _LINE_BYTES, np.bool_)
        for low, high in ranges:
            lines[low // _LINE_BYTES : -(-high // _LINE_BYTES)] = True
        return lines

    # ---- control

    def _wait(self, count: int, beat: Beat) -> _Ended:
        """Wait for the end of a launch; one in which nothing moves is aborted."""
        before: list[int] = []
        moved = time.monotonic()
        looks = 0
        while True:
            status = self._registers.sample("status")
            if not status & _BUSY:
                status = self._registers.read("status")
            if not status & (_BUSY | _DONE | _FAILED):
                raise DeviceError(f"{self._port.name}: the accelerator was reset while a launch ran")
            if not status & _BUSY:
                return self._ended(status)
            looks += 1
            if looks < _LOOKS:
                continue
            progress = [self._registers.sample(name) for name in _PROGRESS]
            if progress != before:
                before, moved = progress, time.monotonic()
                beat(self._registers.sample("cycles"), sum(progress[1:4]), count)
            elif time.monotonic() - moved > self.patience:
                return self._aborted()
            time.sleep(min(_LONGEST_SLEEP, 0.0001 * looks))

    def _aborted(self) -> _Ended:
        end = time.monotonic() + self.patience
        while self._registers.sample("status") & _BUSY:
            if time.monotonic() > end:
                raise DeviceError(
                    f"{self._port.name}: memory does not end what a launch began; load the bitstream again"
                )
            self._registers.strobe("abort")
            time.sleep(0.001)
        return replace(self._ended(self._registers.read("status")), stuck=True)

    def _ended(self, status: int) -> _Ended:
        read = self._registers.read
        return _Ended(
            error=ErrorCode(status >> 8 & 0xFF) if status & _FAILED else ErrorCode.NONE,
            place=read("error_place"),
            cycles=read("cycles"),
            fetched=read("fetched"),
            started={module: read(f"{module.name.lower()}_started") for module in Module},
            account=self._account(),
        )

    def _account(self) -> CycleAccount | None:
        """Return what the modules spent their cycles on, if this hardware counts it."""
        if not self.hardware.cause_counters:
            return None
        return CycleAccount(
            {
                name: {cause.name.lower(): self._registers.read(f"{name}_{cause.name.lower()}") for cause in Cause}
                for name in COUNTED_MODULES
            }
        )

    def _result(self, stream: InstructionStream, ended: _Ended) -> LaunchStats:
        well = ended.error is ErrorCode.NONE
        chosen = np.ones(len(stream), np.bool_) if well else stream.started(ended.started)
        done = replace(count_words(stream.tables, chosen, self.config), cycles=ended.cycles, account=ended.account)
        self._stats = self._stats + done
        if ended.stuck and ended.error in (ErrorCode.NONE, ErrorCode.ABORTED):
            raise DeadlockError(stream.heads(ended.started, fetched=ended.fetched))
        if not well:
            raise DeviceError(f"{self._port.name}: {stop_text(ended.error, ended.place)}")
        self._stats = self._stats + Statistics(launches=1)
        return LaunchStats(statistics=replace(done, launches=1))


def _runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the ranges in which flags are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]
