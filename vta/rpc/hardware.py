"""What board scripts do before they run: configure the runtime, program the FPGA. A simulator needs neither.

Tests: tests/vta/front/test_rpc.py.
"""

from vta.environment import get_env
from vta.rpc.local import LocalSession

__all__ = ["program_fpga", "reconfig_runtime"]


def reconfig_runtime(remote: LocalSession) -> None:
    """Check that the session's device has the configuration of the current environment.

    A simulator is made for its configuration, so there is nothing to change; ``SessionError`` names both if they
    differ.
    """
    remote.session.require_config(get_env().config, "the current environment")


def program_fpga(remote: LocalSession, bitstream: str | None = None) -> None:  # upstream's signature
    """Do nothing: a simulator has no FPGA, and ``bitstream`` is not looked for."""
