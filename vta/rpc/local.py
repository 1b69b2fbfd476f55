"""The session of a simulator in this process, with the interface of a remote one.

Tests: tests/vta/front/test_rpc.py.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Self, cast

from isa.config import VTAConfig
from runtime.devices.device import HardwareSetup
from runtime.session import Session, SessionError
from vta.chosen_remote import chosen_remote
from vta.codegen.module import Module, load_module
from vta.environment import Environment, get_env
from vta.nd import CPU, EXT_DEV, Device
from vta.rpc.errors import RpcError
from vta.rpc.work_folder import WorkFolder

__all__ = ["LocalSession", "function_of", "uploaded"]


class LocalSession:
    """A device in this process, with a folder of its own for uploaded files.

    ``session`` is the runtime's: that of ``env`` (the current environment if left out), shared with everybody who uses
    this environment. In a script that runs on a server (``vta run --remote``), it is the session there instead.
    """

    def __new__(cls, env: Environment | None = None) -> Self:
        """Return the remote session that was chosen, if one was and has the configuration of ``env``."""
        remote = chosen_remote()
        if remote is None:
            return super().__new__(cls)
        wanted = (env or get_env()).config
        if wanted.digest != remote.config.digest:
            raise RpcError(
                f"the script asks for configuration {wanted.digest}, and the session of --remote has "
                f"{remote.config.digest}; choose it with --config"
            )
        return cast(Self, remote)

    def __init__(self, env: Environment | None = None) -> None:
        self.env = env or get_env()
        self.session: Session = self.env.session
        self._folder = WorkFolder()

    @property
    def config(self) -> VTAConfig:
        """The configuration of the device."""
        return self.session.config

    def reconfigure(self, config: VTAConfig, hardware: HardwareSetup | None = None) -> None:
        """Check that the device has this configuration: what is shared is not changed. Raises ``SessionError``."""
        self.session.require_config(config, "the current environment")
        found = self.session.device.capabilities.setup
        if hardware is not None and hardware != found:
            raise SessionError(
                f"the current environment is for {hardware}, and the device is {found}; make a session "
                "of that environment, LocalSession(env)"
            )

    def upload(self, data: str | Path | bytes | bytearray, target: str | None = None) -> None:
        """Copy a file (or bytes, then with a ``target`` name) into the session's folder."""
        name, content = uploaded(data, target)
        self._folder.write(name, content)

    def download(self, path: str) -> bytearray:
        """Return the bytes of an uploaded file."""
        return bytearray(self._folder.read(path))

    def remove(self, path: str) -> None:
        """Delete an uploaded file."""
        self._folder.remove(path)

    def local_path(self, path: str) -> Path:
        """Return where an uploaded file lies; raises ``RpcError`` if there is none."""
        return self._folder.existing(path)

    def load_module(self, path: str) -> Module:
        """Load an uploaded object file; its configuration must be that of the device."""
        module = load_module(self.local_path(path))
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
        return function_of(self.session, name)


def uploaded(data: str | Path | bytes | bytearray, target: str | None) -> tuple[str, bytes]:
    """Return name and contents of what ``upload`` was given."""
    if isinstance(data, bytes | bytearray):
        if target is None:
            raise RpcError("upload of bytes: give the file a name with target=")
        return target, bytes(data)
    source = Path(data)
    if not source.is_file():
        raise RpcError(f"upload: {source} is not a file")
    return source.name if target is None else target, source.read_bytes()


def function_of(session: Session, name: str) -> Callable[..., object]:
    """Return what TVM's global name stands for on ``session``; raises ``RpcError``, which lists them."""
    device = session.device
    profiler: dict[str, tuple[int, Callable[..., object]]] = {
        "profiler_clear": (0, device.clear_stats),
        "profiler_status": (0, lambda: json.dumps(device.stats.as_dict())),
        "profiler_debug_mode": (1, device.debug_mode),
    }
    functions = {f"vta.{module}.{key}": entry for module in ("simulator", "tsim") for key, entry in profiler.items()}
    if name not in functions:
        raise RpcError(f"the session has no function {name!r}; it has {', '.join(functions)}")
    count, function = functions[name]

    def call(*arguments: object) -> object:
        numbers = [each for each in arguments if isinstance(each, int)]
        if len(numbers) != len(arguments) or len(arguments) != count:
            expected = "a number" if count else "no argument"
            raise RpcError(f"{name} takes {expected}, not {', '.join(map(_said, arguments)) or 'nothing'}")
        return function(*numbers)

    return call


def _said(argument: object) -> str:
    """Return an argument as an error shows it."""
    text = repr(argument)
    return text if len(text) <= 40 else f"{text[:40]}..."
