"""What a device's process makes its sessions with: a simulator of some kind, or a board.

Tests: tests/vta/rpc/test_served_board.py, tests/vta/rpc/test_server.py.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from isa.config import VTAConfig
from runtime.devices.device import HardwareSetup
from runtime.drivers.board_file import configurations, read_json
from runtime.session import Session
from vta.rpc.errors import RpcError

__all__ = ["BOARD", "ServedBoard", "SessionMaker", "Simulator"]

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


@dataclass(frozen=True, slots=True)
class ServedBoard:
    """A board by the folder of its build, and the serial port that it is reached over, if it is."""

    folder: Path
    serial: str | None = None

    @contextmanager
    def session(self, config: VTAConfig, setup: HardwareSetup | None) -> Iterator[Session]:
        """Yield a session on the board, whose configuration and hardware are what was built."""
        from runtime.drivers.opening import board_session  # and with it sockets and terminals

        vta, hardware = configurations(read_json(self.folder / "board.json"))
        if config.digest != vta.digest:
            raise RpcError(
                f"configuration {config.digest} ({config.bitstream}) is wanted, and the board was built for "
                f"{vta.digest} ({vta.bitstream}); choose that one"
            )
        if setup is not None and setup != HardwareSetup(hardware=hardware):
            raise RpcError(
                f"hardware is to be simulated ({setup}), and the device is a board, which is what was built; leave "
                "hardware= out"
            )
        with board_session(self.folder, serial=self.serial) as session:
            yield session
