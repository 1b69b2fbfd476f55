"""The session of a simulator in this process, with the interface of a remote one.

Tests: tests/vta/front/test_rpc.py.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from isa.errors import VTAError
from runtime.session import Session
from vta.codegen.module import Module, load_module
from vta.environment import Environment, get_env
from vta.nd import CPU, EXT_DEV, Device
from vta.temporary_folder import TemporaryFolder

__all__ = ["LocalSession", "RpcError"]

_LONGEST_NAME = 255
"""Bytes of a file's name, on every system that there is."""


class RpcError(VTAError, ValueError):
    """Something that a session does not have: a file, a function."""


class LocalSession:
    """A device in this process, with a folder of its own for uploaded files.

    ``session`` is the runtime's: that of ``env`` (the current environment if left out), shared with everybody who uses
    this environment.
    """

    def __init__(self, env: Environment | None = None) -> None:
        self.env = env or get_env()
        self.session: Session = self.env.session
        self._folder = TemporaryFolder("vta-session-")

    def upload(self, data: str | Path | bytes | bytearray, target: str | None = None) -> None:
        """Copy a file (or bytes, then with a ``target`` name) into the session's folder."""
        if isinstance(data, bytes | bytearray):
            if target is None:
                raise RpcError("upload of bytes: give the file a name with target=")
            content = bytes(data)
        else:
            source = Path(data)
            if not source.is_file():
                raise RpcError(f"upload: {source} is not a file")
            content = source.read_bytes()
            target = target or source.name
        self._path(target).write_bytes(content)

    def download(self, path: str) -> bytearray:
        """Return the bytes of an uploaded file."""
        return bytearray(self._existing(path).read_bytes())

    def remove(self, path: str) -> None:
        """Delete an uploaded file."""
        self._existing(path).unlink()

    def load_module(self, path: str) -> Module:
        """Load an uploaded object file; its configuration must be that of the device."""
        module = load_module(self._existing(path))
        self.session.require_config(module.config, f"module {path!r}")
        return module

    def ext_dev(self, dev_id: int = 0) -> Device:
        """Return the accelerator."""
        return Device(EXT_DEV, dev_id, self.session)

    def cpu(self, dev_id: int = 0) -> Device:
        """Return the memory of the processor that drives it."""
        return Device(CPU, dev_id)

    def device(self, dev_type: str | int, dev_id: int = 0) -> Device:
        """Return a device by TVM's name or number."""
        return self.cpu(dev_id) if dev_type in ("cpu", "llvm", CPU) else self.ext_dev(dev_id)

    context = device

    def get_function(self, name: str) -> Callable[..., object]:
        """Return a function of the session by TVM's global name: the profiler's of ``vta.simulator`` and ``vta.tsim``.

        Both act on the session's device, whichever it is; the status is JSON, as in TVM.
        """
        device = self.session.device
        profiler: dict[str, Callable[..., object]] = {
            "profiler_clear": device.clear_stats,
            "profiler_status": lambda: json.dumps(device.stats.as_dict()),
            "profiler_debug_mode": device.debug_mode,
        }
        functions = {f"vta.{module}.{key}": call for module in ("simulator", "tsim") for key, call in profiler.items()}
        if name not in functions:
            raise RpcError(f"the session has no function {name!r}; it has {', '.join(functions)}")
        return functions[name]

    def _path(self, name: str) -> Path:
        if not _is_plain(name):
            raise RpcError(f"{name!r}: files of a session have plain names, without folders")
        return self._folder.path / name

    def _existing(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            uploaded = ", ".join(sorted(p.name for p in path.parent.iterdir())) or "nothing"
            raise RpcError(f"no file {name!r} was uploaded to this session; there is {uploaded}")
        return path


def _is_plain(name: str) -> bool:
    """Whether ``name`` can be that of a file, and of nothing but a file in a folder."""
    try:
        encoded = os.fsencode(name)
    except (TypeError, UnicodeEncodeError):
        return False
    return Path(name).name == name and name not in ("", "..") and b"\0" not in encoded and len(encoded) <= _LONGEST_NAME
