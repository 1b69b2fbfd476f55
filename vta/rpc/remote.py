"""A session on a server, with the interface of a local one and TVM's names.

Tests: tests/vta/rpc/test_remote.py.
"""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.program import Program
from isa.program_file import program_to_bytes
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import keys_of
from vta.nd import CPU, EXT_DEV
from vta.rpc.caller import Caller
from vta.rpc.channel import Address
from vta.rpc.local import uploaded
from vta.rpc.messages.key import Key, read_key, users_key
from vta.rpc.messages.wire import CHUNK
from vta.rpc.remote_array import RemoteDevice, arrays_of
from vta.rpc.remote_module import RemoteModule, RemoteNetwork, pieces_of

__all__ = ["RemoteSession", "connect"]


class RemoteSession:
    """A device of a server: files, arrays, modules, networks. Closed by ``close``, ``with``, or when it is forgotten.

    Attributes
    ----------
    config : VTAConfig
        The configuration of its device.
    target : str
        What its device is: ``sim``, ``tsim``, ``reference``.
    hardware : HardwareSetup or None
        What its ``tsim`` simulates, as far as ``reconfigure`` said so.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.target = caller.opened.text("target", most=64)
        self.config = VTAConfig.from_dict(caller.opened.mapping("config"), where=str(caller.address))
        self.hardware: HardwareSetup | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session and all that is in it; a second time does nothing."""
        self.caller.close()

    def reconfigure(self, config: VTAConfig, hardware: HardwareSetup | None = None) -> None:
        """Give the device another configuration, as long as the session has no arrays and modules. See ``RpcError``.

        ``hardware`` is what a ``tsim`` simulates, which stays as it is for None.
        """
        if config.digest != self.config.digest or hardware not in (None, self.hardware):
            keys = None if hardware is None else keys_of(hardware)
            self.caller.call("configure", config=config.to_dict(), hardware=keys)
            self.config, self.hardware = config, hardware or self.hardware

    def limit_calls(self, seconds: float) -> None:
        """Let a call take this long at most, or as long as the server lets it for 0; a longer one ends the session."""
        self.caller.call_seconds = seconds

    def upload(self, data: str | Path | bytes | bytearray, target: str | None = None) -> None:
        """Copy a file (or bytes, then with a ``target`` name) into the session's folder."""
        name, content = uploaded(data, target)
        self.caller.calls("upload", pieces_of(name, content))

    def download(self, path: str) -> bytearray:
        """Return the bytes of a file of the session's folder."""
        first = self.caller.call("download", name=path, offset=0)
        size = first.number("size")
        rest = ({"name": path, "offset": offset} for offset in range(CHUNK, size, CHUNK))
        return bytearray().join(
            answer.data("data", most=CHUNK) for answer in (first, *self.caller.calls("download", rest))
        )

    def remove(self, path: str) -> None:
        """Delete a file of the session's folder."""
        self.caller.call("remove", name=path)

    def load_module(self, path: str) -> RemoteModule:
        """Load an uploaded object file on the server; its configuration must be that of the device."""
        return RemoteModule(self.caller, self.caller.call("load_module", name=path))

    def load_network(self, path: str) -> RemoteNetwork:
        """Load an uploaded network (``.vtam``) on the server: data, no native code."""
        return RemoteNetwork(self.caller, self.caller.call("load_network", name=path))

    def run_program(self, program: Program) -> dict[str, npt.NDArray[np.generic]]:
        """Run a program that brings its own memory contents; return its outputs by name."""
        self.upload(program_to_bytes(program), "program.vtab")
        answer = self.caller.call("run_program", name="program.vtab")
        return {name: array.numpy() for name, array in arrays_of(self.caller, answer).items()}

    def ext_dev(self, dev_id: int = 0) -> RemoteDevice:
        """Return the accelerator."""
        return RemoteDevice(EXT_DEV, dev_id, caller=self.caller)

    def cpu(self, dev_id: int = 0) -> RemoteDevice:
        """Return the memory of the processor that drives it."""
        return RemoteDevice(CPU, dev_id, caller=self.caller)

    def device(self, dev_type: str | int, dev_id: int = 0) -> RemoteDevice:
        """Return a device by TVM's name or number."""
        return self.cpu(dev_id) if dev_type in ("cpu", "llvm", CPU) else self.ext_dev(dev_id)

    context = device

    def get_function(self, name: str) -> Callable[..., object]:
        """Return a function of the session by TVM's name: the profiler's of ``vta.simulator`` and ``vta.tsim``."""
        return lambda *arguments: self.caller.call("function", name=name, arguments=list(arguments)).value("value")

    def __repr__(self) -> str:
        return f"<remote session on {self.caller.address}: {self.target}, {self.config.bitstream}>"


def connect(
    url: str,
    port: int,
    key: str = "",
    session_timeout: float = 0,
    *,
    key_file: str | Path | None = None,
    certificate: str | Path | None = None,
    config: VTAConfig | None = None,
    reconnect_seconds: float = 10.0,
) -> RemoteSession:
    """Open a session on the server at ``url`` (a host) and ``port``; waits for a device that is free.

    ``key`` is TVM's: the kind of device (``sim``, ``tsim``, ...), any if empty. ``session_timeout`` are the seconds of
    the session, 0 for as many as the server gives. ``key_file`` has the shared key, by default the user's own
    (``messages.key``). ``certificate`` is the file that a server with TLS must show. ``config`` asks for a device of
    this configuration. Raises ``LostError`` if nobody is there, ``HandshakeError`` for another key or version,
    ``RpcError`` for what the server does not have.
    """
    address = Address(url, port, key_of(key_file), None if certificate is None else str(certificate))
    opening: dict[str, object] = {"target": key, "seconds": float(session_timeout)}
    if config is not None:
        opening["digest"] = config.digest
    return RemoteSession(Caller(address, opening, reconnect_seconds=reconnect_seconds))


def key_of(key_file: str | Path | None) -> Key:
    """Return the key in a file, the user's own for None."""
    return users_key() if key_file is None else read_key(key_file)
