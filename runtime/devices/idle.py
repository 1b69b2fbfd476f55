"""A device that runs nothing: what the command queue collects for it can be kept and run elsewhere.

Tests: tests/runtime/devices/test_idle.py.
"""

from collections.abc import Sequence

from isa.config import VTAConfig
from isa.origin import Origin
from runtime.devices.observed import ObservedDevice
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import LaunchStats, Statistics

__all__ = ["IdleDevice"]


class IdleDevice(ObservedDevice):
    """Has memory and accepts launches, and leaves everything as it is; counters stay zero, no hook is called."""

    name = "idle"

    def __init__(self, config: VTAConfig, memory: DeviceMemory) -> None:
        super().__init__()
        self.config = config
        self.memory = memory
        self.stats = Statistics()

    def clear_stats(self) -> None:
        """Do nothing: the counters are zero."""

    def debug_mode(self, flag: int) -> None:
        """Do nothing: nothing is executed."""

    def launch(
        self,
        insn_address: int,  # noqa: ARG002
        insn_count: int,  # noqa: ARG002
        *,
        origins: Sequence[Origin | None] | None = None,  # noqa: ARG002
    ) -> LaunchStats:
        """Return zeros."""
        return LaunchStats(statistics=Statistics())
