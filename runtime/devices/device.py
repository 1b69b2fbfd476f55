"""The interface of everything that runs a launch: simulators, the RTL, boards.

A launch is a range of instruction words in the device's memory, ended by FINISH. It starts with empty token queues and
may rely on nothing in the scratchpads but what the same program's launches before it left there; ``launch`` returns
when FINISH and every earlier instruction have completed.

Tests: ``tests/runtime/devices/test_device_errors.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Protocol, runtime_checkable

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import Module
from isa.origin import Origin
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import LaunchStats, Statistics
from runtime.observe.timeline import TimelineHook

__all__ = [
    "DeadlockError",
    "Device",
    "DeviceDebug",
    "DeviceError",
    "ExecutionError",
    "ModuleHead",
    "TraceEvent",
    "TraceHook",
]


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

        Returns the hook until now.
        """
        ...

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        """Run ``insn_count`` instructions (16 bytes each) from physical ``insn_address`` on, to the
        end.

        The last instruction is FINISH (``DeviceError`` otherwise). Scratchpads keep their contents from one launch to
        the next: a program that is too long for the instruction area goes on in a second launch.
        ``origins`` has one entry an instruction, for error messages and the trace. Raises
        ``DeviceError``, ``ExecutionError`` or ``DeadlockError``; the device can be used again
        afterwards.
        """
        ...
