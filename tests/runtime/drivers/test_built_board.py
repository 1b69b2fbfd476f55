"""A board by its folder: what it was built for, what it refuses, and one session after the other on it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import HardwareSetup
from runtime.drivers.board_file import BoardFileError
from runtime.drivers.built_board import BuiltBoard
from runtime.session import SessionError
from tests.support.drivers.rtl_board import RtlWords
from tests.support.drivers.served import UdpBoard, over_pty, udp_board, write_board
from tests.support.drivers.uart_board import UartBoard

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
HARDWARE = HardwareConfig()
NBYTES = 1 << 20


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UdpBoard]:
    with udp_board(tmp_path_factory.mktemp("boards") / "etherbone", CONFIG, HARDWARE, NBYTES) as found:
        yield found


def test_what_it_was_built_for_is_known_without_the_board(tmp_path: Path) -> None:
    wide = HardwareConfig(data_width=128)
    assert BuiltBoard(write_board(tmp_path / "off", CONFIG, wide, NBYTES, port=9)).built_for() == (CONFIG, wide)
    with pytest.raises(BoardFileError, match=r"none/board\.json: expected the folder of a board"):
        BuiltBoard(tmp_path / "none").built_for()


def test_another_configuration_is_refused_naming_both_and_who_asks(tmp_path: Path) -> None:
    board = BuiltBoard(write_board(tmp_path / "off", CONFIG, HARDWARE, NBYTES, port=9))
    board.require_config(replace(CONFIG, target="pynq"), "--config")  # of the same digest
    for asker, ask in (
        ("--set", lambda: board.require_config(VTAConfig(), "--set")),
        ("the session", lambda: board.session(VTAConfig()).__enter__()),
    ):
        with pytest.raises(SessionError) as caught:
            ask()
        assert str(caught.value) == (
            f"{tmp_path}/off: the board was built for {CONFIG.bitstream} (digest {CONFIG.digest}), and {asker} asks "
            f"for {VTAConfig().bitstream} (digest {VTAConfig().digest}); use the board's own, or build the board for it"
        )


def test_hardware_to_simulate_is_refused(tmp_path: Path) -> None:
    board = BuiltBoard(write_board(tmp_path / "off", CONFIG, HARDWARE, NBYTES, port=9))
    setup = HardwareSetup(hardware=HARDWARE, latency=64)
    with pytest.raises(SessionError) as caught, board.session(CONFIG, setup):
        pass
    assert str(caught.value) == (
        f"hardware is to be simulated ({setup}), and the device is a board, which is what was built; leave "
        "hardware= out"
    )


def test_sessions_follow_one_another(running: UdpBoard, tmp_path: Path) -> None:
    values = np.arange(16, dtype=np.uint8)
    uart = write_board(tmp_path / "uart", CONFIG, HARDWARE, NBYTES, links=["uart"])
    with over_pty(UartBoard(RtlWords(CONFIG, HARDWARE, NBYTES))) as path:
        for board in (BuiltBoard(running.folder), BuiltBoard(uart, path)):
            for setup in (None, HardwareSetup(hardware=HARDWARE)):
                with board.session(CONFIG, setup) as session:
                    block = session.memory.alloc(16)
                    session.memory.write(block, 0, values.tobytes())
                    assert bytes(session.memory.read(block, 0, 16)) == values.tobytes()
                    assert (session.device.name, session.config) == ("board", CONFIG)
