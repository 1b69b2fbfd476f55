"""What board scripts do before they run: configure the runtime, program the FPGA. A simulator needs neither.

Tests: tests/vta/front/test_rpc.py.
"""

from pathlib import Path

from vta.environment import get_env
from vta.rpc.local import LocalSession
from vta.rpc.remote import RemoteSession

__all__ = ["get_bitstream_path", "module_loader", "program_fpga", "reconfig_runtime"]


def get_bitstream_path() -> str:
    """Return where the bitstream of the current environment lies, or would lie, in upstream's folder of them."""
    env = get_env()
    return str(Path.home() / ".vta_cache" / env.TARGET / f"{env.config.bitstream}.bit")


def reconfig_runtime(remote: LocalSession | RemoteSession) -> None:
    """See that the session's device has the configuration of the current environment.

    A remote simulator takes it at the beginning of a session, and ``tsim`` the hardware that the environment names. The
    device of this process is made for its configuration and shared, so there is nothing to change: ``SessionError``
    names both if they differ.
    """
    env = get_env()
    remote.reconfigure(env.config, env.hardware)


def program_fpga(remote: LocalSession | RemoteSession, bitstream: str | None = None) -> None:  # upstream's signature
    """Do nothing: a simulator has no FPGA, and ``bitstream`` is not looked for."""


def module_loader(bitstream: str | None = None) -> None:  # upstream's signature
    """Return nothing: ``autotvm.RPCRunner`` loads modules itself, and simulators have no FPGA."""
