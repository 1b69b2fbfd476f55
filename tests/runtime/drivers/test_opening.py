"""From a folder to a device that runs a program."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hw.fpga.boards.table import VivadoBoard, board_called
from hw.fpga.boards.vivado_project import write_vivado_project
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.text.assembler import assemble
from runtime.devices.device import DeviceError
from runtime.drivers import opening, zynq_board
from runtime.drivers.board_file import BoardFileError
from runtime.drivers.etherbone import EtherboneBus
from runtime.drivers.links import LinkError
from runtime.drivers.opening import board_session, device_on, open_board
from runtime.session import Session
from tests.support.drivers.etherbone_board import EtherboneBoard
from tests.support.drivers.linux_devices import LinuxDevices
from tests.support.drivers.rtl_board import RtlWords, facts_of
from tests.support.drivers.served import ADD_THREE, over_pty, over_udp, write_board
from tests.support.drivers.uart_board import UartBoard

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
HARDWARE = HardwareConfig()
NBYTES = 1 << 20


@contextmanager
def board(folder: Path, kind: str) -> Iterator[tuple[Path, str | None, RtlWords]]:
    """Yield a board's folder, its serial port if it is reached so, and what is behind the link."""
    words = RtlWords(CONFIG, HARDWARE, NBYTES)
    if kind == "uart":
        with over_pty(UartBoard(words)) as path:
            yield write_board(folder, CONFIG, HARDWARE, NBYTES, links=["uart"]), path, words
    else:
        with over_udp(EtherboneBoard(words)) as port:
            yield write_board(folder, CONFIG, HARDWARE, NBYTES, port=port), None, words


def result(session: Session) -> list[list[int]]:
    found: list[list[int]] = session.run_program(assemble(ADD_THREE, config=CONFIG))["C"].tolist()
    return found


@pytest.mark.parametrize("kind", ["etherbone", "uart"])
def test_a_program_runs_on_a_board_that_was_opened(kind: str, tmp_path: Path) -> None:
    with board(tmp_path, kind) as (folder, serial, words):
        for _ in range(2):  # the port is given back
            device = open_board(folder, serial=serial)
            assert result(Session(CONFIG, device, area_bytes=1 << 16)) == [[4, 5, 6, 7]]
            device.close()
        assert words.strays == []


@pytest.mark.parametrize("kind", ["etherbone", "uart"])
def test_a_session_on_a_board_takes_a_part_of_its_memory(kind: str, tmp_path: Path) -> None:
    with board(tmp_path, kind) as (folder, serial, _):
        with board_session(folder, serial=serial) as session:
            assert session.config == CONFIG
            assert result(session) == [[4, 5, 6, 7]]
            addresses = session.queue.launcher.addresses
            assert addresses.instructions - addresses.uops == 1 << 16  # of a megabyte, without a page
        with board_session(folder, serial=serial) as session:  # the port was given back
            assert result(session) == [[4, 5, 6, 7]]


def test_a_board_without_ethernet_needs_a_serial_port(tmp_path: Path) -> None:
    write_board(tmp_path, CONFIG, HARDWARE, NBYTES, links=["uart"])
    with pytest.raises(BoardFileError) as caught:
        open_board(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: ecpix5 has no Ethernet; name its serial port (--serial /dev/ttyUSB0, or serial='/dev/ttyUSB0')"
    )


def test_a_board_that_does_not_answer_is_an_error_and_its_port_is_given_back(tmp_path: Path) -> None:
    silent = EtherboneBoard(RtlWords(CONFIG, HARDWARE, NBYTES))
    silent.plugged = False
    with over_udp(silent) as port:
        write_board(tmp_path, CONFIG, HARDWARE, NBYTES, port=port)
        with pytest.raises(LinkError, match=r"no answer to 12 requests .*; is the board on, and the cable in\?$"):
            open_board(tmp_path)
        silent.plugged = True
        open_board(tmp_path).close()


def test_another_board_is_refused_before_its_memory_is_touched() -> None:
    words = RtlWords(CONFIG, HARDWARE, NBYTES)
    facts = facts_of(CONFIG, HARDWARE, NBYTES)
    before = words.memory.copy()
    with pytest.raises(DeviceError, match=r"the board was built for the configuration of digest"):
        device_on(EtherboneBus(EtherboneBoard(words)), replace(facts, vta=VTAConfig()))
    np.testing.assert_array_equal(words.memory, before)


def test_the_folder_of_a_zynq_is_opened_on_its_own_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linux = LinuxDevices(tmp_path, nbytes=NBYTES, base=0x1F40_0000)
    places = {"uio": str(linux.uio), "dma": str(linux.dma), "facts": str(linux.facts)}
    monkeypatch.setattr(opening, "open_zynq", partial(zynq_board.open_zynq, **places))
    zynq = board_called("pynq-z1")
    assert isinstance(zynq, VivadoBoard)
    hardware = HardwareConfig(axi3=1, max_burst_beats=16)
    write_vivado_project(zynq, CONFIG, hardware, folder=tmp_path, mhz=100)
    with pytest.raises(DeviceError, match=r"uio0: no accelerator with registers of version 2 is there"):
        open_board(tmp_path)
    with pytest.raises(BoardFileError) as caught:
        open_board(tmp_path, serial="/dev/ttyUSB0")
    assert str(caught.value) == (
        f"{tmp_path}: its board has the host on its own chip; leave the port '/dev/ttyUSB0' out"
    )
