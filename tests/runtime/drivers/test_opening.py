"""From a folder to a device that runs a program."""

from dataclasses import replace
from pathlib import Path

import pytest

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.text.assembler import assemble
from runtime.devices.device import DeviceError
from runtime.drivers import opening
from runtime.drivers.etherbone import EtherboneBus
from runtime.drivers.litex_board import BoardFileError
from runtime.drivers.opening import device_on, open_board
from runtime.session import Session
from tests.support.drivers.etherbone_board import EtherboneBoard
from tests.support.drivers.rtl_board import RtlWords, facts_of
from tests.support.drivers.uart_board import UartBoard

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
HARDWARE = HardwareConfig()
NBYTES = 1 << 20
FACTS = facts_of(CONFIG, HARDWARE, NBYTES)
PROGRAM = """
.data A type=int32 shape=1,4
    1 2 3 4
.output C type=int8 shape=1,4
.uop
    dst=0 src=0
.text
    load.acc dram=A x=1
    load.uop dram=uops x=1
    alu.add uop=0:1 imm=3 push_next
    store dram=C x=1 pop_prev push_prev
    finish pop_next
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Boards of simulated hardware in place of sockets and serial ports; what was opened is noted."""
    seen: list[str] = []

    def board(kind: type, *where: object) -> object:
        seen.append(" ".join(map(str, where)))
        return kind(RtlWords(CONFIG, HARDWARE, NBYTES))

    monkeypatch.setattr(opening, "read_board", lambda folder: replace(FACTS, name=folder.name))
    monkeypatch.setattr(opening, "UdpSocket", lambda *where: board(EtherboneBoard, *where))
    monkeypatch.setattr(opening, "SerialPort", lambda *where: board(UartBoard, *where))
    monkeypatch.setattr(opening, "start_memory", lambda *_: seen.append("memory"))
    return seen


@pytest.mark.parametrize(("serial", "opened"), [(None, "192.168.1.50 1234"), ("/dev/ttyUSB1", "/dev/ttyUSB1 1000000")])
def test_a_program_runs_on_a_board_that_was_opened(serial: str | None, opened: str, started: list[str]) -> None:
    device = open_board("ecpix5", serial=serial)
    session = Session(CONFIG, device, area_bytes=1 << 16)
    assert session.run_program(assemble(PROGRAM, config=CONFIG))["C"].tolist() == [[4, 5, 6, 7]]
    assert started == [opened, "memory"]


def test_a_board_without_ethernet_needs_a_serial_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(opening, "read_board", lambda _: replace(FACTS, name="ulx3s", links=("uart",)))
    with pytest.raises(BoardFileError) as caught:
        open_board(tmp_path)
    assert str(caught.value) == (f"{tmp_path}: ulx3s has no Ethernet; say serial='/dev/ttyUSB0', or what it is called")


def test_another_board_is_refused_before_its_memory_is_touched(started: list[str]) -> None:
    bus = EtherboneBus(EtherboneBoard(RtlWords(CONFIG, HARDWARE, NBYTES)))
    with pytest.raises(DeviceError, match=r"the board was built for the configuration of digest"):
        device_on(bus, replace(FACTS, vta=VTAConfig()))
    assert started == []
