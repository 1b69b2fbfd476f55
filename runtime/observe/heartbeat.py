"""How far a launch is, told now and then while it runs.

Tests: ``tests/runtime/devices/test_capabilities.py``, ``tests/vta/cli/test_heartbeat.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Heartbeat", "HeartbeatHook"]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """How far a launch is: its cycles (None without a clock), and its instructions that have started, of ``count``."""

    cycles: int | None
    started: int
    count: int


HeartbeatHook = Callable[[Heartbeat | None], None]
"""Called now and then during a launch, if it takes long, and with None when a launch is over."""
