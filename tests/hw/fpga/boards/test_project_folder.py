"""The folder of a project."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from hw.fpga.boards.project_folder import prepare_folder, require_folder
from hw.fpga.place import FpgaError


def built(folder: Path, board: str) -> Path:
    (folder / "gateware").mkdir(parents=True)
    (folder / "board.json").write_text(json.dumps({"board": board}))
    for name in ("csr.json", "gateware/top.bit", "gateware/top.svf", "vta.bit", "notes.txt"):
        (folder / name).write_text("older")
    return folder


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    prepare_folder(tmp_path / "a" / "b", "ecpix5")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_results_of_an_older_build_are_gone_and_nothing_else_is(tmp_path: Path) -> None:
    folder = built(tmp_path / "old", "ecpix5")
    require_folder(folder, "ecpix5")
    assert (folder / "gateware" / "top.bit").exists()
    prepare_folder(folder, "ecpix5")
    assert sorted(path.name for path in folder.rglob("*")) == ["gateware", "notes.txt"]


def test_the_project_of_another_board_is_left_alone(tmp_path: Path) -> None:
    folder = built(tmp_path / "old", "ecpix5")
    before = sorted(folder.rglob("*"))
    with pytest.raises(FpgaError) as caught:
        prepare_folder(folder, "pynq-z1")
    assert str(caught.value) == (
        f"{folder}: it has the project of the board 'ecpix5', not 'pynq-z1'; name another folder"
    )
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("text", ["{", "[]", "{}", "7"])
def test_a_board_file_of_somebody_else_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "board.json").write_text(text)
    with pytest.raises(FpgaError) as caught:
        prepare_folder(tmp_path, "ulx3s")
    assert str(caught.value) == (
        f"{tmp_path}: its board.json is none that 'vta fpga build' wrote; name another folder, or delete it"
    )
    assert (tmp_path / "board.json").read_text() == text


def test_a_folder_that_cannot_be_written_is_an_error_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    folder = built(tmp_path / "old", "ecpix5")
    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    with pytest.raises(FpgaError) as caught:
        prepare_folder(folder, "ecpix5")
    assert str(caught.value) == f"{folder}: nothing can be written there (Permission denied); name another folder"
    assert (folder / "gateware" / "top.bit").exists()


def test_where_nothing_can_be_written_is_known_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def refused(path: object, mode: int) -> bool:
        asked.append((path, mode))
        return False

    monkeypatch.setattr("os.access", refused)
    with pytest.raises(FpgaError) as caught:
        require_folder(tmp_path / "a" / "b", "ecpix5")
    assert str(caught.value) == (
        f"{tmp_path}/a/b: {tmp_path} cannot be written, permission denied; name another folder"
    )
    assert asked == [(tmp_path, os.W_OK)]


def test_no_folder_is_made_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FpgaError) as caught:
        require_folder(tmp_path / "file" / "a" / "b", "ecpix5")
    assert str(caught.value) == (
        f"{tmp_path}/file/a/b: {tmp_path}/file is a file, and no folder can be made in it; name another one"
    )
