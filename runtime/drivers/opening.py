"""From the folder of a board to its device.

Tests: ``tests/runtime/drivers/test_opening.py``.
"""

from pathlib import Path

from runtime.drivers.board_device import BoardDevice
from runtime.drivers.etherbone import EtherboneBus
from runtime.drivers.links import Bus
from runtime.drivers.litex_board import BoardFacts, BoardFileError, LiteXPort, read_board
from runtime.drivers.memory_training import start_memory
from runtime.drivers.transports import SerialPort, UdpSocket
from runtime.drivers.uart_bridge import UartBus

__all__ = ["device_on", "open_board"]


def open_board(folder: Path | str, *, serial: str | None = None) -> BoardDevice:
    """Return the device of a board that has its bitstream, over Ethernet, or over the port ``serial``.

    Its memory is started and trained. ``BoardFileError`` for a folder that is no board's, ``DeviceError`` if the board
    does not answer or is another one.
    """
    facts = read_board(Path(folder))
    if serial is None and "etherbone" not in facts.links:
        raise BoardFileError(f"{folder}: {facts.name} has no Ethernet; say serial='/dev/ttyUSB0', or what it is called")
    bus: Bus = (
        EtherboneBus(UdpSocket(facts.ip, facts.udp_port)) if serial is None else UartBus(SerialPort(serial, facts.baud))
    )
    return device_on(bus, facts)


def device_on(bus: Bus, facts: BoardFacts) -> BoardDevice:
    """Return the device of the board on a bus, its memory started."""
    device = BoardDevice(facts.vta, LiteXPort(facts, bus), hardware=facts.hardware)  # first: is it the right board?
    start_memory(bus, facts)
    return device
