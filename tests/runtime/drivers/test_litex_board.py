"""The folder of a board."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.drivers.board_file import BoardFileError
from runtime.drivers.litex_board import CsrEntry, read_board

CONFIG = VTAConfig(log_uop_buff_size=13)
HARDWARE = HardwareConfig(read_beats=64)


def folder_with(folder: Path, **changes: Any) -> Path:
    facts = {"board": "ecpix5", "vta": CONFIG.to_dict(), "hardware": asdict(HARDWARE), "clock": 60_000_000,
             "ip": "10.0.0.2", "udp_port": 1234, "baud": 1_000_000, "registers": 0x3000_0000,
             "memory": {"bytes": 4096}, "links": ["uart"]} | changes  # fmt: skip
    (folder / "board.json").write_text(json.dumps(facts))
    registers = {"vta_launches": {"addr": 0xF000_0000, "size": 1, "type": "ro"}}
    (folder / "csr.json").write_text(json.dumps({"csr_registers": registers}))
    return folder


def test_a_folder_says_what_a_board_is(tmp_path: Path) -> None:
    facts = read_board(folder_with(tmp_path))
    assert (facts.vta, facts.hardware) == (CONFIG, HARDWARE)
    assert (facts.name, facts.ip, facts.udp_port, facts.baud) == ("ecpix5", "10.0.0.2", 1234, 1_000_000)
    assert facts.csr == {"vta_launches": CsrEntry(0xF000_0000, 1)}


def test_what_is_no_board_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BoardFileError) as caught:
        read_board(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/board.json: expected the folder of a board that 'vta fpga build' wrote (No such file or directory)"
    )
    folder_with(tmp_path)
    (tmp_path / "csr.json").write_text("{")
    with pytest.raises(BoardFileError, match=r"csr\.json: this is no JSON \(.*\); build the board again$"):
        read_board(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hardware": 7}, "hardware is 7, and it should be an object"),
        ({"clock": "fast"}, "clock is 'fast', and it should be a whole number"),
        ({"memory": None}, "memory is None, and it should be an object"),
        ({"links": "uart"}, "links is 'uart', and it should be a list"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BoardFileError) as caught:
        read_board(folder_with(tmp_path, **changes))
    assert str(caught.value) == f"{tmp_path}/board.json: {message}; build the board again"


def test_what_a_board_lacks_is_told_with_its_file(tmp_path: Path) -> None:
    facts = read_board(folder_with(tmp_path))
    with pytest.raises(BoardFileError) as caught:
        facts.memory["phases"]
    assert str(caught.value) == f"{tmp_path}/board.json: there is no memory.phases in it; build the board again"
    with pytest.raises(BoardFileError) as caught:
        facts.csr["sdram_dfii_control"]
    assert str(caught.value) == f"{tmp_path}/csr.json: there is no sdram_dfii_control in it; build the board again"
