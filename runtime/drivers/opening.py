"""From the folder of a board to its device, and to a session on it.

Tests: ``tests/runtime/drivers/test_opening.py``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.drivers.board_device import BoardDevice
from runtime.drivers.board_file import BoardFileError, read_json
from runtime.drivers.etherbone import EtherboneBus
from runtime.drivers.links import Bus
from runtime.drivers.litex_board import BoardFacts, LiteXPort, read_board
from runtime.drivers.memory_training import start_memory
from runtime.drivers.transports import SerialPort, UdpSocket
from runtime.drivers.uart_bridge import UartBus
from runtime.drivers.zynq_board import open_zynq
from runtime.queue.launcher import AREA_BYTES
from runtime.session import Session

__all__ = ["board_session", "device_on", "open_board"]

_AREA_SHARE = 8
"""Of a board's memory, instructions take at most this part, and micro-ops another."""


@contextmanager
def board_session(folder: Path | str, *, serial: str | None = None) -> Iterator[Session]:
    """Yield a session on a board that is opened for it, as ``open_board`` says, and given back behind it."""
    device = open_board(folder, serial=serial)
    try:
        share = device.memory.limit // _AREA_SHARE
        yield Session(device.config, device, area_bytes=min(AREA_BYTES, 1 << share.bit_length() - 1))
    finally:
        device.close()


def open_board(folder: Path | str, *, serial: str | None = None) -> BoardDevice:
    """Return the device of a board that has its bitstream, over Ethernet, or over the port ``serial``.

    Its memory is started and trained. A Zynq's is that of the computer that this runs on (``open_zynq``).
    ``BoardFileError`` for a folder that is no board's, ``DeviceError`` if the board does not answer or is another one.
    """
    if "links" not in read_json(Path(folder) / "board.json"):
        if serial is not None:
            raise BoardFileError(f"{folder}: its board has the host on its own chip; leave the port {serial!r} out")
        return open_zynq(folder)
    facts = read_board(Path(folder))
    if serial is None and "etherbone" not in facts.links:
        raise BoardFileError(
            f"{folder}: {facts.name} has no Ethernet; name its serial port (--serial /dev/ttyUSB0, or "
            "serial='/dev/ttyUSB0')"
        )
    bus: Bus = (
        EtherboneBus(UdpSocket(facts.ip, facts.udp_port)) if serial is None else UartBus(SerialPort(serial, facts.baud))
    )
    try:
        return device_on(bus, facts)
    except BaseException:
        bus.close()
        raise


def device_on(bus: Bus, facts: BoardFacts) -> BoardDevice:
    """Return the device of the board on a bus, its memory started."""
    device = BoardDevice(facts.vta, LiteXPort(facts, bus), hardware=facts.hardware)  # first: is it the right board?
    start_memory(bus, facts)
    return device
