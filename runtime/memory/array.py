"""Arrays in device memory and in host memory, with one small interface for both.

Types are numpy's, and ``int1``, ``int2``, ``int4``, ``uint1``, ``uint2`` and ``uint4``, whose numbers are packed,
lowest bits first, as the scratchpads hold them. ``numpy()`` of a packed array has int8 or uint8.

Tests: ``tests/runtime/memory/test_array.py``.
"""

import ctypes
import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from runtime.memory.device_memory import Allocation
from runtime.session import Session

__all__ = ["ArrayError", "DeviceArray", "ElementType", "ElsewhereArray", "HostArray", "MappedArray", "StoredArray"]

Array = npt.NDArray[np.generic]
Bytes = npt.NDArray[np.uint8]


class ArrayError(VTAError, ValueError):
    """An array that cannot be made, or copied from or to another one."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """A type of numbers: ``host`` is how numpy holds one, ``bits`` what it takes in memory."""

    name: str
    host: np.dtype[np.generic]
    bits: int

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the type called ``name``."""
        for kind in ("uint", "int"):
            if name.removeprefix(kind) in ("1", "2", "4"):
                return cls(name, np.dtype(f"{kind}8"), int(name.removeprefix(kind)))
        try:
            host = np.dtype(name)
        except TypeError:
            host = np.dtype(object)
        if host.kind not in "biuf":
            raise ArrayError(
                f"array: type {name!r} is unknown; use int8, int32, float32 and the like, or int4, int2, int1"
            )
        return cls(host.name, host, host.itemsize * 8)

    def nbytes(self, shape: Sequence[int]) -> int:
        """Return the bytes of an array of ``shape``."""
        return -(-math.prod(shape) * self.bits // 8)

    def pack(self, array: Array) -> Bytes:
        """Return the bytes of ``array``, which has type ``host``; of a packed type the low bits are kept."""
        flat = np.ascontiguousarray(array).reshape(-1)
        if self.bits >= 8:
            return flat.view(np.uint8)
        bits = (flat[:, None].astype(np.uint8) >> np.arange(self.bits, dtype=np.uint8)) & 1
        packed: Bytes = np.packbits(bits.reshape(-1), bitorder="little")
        return packed

    def unpack(self, raw: Bytes, shape: Sequence[int]) -> Array:
        """Return the array of ``shape`` in ``raw``, a copy."""
        if self.bits >= 8:
            return raw.view(self.host).reshape(shape).copy()
        count = math.prod(shape)
        bits = np.unpackbits(raw, bitorder="little")[: count * self.bits].reshape(count, self.bits)
        numbers: npt.NDArray[np.int16] = (
            (bits << np.arange(self.bits, dtype=np.uint8)).sum(axis=1, dtype=np.uint8).astype(np.int16)
        )
        if self.host.kind == "i":
            numbers -= (numbers >> (self.bits - 1)) << self.bits
        return numbers.astype(self.host).reshape(shape)


class StoredArray:
    """What arrays share wherever they are: shape, type and copies. ``_load`` and ``_store`` move their bytes."""

    def __init__(self, shape: Sequence[int], dtype: str) -> None:
        self.shape = tuple(int(extent) for extent in shape)
        if any(extent < 0 for extent in self.shape):
            raise ArrayError(f"array: shape {self.shape} has a negative extent")
        self._type = ElementType.of(dtype)

    @property
    def dtype(self) -> str:
        """Name of the type of its numbers."""
        return self._type.name

    @property
    def nbytes(self) -> int:
        """Bytes that it takes in memory."""
        return self._type.nbytes(self.shape)

    def _load(self) -> Bytes:
        """Return the bytes in memory, which may be the memory itself."""
        raise NotImplementedError

    def _store(self, packed: Bytes) -> None:
        """Put bytes into memory, as many as there are."""
        raise NotImplementedError

    def numpy(self) -> Array:
        """Return the contents, a copy."""
        return self._type.unpack(self._load(), self.shape)

    def copyfrom(self, source: "npt.ArrayLike | StoredArray") -> Self:
        """Take over the contents of another array, or of anything numpy makes one of; return this array.

        Shapes must be equal. Types must be equal too, unless every value survives the conversion.
        """
        if isinstance(source, StoredArray):
            if (source.shape, source.dtype) == (self.shape, self.dtype):
                self._store(source._load())
                return self
            source = source.numpy()
        array = np.asarray(source)
        if array.shape != self.shape:
            raise ArrayError(f"array of shape {self.shape}: cannot take over an array of shape {array.shape}")
        with np.errstate(invalid="ignore"):  # what is lost is found below
            converted = array.astype(self._type.host)
        packed = self._type.pack(converted)
        if array.dtype != self._type.host or self._type.bits < 8:
            kept = self._type.unpack(packed, self.shape)
            wrong = np.flatnonzero((kept != array).reshape(-1))
            if wrong.size and self._type.host.kind != "f":
                value = array.reshape(-1)[wrong[0]]
                raise ArrayError(f"array of {self.dtype}: it cannot hold the value {value}; convert the data first")
        self._store(packed)
        return self

    def copyto(self, target: "StoredArray") -> "StoredArray":
        """Give the contents to another array of the same shape; return it."""
        return target.copyfrom(self)


class ElsewhereArray(StoredArray):
    """An array that only another machine reaches: what is called on it is called there."""

    def call_there(self, module: object, function: str, arguments: Sequence[object]) -> None:
        """Call a function of a compiled module where the array is."""
        raise NotImplementedError


class MappedArray(StoredArray):
    """An array whose bytes this process can reach: ``_raw`` is a view of them."""

    def _raw(self) -> Bytes:
        raise NotImplementedError

    def span(self, offset: int, nbytes: int) -> Bytes:
        """Return some of its bytes, which share the memory; raises ``ArrayError`` outside of the array."""
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise ArrayError(
                f"array of shape {self.shape}: bytes {offset} to {offset + nbytes} are not within its {self.nbytes}"
            )
        return self._raw()[offset : offset + nbytes]

    def _load(self) -> Bytes:
        return self._raw()

    def _store(self, packed: Bytes) -> None:
        self._raw()[:] = packed


class HostArray(MappedArray):
    """An array in host memory; ``pointer`` is its address."""

    def __init__(self, shape: Sequence[int], dtype: str = "float32") -> None:
        super().__init__(shape, dtype)
        self._bytes: Bytes = np.zeros(max(self.nbytes, 1), np.uint8)
        self._owner: Array = self._bytes
        self.pointer = int(self._bytes.ctypes.data)

    @classmethod
    def over(cls, array: Array) -> Self:
        """Return an array of the memory of a numpy array, which it shares; that must be contiguous.

        Raises ``ArrayError`` for other layouts. The numpy array is kept as long as this one.
        """
        if not array.flags.c_contiguous:
            raise ArrayError(f"array of shape {array.shape}: its rows do not lie one after the other; copy it first")
        self = cls.__new__(cls)
        StoredArray.__init__(self, array.shape, array.dtype.name)
        flat: Bytes = np.ndarray((max(self.nbytes, 0),), np.uint8, array.data) if array.size else np.zeros(1, np.uint8)
        self._bytes = flat
        self._owner = array
        self.pointer = int(array.ctypes.data)
        return self

    def _raw(self) -> Bytes:
        return self._bytes[: self.nbytes]

    def view(self) -> Array:
        """Return the contents as a numpy array that shares the memory; a packed type's as bytes."""
        if self._type.bits < 8:
            return self._raw()
        return self._raw().view(self._type.host).reshape(self.shape)


class DeviceArray(MappedArray):
    """An array in a session's device memory, in a buffer of its own that is freed with the array.

    ``allocation`` is the buffer and ``handle`` what compiled code knows it by.
    """

    def __init__(self, session: Session, shape: Sequence[int], dtype: str = "float32") -> None:
        super().__init__(shape, dtype)
        self.session = session
        self.allocation: Allocation = session.memory.alloc(max(self.nbytes, 1))
        self.handle = session.handles.of(self.allocation)
        self._release = weakref.finalize(self, session.memory.release, self.allocation)
        # Device memory does not outlive the process, so there is nothing to do at its end.
        self._release.atexit = False

    def _raw(self) -> Bytes:
        if not self.session.memory.is_live(self.allocation):
            raise ArrayError(f"device array of shape {self.shape}: it was freed")
        return self.session.memory.view(self.allocation.address, self.nbytes)

    def free(self) -> None:
        """Free the buffer now; the array cannot be used afterwards."""
        self._raw()
        if self._release.detach() is not None:
            self.session.memory.free(self.allocation)

    @property
    def pointer(self) -> ctypes.c_void_p:
        """The handle as a ctypes argument."""
        return ctypes.c_void_p(self.handle)
