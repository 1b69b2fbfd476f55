"""Writing files: all of the new contents or all of the old ones."""

import os
from pathlib import Path

import pytest

from isa.whole_file import open_whole, write_whole


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    write_whole(target, b"old")
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupt_leaves_the_old_contents_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.bin"
    write_whole(target, b"old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_mode_is_that_of_any_new_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "whole", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_device_is_written_to_and_a_link_stays(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    write_whole(link, b"gone")
    assert link.is_symlink()
    link.unlink()
    link.symlink_to("target")
    write_whole(link, b"kept")
    assert (link.is_symlink(), (tmp_path / "target").read_bytes()) == (True, b"kept")


def test_a_missing_folder_is_the_systems_error_with_the_files_own_name(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "out.bin"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(target, b"")
    assert caught.value.filename == str(target)


def test_a_full_disk_is_the_systems_error_with_the_files_name() -> None:
    with pytest.raises(OSError, match=r"^\[Errno 28\] No space left on device: '/dev/full'$"):
        write_whole("/dev/full", b"x")


def test_what_is_written_in_parts_is_there_at_the_end_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    with pytest.raises(ValueError, match=r"^no more$"), open_whole(target) as file:  # noqa: PT012
        file.write(b"half")
        raise ValueError("no more")
    assert (target.read_bytes(), list(tmp_path.iterdir())) == (b"old", [target])
    with open_whole(target) as file:
        file.write(b"ne")
        file.write(b"w")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
