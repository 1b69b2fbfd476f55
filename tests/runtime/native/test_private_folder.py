"""Folders that are their owner's alone: files in them appear whole, and links lead nowhere."""

import os
from collections.abc import Callable
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


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_not_read(make: Callable[[Path], None], tmp_path: Path) -> None:
    with private_folder(tmp_path, "mine") as folder:
        make(tmp_path / "mine" / "thing")
        with pytest.raises(UntrustedError) as caught:
            folder.read("thing")
    place = tmp_path / "mine" / "thing"
    assert str(caught.value) == f"{place}: expected a regular file, and it is something else"


@pytest.mark.parametrize(
    ("mode", "secret", "text"),
    [
        (0o620, False, "others may write to it (mode 620); set it to 600 if you trust its contents"),
        (0o602, False, "others may write to it (mode 602); set it to 600 if you trust its contents"),
        (0o644, False, None),
        (0o640, True, "others may read it (mode 640); set it to 600 if you trust its contents"),
        (0o600, True, None),
    ],
)
def test_files_that_others_may_write_or_know_a_secret_of_are_refused(
    mode: int, secret: bool, text: str | None, tmp_path: Path
) -> None:
    with private_folder(tmp_path, "mine") as folder:
        folder.write("file", b"text")
        path = tmp_path / "mine" / "file"
        path.chmod(mode)
        if text is None:
            assert folder.read("file", secret=secret) == b"text"
            return
        with pytest.raises(UntrustedError) as caught:
            folder.read("file", secret=secret)
    assert str(caught.value) == f"{path}: {text}"


def test_what_is_no_secret_may_be_read_by_others(tmp_path: Path) -> None:
    with private_folder(tmp_path, "mine") as folder:
        folder.write("file", b"text")
        (tmp_path / "mine" / "file").chmod(0o644)
        assert folder.read("file") == b"text"
