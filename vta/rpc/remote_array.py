"""Arrays on a server. Tests: tests/vta/rpc/test_remote.py."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runtime.memory.array import ElsewhereArray, StoredArray
from vta.codegen.module import Module
from vta.nd import CPU, Device, NDArray
from vta.rpc.caller import Caller
from vta.rpc.messages.fields import Fields, MessageError
from vta.rpc.messages.wire import CHUNK

__all__ = ["RemoteArray", "RemoteDevice", "arrays_of"]

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class RemoteDevice(Device):
    """A device of a remote session, for ``vta.nd.array(a, remote.ext_dev(0))``."""

    caller: Caller | None = None

    def empty(self, shape: Sequence[int], dtype: str) -> "RemoteArray":
        """Return a new array there."""
        assert self.caller is not None
        wanted = StoredArray(shape, dtype)  # refused here in the words of every other array
        made = self.caller.call("empty", device=self.device_type, shape=list(wanted.shape), dtype=wanted.dtype)
        return RemoteArray(self, made.number("array"), wanted.shape, wanted.dtype)


class RemoteArray(ElsewhereArray, NDArray):
    """An array of a remote session; freed there when it is forgotten here."""

    def __init__(self, device: RemoteDevice, number: int, shape: Sequence[int], dtype: str) -> None:
        super().__init__(shape, dtype)
        assert device.caller is not None
        self.number = number
        self.caller = device.caller
        self._device = device
        self._release = weakref.finalize(self, device.caller.release, number)
        self._release.atexit = False  # the session ends with the process

    @property
    def device(self) -> RemoteDevice:
        """Where it is."""
        return self._device

    def call_there(self, module: object, function: str, arguments: Sequence[object]) -> None:
        """Call a function of a module of this process there, which is sent at its first call."""
        from vta.rpc.remote_module import sent_module  # which knows arrays

        assert isinstance(module, Module)
        sent_module(self.caller, module)[function](*arguments)

    def _load(self) -> Bytes:
        offsets = range(0, self.nbytes, CHUNK)
        pieces = ({"array": self.number, "offset": at, "nbytes": min(CHUNK, self.nbytes - at)} for at in offsets)
        answers = self.caller.calls("read", pieces)
        return np.frombuffer(bytearray().join(answer.data("data", most=CHUNK) for answer in answers), np.uint8)

    def _store(self, packed: Bytes) -> None:
        data = np.ascontiguousarray(packed).data.cast("B")
        offsets = range(0, len(data), CHUNK)
        pieces = ({"array": self.number, "offset": at, "data": bytes(data[at : at + CHUNK])} for at in offsets)
        self.caller.calls("write", pieces)


def arrays_of(caller: Caller, answer: Fields) -> dict[str, RemoteArray]:
    """Return the arrays that an answer lists as outputs, by name."""
    found = {}
    for entry in answer.entries("outputs"):
        match entry:
            case [str() as name, int() as number, list() as shape, str() as dtype, int()]:
                extents = [int(extent) for extent in shape if isinstance(extent, int)]
                found[name] = RemoteArray(RemoteDevice(CPU, 0, caller=caller), number, extents, dtype)
            case _:
                raise MessageError("an output is a name, a number, a shape and a type")
    return found
