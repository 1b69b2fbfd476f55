"""The counters of the simulator that the current environment runs on, under TVM-VTA's names.

Tests: tests/vta/front/test_testing.py.
"""

import json

from runtime.session import DEVICE_NAMES
from vta.chosen_remote import chosen_remote
from vta.environment import get_env

__all__ = ["DEBUG_SKIP_EXEC", "clear_stats", "debug_mode", "enabled", "stats"]

DEBUG_SKIP_EXEC = 1
"""Flag of ``debug_mode``: decode and count, but move and compute nothing except micro-ops."""


def enabled() -> bool:
    """Whether programs run on a simulator."""
    return get_env().TARGET in DEVICE_NAMES


def clear_stats() -> None:
    """Set all counters to zero."""
    remote = chosen_remote()
    if remote is not None:
        remote.get_function("vta.simulator.profiler_clear")()
        return
    get_env().session.device.clear_stats()


def stats() -> dict[str, int]:
    """Return the counters since they were cleared: bytes moved by kind of memory, tensor operations."""
    remote = chosen_remote()
    if remote is not None:
        counted: dict[str, int] = json.loads(str(remote.get_function("vta.simulator.profiler_status")()))
        return counted
    return get_env().session.device.stats.as_dict()


def debug_mode(flag: int) -> None:
    """Set the debug flags (``DEBUG_SKIP_EXEC`` or 0) for the launches to come."""
    remote = chosen_remote()
    if remote is not None:
        remote.get_function("vta.simulator.profiler_debug_mode")(flag)
        return
    get_env().session.device.debug_mode(flag)
