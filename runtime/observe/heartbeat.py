"""How far a launch has come, told now and then while it runs.

Tests: ``tests/runtime/devices/test_capabilities.py``, ``tests/vta/cli/test_heartbeat.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Heartbeat", "HeartbeatHook"]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """How far a launch has come: cycles (None without a clock), and how many of ``count`` instructions have started."""

    cycles: int | None
    started: int
    count: int


HeartbeatHook = Callable[[Heartbeat | None], None]
"""Called now and then during a launch, if it takes long, and with None when a launch is over."""
