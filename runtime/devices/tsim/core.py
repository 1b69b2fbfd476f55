"""The compiled core with its memory, driven through its control signals, and what is noted of a launch on it.

Tests: ``tests/runtime/devices/tsim/test_device.py``, ``tests/runtime/observe/test_timeline.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import isa
from isa.config import VTAConfig
from isa.instructions import MemoryId, Module
from runtime.devices.device import DeviceError
from runtime.devices.observed import Beat
from runtime.devices.tsim.memories import read_scratchpad
from runtime.devices.tsim.notes import MODULES, Notes, RtlNotes
from runtime.memory.device_memory import FIRST_ADDRESS, DeviceMemory
from runtime.observe.accounting import CycleAccount

if TYPE_CHECKING:
    from hw.sim import CompiledDesign, VcdLog
    from isa.machine.hardware_config import HardwareConfig

__all__ = ["CoreRun", "RtlCore"]

STALL_CHANCE = 0.25
"""Chance that a channel stalls in a cycle, where random stalls are asked for."""

_SLICE = 1 << 13
"""Cycles between two looks at the watchdog and at pending signals."""


@dataclass(frozen=True, slots=True)
class CoreRun:
    """How a launch ended: well, with an ``error`` (code and place), or not at all (a deadlock).

    ``notes`` were taken if that was asked for.
    """

    done: bool
    error: int
    place: int
    cycles: int
    account: CycleAccount
    started: Mapping[Module, int]
    fetched: int
    notes: Notes | None


class RtlCore:
    """The compiled core with its memory, driven through its control signals; notes can be taken if ``recordable``."""

    def __init__(
        self,
        config: VTAConfig,
        hardware: "HardwareConfig",
        memory: DeviceMemory,
        *,
        latency: int,
        stall_seed: int | None,
        recordable: bool,
        waves: "VcdLog | None",
    ) -> None:
        import hw
        from hw.core import READERS, Core
        from hw.sim import AxiMemory, Histogram, cached_design
        from isa.machine.causes import Cause

        self._config = config
        self._memory = memory
        self._waves = waves
        self._begin = 0  # cycle of the last launch
        self._causes = tuple(Cause)
        self._axi = AxiMemory("axi", latency=latency)
        if stall_seed is not None:
            self._axi.configure(stalls=STALL_CHANCE, seed=stall_seed)
        bits = max(self._causes).bit_length()
        self._histograms = {name: Histogram(f"{name}_cause", bits=bits, gate="running") for name in MODULES}
        self._notes = RtlNotes(
            causes=tuple(cause.name.lower() for cause in self._causes),
            clients=READERS,
            beat_bytes=hardware.beat_bytes,
        )
        logs = self._notes.hooks if recordable else ()
        self._design: CompiledDesign = cached_design(
            f"core {config.digest} {hardware.digest}",
            lambda: Core(config, hardware),
            sources=[Path(package.__path__[0]) for package in (hw, isa)],
            # Notes first: the memory sets inputs.
            hooks=(*([waves] if waves else ()), *logs, *self._histograms.values(), self._axi),
        )
        # More cycles than any answer takes: a stall or a slow memory is no deadlock.
        self._slice = _SLICE + 16 * latency

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of all signals of the hardware."""
        return tuple(self._design.image.signals)

    def take_memories(self, other: "RtlCore") -> None:
        """Take the contents of all memories from an idle core of the same configurations."""
        for name in self._design.memories:
            self._design.memory(name)[:] = other._design.memory(name)

    def _reset(self) -> None:
        """Return to power-on."""
        if self._waves is not None:
            self._waves.flush()
        self._design.reset()

    def scratchpad(self, memory: MemoryId) -> npt.NDArray[np.int32] | npt.NDArray[np.uint32]:
        """Return a copy of a scratchpad between two launches."""
        return read_scratchpad(self._design, self._config, memory)

    def run(self, address: int, count: int, *, memory_end: int, noted: bool, beat: Beat) -> CoreRun:
        """Launch, and wait for the end or until nothing moves any more. The core reaches memory up to ``memory_end``.

        Notes are taken if they are asked for, and ``beat`` is told how far the launch has come.
        """
        from hw.sim import AxiError

        begin = self._memory.base_pointer + FIRST_ADDRESS
        self._axi.attach_pointer(begin, memory_end - FIRST_ADDRESS, address=FIRST_ADDRESS)
        try:
            self._start(address, count)
            self._begin = self._design.cycles
            if noted:
                self._notes.start()
            self._wait(count, beat)
            if noted:
                self._notes.stop()
        except AxiError as error:
            self._reset()
            raise DeviceError(f"the hardware broke the rules of its bus: {error}") from error
        except BaseException:  # an interrupt of the user, too
            self._reset()
            raise
        return self._ended(noted=noted)

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

    def _wait(self, count: int, beat: Beat) -> None:
        design, before = self._design, None
        while design.run_until("control__done", self._slice) == self._slice:
            now = self._progress()
            if design.peek("control__error") or now == before:
                break
            before = now
            beat(design.peek("control__cycles"), sum(self._started().values()), count)
        stuck = not design.peek("control__done") and not design.peek("control__error")
        while design.peek("control__busy") and not stuck:
            design.step()

    def _progress(self) -> tuple[object, ...]:
        """Return what changes as long as any module works or any beat moves."""
        from isa.machine.causes import Cause

        return (
            *(int(histogram.counts[Cause.WORK]) for histogram in self._histograms.values()),
            self._axi.counts,
            *self._started().values(),
        )

    def _started(self) -> dict[Module, int]:
        return {module: self._design.peek(f"control__{module.name.lower()}_started") for module in Module}

    def _ended(self, *, noted: bool) -> CoreRun:
        peek = self._design.peek
        done = bool(peek("control__done"))
        account = {
            name: {cause.name.lower(): int(histogram.counts[cause]) for cause in self._causes}
            for name, histogram in self._histograms.items()
        }
        return CoreRun(
            done=done,
            error=peek("control__error"),
            place=peek("control__error_place"),
            cycles=peek("control__cycles"),
            account=CycleAccount(account),
            started=self._started(),
            fetched=peek("control__fetched"),
            notes=self._notes.read(self._begin, peek("control__cycles")) if noted else None,
        )
