"""Writing files: all of the new contents or all of the old ones."""

import errno
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from io import TextIOWrapper
from pathlib import Path

import pytest

from isa.whole_file import open_growing, open_growing_text, open_whole, write_new, write_whole


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


def test_what_is_closed_inside_is_whole_too(tmp_path: Path) -> None:
    for _ in range(2):
        with open_whole(tmp_path / "out") as file, TextIOWrapper(file, "utf-8") as text:
            text.write("é")
        assert (tmp_path / "out").read_text("utf-8") == "é"


def planted_link(folder: Path, monkeypatch: pytest.MonkeyPatch, *, owner: int) -> Path:
    """Return a link of user ``owner`` in ``folder``, which all may write to; it leads to a file of ours."""
    folder.chmod(0o1777)
    (folder.parent / "victim").write_bytes(b"mine")
    link = folder / "link"
    link.symlink_to(folder.parent / "victim")
    lstat = os.lstat

    def owned(path: str) -> os.stat_result:
        found = lstat(path)
        return os.stat_result([*found[:4], owner, *found[5:]]) if path == str(link) else found

    monkeypatch.setattr(os, "lstat", owned)
    return link


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.mark.parametrize("opened", [open_whole, open_growing, open_growing_text])
def test_another_users_link_in_a_shared_folder_is_not_followed(
    opened: Callable[[Path], AbstractContextManager[object]], shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = planted_link(shared, monkeypatch, owner=os.geteuid() + 1)
    with pytest.raises(PermissionError) as caught, opened(link):
        pass
    assert str(caught.value) == (f"[Errno 13] a link of another user in a folder that all may write to: '{link}'")
    assert (shared.parent / "victim").read_bytes() == b"mine"


def test_ones_own_link_in_a_shared_folder_is_followed(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(planted_link(shared, monkeypatch, owner=os.geteuid()), b"new")
    assert (shared.parent / "victim").read_bytes() == b"new"


def test_links_that_lead_round_are_the_systems_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels of symbolic links") as caught:
        write_whole(tmp_path / "a", b"")
    assert caught.value.filename == str(tmp_path / "a")


def test_what_the_system_alone_can_follow_is_written_to(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    write_whole(f"/proc/self/fd/{writer}", b"through")
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == b"through"


KILLED = """
import os, signal, sys
from isa.whole_file import open_whole
with open_whole(sys.argv[1]) as file:
    file.write(bytes(1 << 20))
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="this system has no files without a name")
def test_a_process_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "out"], check=False)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def without_nameless_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("without_nameless_files")
def test_a_system_without_nameless_files_does_the_same(tmp_path: Path) -> None:
    for number, test in enumerate(
        (test_a_file_is_replaced_and_nothing_else_is_left, test_what_is_written_in_parts_is_there_at_the_end_alone)
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        test(folder)


@pytest.mark.usefixtures("without_nameless_files")
def test_new_files_are_the_same_without_nameless_files(tmp_path: Path) -> None:
    assert write_new(tmp_path, "a", ".x", b"1") == write_new(tmp_path, "a", ".x", b"1")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_growing_file_is_read_while_it_grows_and_stays_behind_an_error(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old contents")
    with pytest.raises(ValueError, match=r"^no more$"), open_growing(target) as file:  # noqa: PT012
        assert target.read_bytes() == b""
        file.write(b"half")
        assert target.read_bytes() == b"half"
        raise ValueError("no more")
    assert (target.read_bytes(), list(tmp_path.iterdir())) == (b"half", [target])


@pytest.mark.parametrize("opened", [open_growing, open_growing_text])
def test_a_growing_file_that_cannot_grow_goes(
    opened: Callable[[Path], AbstractContextManager[object]], tmp_path: Path
) -> None:
    with pytest.raises(OSError, match="No space left on device") as caught, opened(tmp_path / "out"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_growing_file_that_is_empty_when_something_goes_wrong_goes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^no$"), open_growing_text(tmp_path / "out"):
        raise ValueError("no")
    assert list(tmp_path.iterdir()) == []


def test_another_files_error_leaves_a_growing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, open_growing(tmp_path / "out") as file:  # noqa: PT012
        file.write(b"x")
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_growing_text_is_written_in_utf_8_and_whole_behind_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^no more$"), open_growing_text(tmp_path / "out") as file:  # noqa: PT012
        file.write("é\n")
        raise ValueError("no more")
    assert (tmp_path / "out").read_bytes() == "é\n".encode()


def test_growing_text_for_a_full_device_names_it() -> None:
    with (
        pytest.raises(OSError, match=r"^\[Errno 28\] No space left on device: '/dev/full'$"),
        open_growing_text("/dev/full") as file,
    ):
        file.write("x")


def test_a_link_to_the_same_contents_is_no_file_of_ones_own(tmp_path: Path) -> None:
    first = write_new(tmp_path, "x", ".bin", b"data")
    os.rename(first, tmp_path / "moved")
    os.symlink(tmp_path / "moved", first)
    second = write_new(tmp_path, "x", ".bin", b"data")
    assert second == first.replace(".bin", "-2.bin")
    assert not os.path.islink(second)


def test_a_new_file_is_named_after_all_that_is_in_it_and_is_its_owners(tmp_path: Path) -> None:
    first, second = (write_new(tmp_path, "a", ".x", data) for data in (b"1", b"2"))
    assert first == str(tmp_path / f"a-{hashlib.sha256(b'1').hexdigest()[:16]}.x")
    assert (Path(first).read_bytes(), Path(second).read_bytes()) == (b"1", b"2")
    assert stat.S_IMODE(Path(first).stat().st_mode) == 0o600
    assert write_new(tmp_path, "a", ".x", b"1") == first
    assert len(list(tmp_path.iterdir())) == 2


def test_a_new_file_overwrites_nothing_and_follows_nothing(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"mine")
    name = hashlib.sha256(b"1").hexdigest()[:16]
    (tmp_path / f"a-{name}.x").symlink_to("victim")
    (tmp_path / f"a-{name}-2.x").write_bytes(b"another's")
    os.mkfifo(tmp_path / f"a-{name}-3.x")
    assert write_new(tmp_path, "a", ".x", b"1") == str(tmp_path / f"a-{name}-4.x")
    assert (tmp_path / "victim").read_bytes() == b"mine"
    assert (tmp_path / f"a-{name}-2.x").read_bytes() == b"another's"


def test_so_many_names_that_are_taken_are_refused(tmp_path: Path) -> None:
    name = hashlib.sha256(b"1").hexdigest()[:16]
    for number in ["", *(f"-{number}" for number in range(2, 101))]:
        (tmp_path / f"a-{name}{number}.x").symlink_to("nowhere")
    last = tmp_path / f"a-{name}-100.x"
    with pytest.raises(FileExistsError) as caught:
        write_new(tmp_path, "a", ".x", b"1")
    assert str(caught.value) == f"[Errno 17] there are 100 files of this name already: '{last}'"


def test_a_new_file_in_no_folder_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        write_new(tmp_path / "missing", "a", ".x", b"1")
