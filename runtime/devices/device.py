"""The interface of everything that runs a launch: simulators, the RTL, boards.

A launch is a range of instruction words in the device's memory, ended by FINISH. It starts with empty token queues and
may rely on nothing in the scratchpads but what the same program's launches before it left there; ``launch`` returns
when FINISH and every earlier instruction have completed.

Tests: ``tests/runtime/devices/test_device_errors.py``, ``tests/runtime/devices/test_hardware_settings.py``.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Protocol, TextIO, runtime_checkable

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import MemoryId, Module
from isa.machine.hardware_config import HardwareConfig
from isa.origin import Origin
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.heartbeat import HeartbeatHook
from runtime.observe.stats import LaunchStats, Statistics
from runtime.observe.timeline import TimelineHook

__all__ = [
    "DEFAULT_LATENCY",
    "MOST_LATENCY",
    "Capabilities",
    "DeadlockError",
    "Device",
    "DeviceDebug",
    "DeviceError",
    "ExecutionError",
    "HardwareSetup",
    "ModuleHead",
    "TraceEvent",
    "TraceHook",
]


DEFAULT_LATENCY = 32
"""Cycles from an address to its first beat in simulated memory, and from a last beat to its response."""

MOST_LATENCY = 1 << 20
"""The longest latency of simulated memory."""


class DeviceError(VTAError, RuntimeError):
    """A launch that a device cannot do."""


class ExecutionError(DeviceError):
    """One instruction is illegal or reaches out of bounds.

    ``index`` is its position in the launch, ``origin`` where it came from (None if unknown).
    """

    def __init__(self, index: int, message: str, origin: Origin | None = None) -> None:
        source = f" (from {origin})" if origin is not None else ""
        super().__init__(f"instruction {index}{source}: {message}")
        self.index = index
        self.origin = origin


@dataclass(frozen=True, slots=True)
class ModuleHead:
    """The next instruction of one module, and the token queues that it waits for, as (from, to)
    pairs.

    ``index`` is None (and ``awaits`` empty) when the module has nothing left to do; ``awaits`` alone is empty when
    the instruction did not reach the module, because the queue of another one is full.
    """

    module: Module
    index: int | None
    awaits: tuple[tuple[Module, Module], ...] = ()

    def __str__(self) -> str:
        name = self.module.name.lower()
        if self.index is None:
            return f"{name}: nothing left"
        if not self.awaits:
            return f"{name}: instruction {self.index} was not fetched, a queue before it is full"
        tokens = " and ".join(f"{a.name.lower()}->{b.name.lower()}" for a, b in self.awaits)
        return f"{name}: instruction {self.index} waits for a token {tokens}"


class DeadlockError(DeviceError):
    """No module can go on and FINISH was not executed. ``heads`` has the head of every module's
    queue.
    """

    def __init__(self, heads: Sequence[ModuleHead]) -> None:
        self.heads = tuple(heads)
        super().__init__("deadlock: " + "; ".join(str(head) for head in self.heads))


class DeviceDebug(IntFlag):
    """Flags of ``Device.debug_mode``."""

    NONE = 0
    SKIP_EXEC = 1
    """Execute micro-op loads alone; everything else is decoded, counted and ordered, but moves and
    computes nothing.
    """


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One executed instruction: its place in the launch, its word, and the cycles it took where
    there is a clock.
    """

    index: int
    module: Module
    word: int
    origin: Origin | None = None
    begin: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSetup:
    """What simulated hardware is made with besides the configuration: its sizes, and the memory that it works on."""

    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    latency: int = DEFAULT_LATENCY
    """Cycles from an address to its first beat, and from a last beat to its response."""
    stall_seed: int | None = None
    """If given, memory stalls at random on every channel."""

    def __post_init__(self) -> None:
        """Refuse a latency with which nothing would ever come to an end, with a ``DeviceError``."""
        if self.latency > MOST_LATENCY:
            raise DeviceError(f"a memory's latency is at most {MOST_LATENCY} cycles, not {self.latency}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a device can do besides running launches. Whoever needs one of these asks here, and not for a class."""

    clock: bool = False
    """Launches take cycles: statistics, timelines and heartbeats have them."""
    scratchpads: bool = False
    """``scratchpad`` reads them between two launches."""
    signals: bool = False
    """Its hardware has ``signals``, and ``waves`` draws them."""
    setup: HardwareSetup | None = None
    """What its hardware was made with; None where there is no hardware."""


TraceHook = Callable[[TraceEvent], None]
"""Called once for each instruction of a launch, in the order of completion."""


@runtime_checkable
class Device(Protocol):
    """Something with DRAM that runs launches."""

    @property
    def name(self) -> str:
        """The target's name: ``sim``, ``reference``, ``tsim``."""
        ...

    @property
    def config(self) -> VTAConfig:
        """The configuration that the device was made for; programs of another one are refused."""
        ...

    @property
    def memory(self) -> DeviceMemory:
        """The DRAM that instructions, micro-ops and data lie in."""
        ...

    @property
    def stats(self) -> Statistics:
        """Counters since the device was made or ``clear_stats`` was called."""
        ...

    def clear_stats(self) -> None:
        """Set all counters to zero."""
        ...

    def debug_mode(self, flag: int) -> None:
        """Set the flags of ``DeviceDebug`` for the launches to come."""
        ...

    def set_trace(self, hook: TraceHook | None) -> None:
        """Call ``hook`` for each instruction of the launches to come; None turns tracing off."""
        ...

    def set_timeline(self, hook: TimelineHook | None) -> TimelineHook | None:
        """Call ``hook`` at the end of each launch to come, failed ones too, with the times of everything in it.

        Returns the hook that it replaces.
        """
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do besides running launches."""
        ...

    def set_heartbeat(self, hook: HeartbeatHook | None) -> None:
        """Tell ``hook`` now and then how far a launch has come, if it takes long; None turns that off."""
        ...

    def signals(self, patterns: Sequence[str] = ()) -> list[str]:
        """Return the names of the signals that ``patterns`` choose: dotted names, ``*`` for anything, none for the top.

        Raises ``DeviceError`` where there are no signals at all, as ``waves`` does.
        """
        ...

    def waves(self, file: TextIO, patterns: Sequence[str] = ()) -> AbstractContextManager[None]:
        """Write a waveform (VCD) of the launches inside to ``file``, of the signals that ``patterns`` choose."""
        ...

    def scratchpad(self, memory: MemoryId) -> npt.NDArray[np.int32] | npt.NDArray[np.uint32]:
        """Return a copy of a scratchpad as numbers, between two launches, shaped as in ``isa.reference.Reference``.

        Raises ``DeviceError`` where they cannot be read.
        """
        ...

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        """Run ``insn_count`` instructions (16 bytes each) from physical ``insn_address`` on, to the
        end.

        The last instruction is FINISH (``DeviceError`` otherwise). Scratchpads keep their contents from one launch to
        the next: a program that is too long for the instruction area continues in a second launch. ``origins`` has one
        entry per instruction, for error messages and the trace. Raises ``DeviceError``, ``ExecutionError`` or
        ``DeadlockError``; the device can be used again afterwards.
        """
        ...
