"""Arrays under TVM's names: ``vta.nd.array(a, device)``, ``vta.nd.empty(shape, dtype, device)``, devices.

An array lies in host memory (``cpu()``) or in the memory of a session's accelerator (``ext_dev()``).
Tests: tests/vta/front/test_nd.py.
"""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from runtime.memory.array import ArrayError, DeviceArray, HostArray, StoredArray
from runtime.session import Session
from vta.chosen_remote import chosen_remote
from vta.environment import get_env
from vta.tir.expr import ExprLike, IntImm

__all__ = [
    "CPU", "EXT_DEV", "Device", "DeviceError", "NDArray", "array", "cpu", "device", "empty", "ext_dev", "from_dlpack",
]  # fmt: skip

CPU, EXT_DEV = 1, 12
"""Device types, with the numbers of TVM (and DLPack)."""


class DeviceError(VTAError, ValueError):
    """A device that is not there."""


class NDArray(StoredArray):
    """An array on a device: in host memory, in an accelerator's, or in that of a remote session."""

    @property
    def device(self) -> "Device":
        """Where it is."""
        raise NotImplementedError

    @property
    def ctx(self) -> "Device":
        """Where it is (the old name of ``device``)."""
        return self.device

    def asnumpy(self) -> npt.NDArray[np.generic]:
        """Return the contents, a copy (the old name of ``numpy``)."""
        return self.numpy()

    def copyto(self, target: "StoredArray | Device") -> StoredArray:
        """Give the contents to another array of the same shape, or to a new one on a device; return it."""
        if isinstance(target, Device):
            target = target.empty(self.shape, self.dtype)
        return target.copyfrom(self)

    def __setitem__(self, index: object, value: "npt.ArrayLike | StoredArray") -> None:
        """Take over all contents: ``array[:] = value``; a single number fills the array."""
        if index != slice(None):
            raise ArrayError(f"array of shape {self.shape}: only all of it can be set, array[:] = ..., not [{index!r}]")
        if isinstance(value, StoredArray):
            self.copyfrom(value)
        else:
            given = np.asarray(value)
            self.copyfrom(np.broadcast_to(given, self.shape) if given.ndim == 0 else given)


class HostNDArray(HostArray, NDArray):
    """An array in host memory."""

    @property
    def device(self) -> "Device":
        """Where it is."""
        return cpu(0)

    def _create_view(self, shape: Sequence[int]) -> "HostNDArray":
        """Return an array of another shape over the same memory."""
        if math.prod(shape) != math.prod(self.shape):
            raise ArrayError(f"array of shape {self.shape}: a view of shape {tuple(shape)} has another size")
        return HostNDArray.over(self.view().reshape(tuple(shape)))

    def __dlpack__(self, **options: object) -> object:
        """Return a capsule of DLPack's over the same memory."""
        view: Any = self.view()
        return view.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return where the memory is, as DLPack counts."""
        return CPU, 0

    def to_dlpack(self) -> "HostNDArray":
        """Return what ``from_dlpack`` of any library takes, over the same memory: the array itself."""
        return self


class DeviceNDArray(DeviceArray, NDArray):
    """An array in device memory."""

    @property
    def device(self) -> "Device":
        """Where it is."""
        return Device(EXT_DEV, 0, self.session)


@dataclass(frozen=True)
class Device:
    """A place for arrays: host memory, or the accelerator of ``session``. A remote session derives its own."""

    device_type: int
    device_id: int = 0
    session: Session | None = None

    def __post_init__(self) -> None:
        if self.device_type not in (CPU, EXT_DEV):
            raise DeviceError(
                f"device type {self.device_type} is unknown; there are cpu ({CPU}) and ext_dev ({EXT_DEV})"
            )
        if self.device_id != 0:
            raise DeviceError(f"device {self} is not there; there is one device of each kind, number 0")

    @property
    def exist(self) -> bool:
        """Whether it can be used."""
        return True

    def empty(self, shape: Sequence[int], dtype: str) -> NDArray:
        """Return a new array here."""
        return HostNDArray(shape, dtype) if self.session is None else DeviceNDArray(self.session, shape, dtype)

    def sync(self) -> None:
        """Wait until it is idle, which it always is: a function returns when its work is done."""

    def __str__(self) -> str:
        return f"{'cpu' if self.device_type == CPU else 'ext_dev'}({self.device_id})"


def cpu(dev_id: int = 0) -> Device:
    """Return the host's memory."""
    return Device(CPU, dev_id)


def ext_dev(dev_id: int = 0) -> Device:
    """Return the accelerator of the current environment, or of the remote session that a script runs on."""
    remote = chosen_remote()
    if remote is not None:
        return remote.ext_dev(dev_id)
    return Device(EXT_DEV, dev_id, get_env().session)


def device(dev_type: str | int, dev_id: int = 0) -> Device:
    """Return a device by TVM's name or number: "cpu" (also "llvm") or "ext_dev"."""
    match dev_type:
        case "cpu" | "llvm" | "c" | 1:
            return cpu(dev_id)
        case "ext_dev" | "vta" | 12:
            return ext_dev(dev_id)
        case _:
            raise DeviceError(f"device {dev_type!r} is unknown; there are 'cpu' and 'ext_dev'")


def empty(shape: ExprLike | Sequence[ExprLike], dtype: str = "float32", device: Device | None = None) -> NDArray:
    """Return a new array on ``device`` (host memory if left out), filled with whatever lay there."""
    extents = [_extent(e) for e in (shape if isinstance(shape, Sequence) and not isinstance(shape, str) else [shape])]
    return (device or cpu()).empty(extents, str(dtype))


def array(arr: npt.ArrayLike | NDArray, device: Device | None = None, *, dtype: str | None = None) -> NDArray:
    """Return a copy of ``arr`` on ``device`` (host memory if left out).

    ``dtype`` names a type that numpy does not have ("int4"); the values must fit it.
    """
    if isinstance(arr, StoredArray):
        result = empty(arr.shape, dtype or arr.dtype, device)
        result.copyfrom(arr)
        return result
    values = np.asarray(arr)
    result = empty(values.shape, dtype or str(values.dtype), device)
    result.copyfrom(values)
    return result


def from_dlpack(source: object) -> NDArray:
    """Return an array over the memory of another library's array (numpy, torch), which it shares.

    Raises ``ArrayError`` where the rows do not lie one after the other, or the memory is not the host's.
    """
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise ArrayError(f"from_dlpack takes an array of a library that has DLPack, not {type(source).__name__}")
    try:
        view = np.from_dlpack(source)
    except (BufferError, RuntimeError, ValueError, TypeError) as error:
        raise ArrayError(f"from_dlpack: {error}") from error
    return HostNDArray.over(_writable(view))


def _writable(view: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array over the same memory that can be written: before 2.3, numpy took over everything as read-only.

    Since then only what its owner does not let be written is.
    """
    taken_over_as_it_is = np.lib.NumpyVersion(np.__version__) >= "2.3.0"
    if view.flags.writeable or taken_over_as_it_is or not view.size or not view.flags.c_contiguous:
        return view
    memory: Any = (ctypes.c_ubyte * view.nbytes).from_address(view.ctypes.data)
    memory.owner = view  # kept as long as the memory is used
    return np.frombuffer(memory, view.dtype).reshape(view.shape)


def _extent(value: object) -> int:
    match value:
        case IntImm():
            return value.value
        case int() | np.integer():
            return int(value)
        case _:
            raise ArrayError(f"array: an extent is a number, not {value!r}")
