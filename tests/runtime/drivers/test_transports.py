"""Real sockets and a pseudo terminal in place of a board."""

import os
import pty
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from runtime.drivers.etherbone import EtherboneBus
from runtime.drivers.links import LinkError
from runtime.drivers.transports import SerialPort, UdpSocket
from runtime.drivers.uart_bridge import UartBus
from tests.support.drivers.etherbone_board import EtherboneBoard
from tests.support.drivers.served import over_pty, over_udp
from tests.support.drivers.uart_board import UartBoard
from tests.support.drivers.word_space import WordSpace


def words() -> WordSpace:
    return WordSpace(np.zeros(4096, np.uint8), origin=0x4000_0000, registers={})


@pytest.fixture
def board() -> Iterator[int]:
    """Answer Etherbone at a port of this machine's second address; return the port."""
    with over_udp(EtherboneBoard(words())) as port:
        yield port


def test_a_bus_works_over_udp(board: int) -> None:
    link = UdpSocket("127.0.0.2", board)
    bus = EtherboneBus(link)
    bus.write(0x4000_0010, range(300))
    assert bus.read(0x4000_0010, 300).tolist() == list(range(300))
    assert link.receive(0.001) is None
    bus.close()


def test_a_port_that_nobody_listens_at_is_an_error() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.2", 0))
        port = other.getsockname()[1]
    link = UdpSocket("127.0.0.2", port)
    with pytest.raises(
        LinkError, match=r"^the board at 127\.0\.0\.2:\d+: no answer to 3 requests for 1 words at 0x0; is"
    ):
        EtherboneBus(link, attempts=3, seconds=0.01).read(0, 1)
    link.close()


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("", 0))
        port = other.getsockname()[1]
        with pytest.raises(LinkError) as caught:
            UdpSocket("127.0.0.1", port)
    assert str(caught.value) == f"the board at 127.0.0.1:{port}: no packets can be sent there (Address already in use)"


def test_a_bus_works_over_a_serial_port() -> None:
    with over_pty(UartBoard(words())) as path:
        link = SerialPort(path, 1_000_000)
        bus = UartBus(link)
        bus.write(0x4000_0010, range(100))
        assert bus.read(0x4000_0010, 100).tolist() == list(range(100))
        assert link.receive(1, 0.001) == b""
        bus.close()


def test_a_serial_port_whose_other_end_is_gone_is_an_error() -> None:
    ours, theirs = pty.openpty()
    link = SerialPort(os.ttyname(theirs), 115_200)
    os.close(ours)
    with pytest.raises(LinkError, match=r": it is gone \("):
        link.receive(1, 0.2)
    with pytest.raises(LinkError, match=r": it is gone \("):
        link.send(b"x")
    link.close()
    os.close(theirs)


def test_what_is_no_serial_port_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(LinkError) as caught:
        SerialPort(str(file), 115_200)
    assert str(caught.value) == f"the board at {file}: this is no serial port (Inappropriate ioctl for device)"
    with pytest.raises(LinkError) as caught:
        SerialPort(f"{file}x", 115_200)
    assert str(caught.value) == f"the board at {file}x: it cannot be opened (No such file or directory)"
    with pytest.raises(LinkError) as caught:
        SerialPort(str(file), 123)
    assert str(caught.value) == f"the board at {file}: this system has no serial speed of 123"
