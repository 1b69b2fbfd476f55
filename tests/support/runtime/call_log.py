"""Listening to the runtime calls of compiled code, in the format of the recorded call listings."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from runtime import c_api
from runtime.session import Session

__all__ = ["CallLog"]

_LOAD = (
    "off", "x_size", "y_size", "x_stride", "x_pad_before", "y_pad_before", "x_pad_after", "y_pad_after", "sram", "mem",
)  # fmt: skip
_STORE = ("off", "x_size", "y_size", "x_stride")


class CallLog:
    """The C API with a listener in front of every function; ``lines`` has the calls."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._kernels = 0
        self._callbacks = {name: self._wrap(name, function) for name, function in c_api.functions().items()}

    @contextmanager
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> Iterator["CallLog"]:
        """Give compiled modules that are linked from now on the listening functions."""
        addresses = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in self._callbacks.items()}
        with monkeypatch.context() as patch:
            patch.setattr(c_api, "symbols", lambda: addresses)
            yield self

    def take(self) -> list[str]:
        """Return the lines so far and begin anew."""
        lines, self.lines, self._kernels = self.lines, [], 0
        return lines

    def _wrap(self, name: str, function: Any) -> Any:
        def listen(*arguments: int | None) -> object:
            self._note(name, [0 if a is None else a for a in arguments])
            before = len(self.lines)
            result = function(*arguments)
            if name.startswith("VTAPush") and len(self.lines) > before:
                self.lines.append(f"# kernel {self._kernels} created")
                self._kernels += 1
            return result

        return ctypes.CFUNCTYPE(function.restype, *function.argtypes)(listen)

    def _note(self, name: str, a: list[int]) -> None:
        match name:
            case "VTATLSCommandHandle" | "VTABufferCPUPtr" | "VTASetDebugMode":
                return
            case "VTAPushGEMMOp" | "VTAPushALUOp":
                signature = ctypes.string_at(a[2], a[3]) if a[3] else b""
                value = int.from_bytes(signature, "little", signed=True) if signature else -1
                self.lines.append(f"{name} nbytes={a[3]} sig={value}")
            case "VTALoadBuffer2D":
                self._line(name, dram=_address(a[1]), **dict(zip(_LOAD, a[2:], strict=True)))
            case "VTAStoreBuffer2D":
                rest = dict(zip(_STORE, a[4:], strict=True))
                self._line(name, sram=a[1], mem=a[2], dram=_address(a[3]), **rest)
            case "VTADepPush" | "VTADepPop" | "VTASynchronize":
                self.lines.append(" ".join([name, *map(str, a[1:])]))
            case _:
                self.lines.append(" ".join([name, *map(str, a)]))

    def _line(self, name: str, **fields: int) -> None:
        self.lines.append(" ".join([name, *(f"{key}={value}" for key, value in fields.items())]))


def _address(handle: int) -> int:
    return Session.current().handles.get(handle).address
