"""What a compiled function asks of the accelerator, asked once: its launches without addresses.

What a function asks depends on the sizes of its arrays alone, so a device that runs nothing is enough.
Tests: tests/runtime/executor/test_recorded.py.
"""

from collections.abc import Callable, Sequence

from isa.config import VTAConfig
from runtime.devices.idle import IdleDevice
from runtime.executor.stored_launch import StoredLaunch
from runtime.memory.array import DeviceArray
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session

__all__ = ["idle_session", "recorded_launches"]


def idle_session(config: VTAConfig) -> Session:
    """Return a session that keeps its launches, and whose device runs none of them."""
    return Session(config, IdleDevice(config, DeviceMemory()), record=True)


def recorded_launches(
    function: Callable[..., object], session: Session, arrays: Sequence[DeviceArray]
) -> tuple[StoredLaunch, ...]:
    """Call ``function`` with ``arrays`` and return what it launched on ``session``, which keeps its launches.

    Tensors of the launches are numbered as ``arrays`` are. Raises ``StoredLaunchError`` for one that touches others.
    """
    launcher = session.queue.launcher
    before = len(launcher.launches)
    function(*arrays)
    numbers = {array.allocation: number for number, array in enumerate(arrays)}
    return tuple(StoredLaunch.of(launch, numbers, launcher.zero_element) for launch in launcher.launches[before:])
