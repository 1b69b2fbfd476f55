"""Where launches lie in device memory, and how they get to the device.

Micro-ops and instructions have an area of 32 MiB each, allocated one after the other at first use, as upstream's
runtime does, so that addresses can be compared.

Tests: ``tests/runtime/queue/test_launch.py``.
"""

from collections.abc import Callable

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import MemoryId
from runtime.devices.device import Device
from runtime.memory.device_memory import Allocation, DeviceMemory, DeviceMemoryError
from runtime.observe.dump import dump_launch
from runtime.observe.stats import LaunchStats
from runtime.queue.launch import Launch, LaunchAddresses

__all__ = ["AREA_BYTES", "Launcher", "LauncherError"]

AREA_BYTES = 1 << 25
"""Bytes of the instruction area and of the micro-op area (upstream's VTA_MAX_XFER)."""


class LauncherError(VTAError, RuntimeError):
    """A launch that does not belong to this device, or whose buffers are gone."""


class Launcher:
    """Runs launches on one device.

    Attributes
    ----------
    listeners:
        Called with each launch just before it runs.
    finishers:
        Called after each launch: with its error if it failed, or None.
    write:
        Takes the text of dumps (standard output by default).
    dump:
        Whether to write the text of each launch before it runs.
    launches, launch_stats:
        What ran, and what it did, if ``record`` was asked for.
    """

    def __init__(
        self,
        config: VTAConfig,
        memory: DeviceMemory,
        device: Device,
        *,
        area_bytes: int = AREA_BYTES,
        record: bool = False,
    ) -> None:
        if device.config.digest != config.digest:
            raise LauncherError(
                f"programs are for {config.bitstream} (digest {config.digest}), and device {device.name!r} is "
                f"{device.config.bitstream} (digest {device.config.digest})"
            )
        self.config = config
        self.memory = memory
        self.device = device
        self.listeners: list[Callable[[Launch], None]] = []
        self.finishers: list[Callable[[Exception | None], None]] = []
        self.write: Callable[[str], object] = _print
        self.dump = False
        self.launches: list[Launch] = []
        self.launch_stats: list[LaunchStats] = []
        self._area_bytes = area_bytes
        self._record = record
        self._areas: tuple[Allocation, Allocation] | None = None
        self._zeros: Allocation | None = None

    @property
    def addresses(self) -> LaunchAddresses:
        """Where micro-ops and instructions lie; the areas are allocated when this is first asked for."""
        if self._areas is None:
            uops = self.memory.alloc(self._area_bytes)
            try:
                self._areas = (uops, self.memory.alloc(self._area_bytes))
            except DeviceMemoryError:
                self.memory.free(uops)
                raise
        return LaunchAddresses(instructions=self._areas[1].address, uops=self._areas[0].address)

    @property
    def zero_element(self) -> Allocation:
        """A block that holds one element of zeros of any memory, allocated when it is first asked for."""
        if self._zeros is None:
            self._zeros = self.memory.alloc(max(self.config.elem_bytes(memory) for memory in MemoryId))
        return self._zeros

    def submit(self, launch: Launch) -> LaunchStats:
        """Copy a finished launch into device memory and run it."""
        addresses = self.addresses
        if launch.addresses != addresses:
            raise LauncherError(
                f"the launch has its micro-ops at {launch.addresses.uops:#x}, and this queue's are at "
                f"{addresses.uops:#x}; it belongs to another session, or to the time before a shutdown"
            )
        freed = next((buffer for buffer in launch.buffers if not self.memory.is_live(buffer)), None)
        if freed is not None:
            raise LauncherError(
                f"the buffer at {freed.address:#x} was freed before the instructions that use it ran; synchronise first"
            )
        for address, words in ((addresses.uops, launch.uops), (addresses.instructions, launch.array)):
            self.memory.view(address, words.nbytes)[:] = words.reshape(-1).view("u1")
        for listener in self.listeners:
            listener(launch)
        if self.dump:
            self.write(dump_launch(launch))
        try:
            stats = self.device.launch(addresses.instructions, len(launch), origins=launch.origins)
        except Exception as error:
            self._finished(error)
            raise
        self._finished(None)
        if self._record:
            self.launches.append(launch)
            self.launch_stats.append(stats)
        return stats

    def _finished(self, error: Exception | None) -> None:
        for finisher in self.finishers:
            finisher(error)

    def close(self) -> None:
        """Give the memory areas back; the next use allocates new ones."""
        for block in (*(self._areas or ()), *((self._zeros,) if self._zeros else ())):
            self.memory.free(block)
        self._areas = self._zeros = None


def _print(text: str) -> None:
    """Write to what is standard output now, if there is one."""
    print(text, end="")
