"""What all boards have in their folders."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from isa.config import ConfigError, VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.drivers.board_file import BoardFileError, configurations, read_json

GOOD = {"vta": VTAConfig(log_uop_buff_size=13).to_dict(), "hardware": asdict(HardwareConfig(read_beats=64))}


def file_with(folder: Path, text: str) -> Path:
    file = folder / "board.json"
    file.write_text(text)
    return file


def test_a_board_has_two_configurations(tmp_path: Path) -> None:
    found = configurations(read_json(file_with(tmp_path, json.dumps(GOOD))))
    assert found == (VTAConfig(log_uop_buff_size=13), HardwareConfig(read_beats=64))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"vta"}', "this is no JSON (Expecting ':' delimiter: line 1 column 7 (char 6)); build the board again"),
        ("[1]", "expected an object, found [1]; build the board again"),
        ("{}", "there is no vta in it; build the board again"),
        ('{"vta": 5}', "vta is 5, and it should be an object; build the board again"),
    ],
)
def test_what_is_no_boards_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BoardFileError) as caught:
        configurations(read_json(file_with(tmp_path, text)))
    assert str(caught.value) == f"{tmp_path}/board.json: {message}"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BoardFileError) as caught:
        read_json(tmp_path / "board.json")
    assert str(caught.value) == (
        f"{tmp_path}/board.json: expected the folder of a board that 'vta fpga build' wrote (No such file or directory)"
    )


@pytest.mark.parametrize(("key", "value"), [("width", 3), ("read_beats", 0), ("read_beats", "many")])
def test_hardware_that_there_is_none_of_is_refused(tmp_path: Path, key: str, value: object) -> None:
    file = file_with(tmp_path, json.dumps({**GOOD, "hardware": {key: value}}))
    with pytest.raises(BoardFileError, match=rf"board\.json: hardware: .*{key}.*; build the board again$"):
        configurations(read_json(file))


def test_a_configuration_that_is_none_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"board\.json: .*LOG_BLOCK"):
        configurations(read_json(file_with(tmp_path, json.dumps({**GOOD, "vta": {**GOOD["vta"], "LOG_BLOCK": 99}}))))


def test_names_and_kinds_are_told_with_where_they_are(tmp_path: Path) -> None:
    table = read_json(file_with(tmp_path, '{"memory": {"bytes": "1", "lanes": true}}')).table("memory")
    with pytest.raises(BoardFileError) as caught:
        table.typed("bytes", int)
    assert str(caught.value) == (
        f"{tmp_path}/board.json: memory.bytes is '1', and it should be a whole number; build the board again"
    )
    with pytest.raises(BoardFileError, match=r"memory\.lanes is True, and it should be a whole number"):
        table.typed("lanes", int)
    with pytest.raises(BoardFileError, match=r": there is no memory\.phases in it; build the board again$"):
        table["phases"]
