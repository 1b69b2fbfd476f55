"""A board as it is named: the folder of its build, and the serial port that it is reached over, if it is.

Naming one touches nothing; a session opens it. Tests: ``tests/runtime/drivers/test_built_board.py``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import HardwareSetup
from runtime.drivers.board_file import configurations, read_json
from runtime.session import Session, SessionError

__all__ = ["BuiltBoard"]


@dataclass(frozen=True, slots=True)
class BuiltBoard:
    """A board by the folder of its build, and its ``serial`` port; None is Ethernet, or a Zynq's own Linux."""

    folder: Path
    serial: str | None = None

    def built_for(self) -> tuple[VTAConfig, HardwareConfig]:
        """Return the accelerator that the board has, by its folder alone; ``BoardFileError`` if that is no board's."""
        return configurations(read_json(self.folder / "board.json"))

    def require_config(self, config: VTAConfig, asker: str) -> None:
        """Raise ``SessionError`` if ``asker`` asks for another configuration than the board's."""
        built, _ = self.built_for()
        if config.digest != built.digest:
            raise SessionError(
                f"{self.folder}: the board was built for {built.bitstream} (digest {built.digest}), and {asker} asks "
                f"for {config.bitstream} (digest {config.digest}); use the board's own, or build the board for it"
            )

    @contextmanager
    def session(self, config: VTAConfig | None = None, setup: HardwareSetup | None = None) -> Iterator[Session]:
        """Yield a session on the board, which is opened for it and given back behind it.

        What is asked for has to be what was built: ``SessionError`` for another configuration, or for hardware.
        """
        from runtime.drivers.opening import board_session  # and with it sockets and terminals

        if config is not None:
            self.require_config(config, "the session")
        if setup is not None and setup != HardwareSetup(hardware=self.built_for()[1]):
            raise SessionError(
                f"hardware is to be simulated ({setup}), and the device is a board, which is what was built; leave "
                "hardware= out"
            )
        with board_session(self.folder, serial=self.serial) as session:
            yield session
