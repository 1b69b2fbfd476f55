"""The parts of a device that only keep what they were given: who is told of its launches, and its counters.

Tests: ``tests/runtime/observe/test_timeline.py``, ``tests/runtime/observe/test_statistics.py``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TextIO

import numpy as np
import numpy.typing as npt

from isa.instructions import MemoryId
from runtime.devices.device import Capabilities, DeviceError, TraceHook
from runtime.observe.heartbeat import Heartbeat, HeartbeatHook
from runtime.observe.stats import Statistics
from runtime.observe.timeline import TimelineHook

__all__ = ["Beat", "CountedDevice", "ObservedDevice"]


Beat = Callable[[int | None, int, int], None]
"""Takes the cycles of a launch (None without a clock), its instructions that have started, and how many it has."""


def _beat_unheard(cycles: int | None, started: int, count: int) -> None:
    """Nobody listens."""


class ObservedDevice:
    """The hooks of a ``Device`` called ``name``; a subclass calls ``_trace``, ``_timeline`` and ``_heartbeat``."""

    name: str
    capabilities = Capabilities()

    def __init__(self) -> None:
        self._trace: TraceHook | None = None
        self._timeline: TimelineHook | None = None
        self._heartbeat: HeartbeatHook | None = None

    def set_trace(self, hook: TraceHook | None) -> None:
        """Call ``hook`` for each instruction of the launches to come, in order of completion; None turns it off."""
        self._trace = hook

    def set_timeline(self, hook: TimelineHook | None) -> TimelineHook | None:
        """Call ``hook`` at the end of each launch to come with the order of everything in it; return the one before."""
        before, self._timeline = self._timeline, hook
        return before

    def set_heartbeat(self, hook: HeartbeatHook | None) -> None:
        """Tell ``hook`` now and then how far a launch has come, if it takes long; None turns that off."""
        self._heartbeat = hook

    @contextmanager
    def _beating(self) -> Iterator[Beat]:
        """Yield what tells whoever listens how far a launch has come; at the end they are told that it is over."""
        hook = self._heartbeat
        if hook is None:
            yield _beat_unheard
            return
        try:
            yield lambda cycles, started, count: hook(Heartbeat(cycles, started, count))
        finally:
            hook(None)

    def waves(self, file: TextIO, patterns: Sequence[str] = ()) -> AbstractContextManager[None]:  # noqa: ARG002
        """Raise ``DeviceError``: only hardware has signals."""
        raise self._no_signals()

    def signals(self, patterns: Sequence[str] = ()) -> list[str]:  # noqa: ARG002
        """Raise ``DeviceError``: only hardware has signals."""
        raise self._no_signals()

    def scratchpad(self, memory: MemoryId) -> npt.NDArray[np.int32] | npt.NDArray[np.uint32]:
        """Raise ``DeviceError``: a device that shows its scratchpads has a method of its own."""
        raise DeviceError(f"device {self.name!r} does not show its scratchpads ({memory.name}); use 'sim' or 'tsim'")

    def _no_signals(self) -> DeviceError:
        return DeviceError(f"device {self.name!r} has no signals, only the hardware has; use 'tsim'")


class CountedDevice(ObservedDevice):
    """The counters of a ``Device`` too, from ``zero`` on; a subclass adds to ``_stats``."""

    def __init__(self, zero: Statistics) -> None:
        super().__init__()
        self._zero = self._stats = zero

    @property
    def stats(self) -> Statistics:
        """Counters since the device was made or cleared; failed launches count what they executed."""
        return self._stats

    def clear_stats(self) -> None:
        """Set all counters to zero."""
        self._stats = self._zero
