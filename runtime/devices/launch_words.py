"""The instruction words of a launch, read from device memory.

Tests: ``tests/runtime/devices/test_device_errors.py``.
"""

import numpy as np
import numpy.typing as npt

from isa.encoding import INSTRUCTION_BYTES
from runtime.devices.device import DeviceError
from runtime.memory.device_memory import FIRST_ADDRESS, DeviceMemory

__all__ = ["read_launch", "require_in_memory"]


def require_in_memory(memory: DeviceMemory, address: int, count: int) -> None:
    """Raise ``DeviceError`` unless ``count`` is at least one and all words at ``address`` are in memory."""
    end = address + count * INSTRUCTION_BYTES
    if count < 1:
        raise DeviceError(f"a launch has at least one instruction, FINISH, not {count}")
    if address < FIRST_ADDRESS or end > memory.nbytes:
        raise DeviceError(
            f"instructions at {address:#x} to {end - 1:#x} are outside of the mapped range "
            f"{FIRST_ADDRESS:#x} to {memory.nbytes:#x}"
        )


def read_launch(memory: DeviceMemory, address: int, count: int) -> npt.NDArray[np.uint64]:
    """Return a copy of ``count`` words at ``address``, shape (count, 2); refuse a range that is not in memory."""
    require_in_memory(memory, address, count)
    raw = memory.view(address, count * INSTRUCTION_BYTES)
    return raw.copy().view("<u8").reshape(-1, 2).astype(np.uint64)
