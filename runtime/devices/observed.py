"""The parts of a device that only keep what they were given: who hears of its launches, and its counters.

Tests: ``tests/runtime/observe/test_timeline.py``, ``tests/runtime/observe/test_statistics.py``.
"""

from runtime.devices.device import TraceHook
from runtime.observe.stats import Statistics
from runtime.observe.timeline import TimelineHook

__all__ = ["CountedDevice", "ObservedDevice"]


class ObservedDevice:
    """The hooks of a ``Device``; a subclass calls ``_trace`` and ``_timeline``."""

    def __init__(self) -> None:
        self._trace: TraceHook | None = None
        self._timeline: TimelineHook | None = None

    def set_trace(self, hook: TraceHook | None) -> None:
        """Call ``hook`` for each instruction of the launches to come, in order of completion; None turns it off."""
        self._trace = hook

    def set_timeline(self, hook: TimelineHook | None) -> TimelineHook | None:
        """Call ``hook`` at the end of each launch to come with the order of everything in it; return the one before."""
        before, self._timeline = self._timeline, hook
        return before


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
