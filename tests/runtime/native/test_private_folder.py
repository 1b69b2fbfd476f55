"""Folders that are their owner's alone: files in them appear whole, and links lead nowhere."""

import os
from pathlib import Path

import pytest

from runtime.native.private_folder import UntrustedError, private_folder


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    with private_folder(tmp_path, "mine", "inner") as folder:
        assert folder.path == tmp_path / "mine" / "inner"
        assert folder.read("file") is None
        folder.write("file", b"one")
        folder.write("file", b"two")
        assert folder.read("file") == b"two"
    assert [path.name for path in (tmp_path / "mine" / "inner").iterdir()] == ["file"]


def test_a_new_file_takes_nobodys_place(tmp_path: Path) -> None:
    with private_folder(tmp_path, "mine") as folder:
        folder.write_new("file", b"one")
        with pytest.raises(FileExistsError):
            folder.write_new("file", b"two")
        assert folder.read("file") == b"one"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]


def test_a_planted_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"precious")
    with private_folder(tmp_path, "mine") as folder:
        (tmp_path / "mine" / "file").symlink_to(tmp_path / "victim")
        with pytest.raises(OSError, match="symbolic link"):
            folder.read("file")
        folder.write("file", b"new")
        assert folder.read("file") == b"new"
    assert (tmp_path / "victim").read_bytes() == b"precious"


def test_what_is_checked_is_what_is_used(tmp_path: Path) -> None:
    with private_folder(tmp_path, "mine") as folder:
        (tmp_path / "mine").rename(tmp_path / "moved")
        (tmp_path / "mine").mkdir()
        folder.write("file", b"text")
    assert list((tmp_path / "mine").iterdir()) == []
    assert (tmp_path / "moved" / "file").read_bytes() == b"text"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with private_folder(tmp_path, "mine") as folder:
        (tmp_path / "mine" / "file").mkdir()
        with pytest.raises(IsADirectoryError):
            folder.write("file", b"text")
        assert os.listdir(tmp_path / "mine") == ["file"]


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "mine" / "inner").mkdir()
    (tmp_path / "mine" / "inner").chmod(0o777)
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with pytest.raises(UntrustedError), private_folder(tmp_path, "mine", "inner"):
            pass
        with private_folder(tmp_path, "mine") as folder:
            folder.read("nothing")
    assert len(os.listdir("/dev/fd")) == before
