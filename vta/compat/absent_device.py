"""Devices of TVM's that are not here: ``tvm.device("cuda").exist`` is False, and nothing else can be done with them.

Tests: tests/vta/compat/test_absent_device.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vta import nd

__all__ = ["AbsentDevice", "any_device"]

_TYPES: Mapping[str, int] = {"cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10, "hexagon": 14}


@dataclass(frozen=True)
class AbsentDevice:
    """A device that there is not."""

    name: str
    device_id: int

    @property
    def device_type(self) -> int:
        """Its number in TVM."""
        return _TYPES[self.name]

    @property
    def exist(self) -> bool:
        """False."""
        return False

    def empty(self, shape: Sequence[int], dtype: str) -> nd.NDArray:  # noqa: ARG002  # a device's method
        """Refuse: it has no memory."""
        raise nd.DeviceError(f"device {self} is not there; there are cpu(0) and ext_dev(0)")

    def sync(self) -> None:
        """Do nothing: it never works."""

    def __str__(self) -> str:
        return f"{self.name}({self.device_id})"


def any_device(dev_type: str | int, dev_id: int = 0) -> nd.Device | AbsentDevice:
    """Return a device by TVM's name or number, there or not."""
    for name, number in _TYPES.items():
        if dev_type in (name, number):
            return AbsentDevice(name, dev_id)
    return nd.device(dev_type, dev_id)
