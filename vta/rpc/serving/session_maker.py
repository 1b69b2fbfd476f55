"""What a device's process makes its sessions with: a simulator of some kind, or a ``BuiltBoard``.

Tests: tests/vta/rpc/test_served_board.py, tests/vta/rpc/test_server.py.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from isa.config import VTAConfig
from runtime.devices.device import HardwareSetup
from runtime.session import Session

__all__ = ["BOARD", "SessionMaker", "Simulator"]

BOARD = "board"
"""The kind of device that a board is, beside the names of simulators."""


class SessionMaker(Protocol):
    """Makes sessions, one after the other."""

    def session(self, config: VTAConfig, setup: HardwareSetup | None) -> AbstractContextManager[Session]:
        """Open a session on the device with this configuration and hardware; what was opened is given back behind it.

        Raises a ``VTAError`` if the device cannot be made so.
        """


@dataclass(frozen=True, slots=True)
class Simulator:
    """A simulator by its name, whose memory has ``memory`` bytes."""

    target: str
    memory: int

    @contextmanager
    def session(self, config: VTAConfig, setup: HardwareSetup | None) -> Iterator[Session]:
        """Yield a session on a new device: any configuration will do."""
        yield Session(config, self.target, setup=setup, memory_limit=self.memory)
