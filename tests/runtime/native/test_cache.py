"""What was compiled is kept for its owner alone; a broken, foreign or forged file in its place does no harm."""

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.native.cache import CacheWarning, cache_directory, cached
from runtime.native.private_folder import PrivateFolder

ROOT = Path(__file__).parents[3]
BODY = bytes(range(256)) * 40
NOT_KEPT = "what is compiled is not kept for the next time: "


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the secret will be, with nothing there yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "vta-toolchain"


@pytest.fixture
def cache(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # sets the variable
    """An empty cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vta-toolchain" / "code"


class Maker:
    """Makes the body, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return BODY


def made(times: int = 2) -> int:
    """Ask for one thing some times; return how often it was made."""
    make = Maker()
    for _ in range(times):
        assert cached("code", "key", make) == BODY
    return make.calls


def the_file(cache: Path) -> Path:
    [path] = cache.iterdir()
    return path


def test_what_is_kept_is_not_made_again(cache: Path) -> None:
    assert made(3) == 1
    assert the_file(cache).suffix == ".image"


def test_another_key_or_kind_is_another_thing(cache: Path) -> None:
    make = Maker()
    for kind, key in (("code", "key"), ("code", "other"), ("text", "key")):
        assert cached(kind, key, make) == BODY
    assert make.calls == 3
    assert len(list(cache.iterdir())) == 2
    assert len(list((cache.parent / "text").iterdir())) == 1


def test_folders_and_files_are_their_owners_alone(cache: Path, state: Path) -> None:
    before = os.umask(0)
    try:
        made()
    finally:
        os.umask(before)
    for folder in (cache, cache.parent, state):
        assert folder.stat().st_mode & 0o777 == 0o700
    for file in (the_file(cache), state / "cache.secret"):
        assert file.stat().st_mode & 0o777 == 0o600


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: data[:0],
    "half": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "digest": lambda data: data[:14] + bytes([data[14] ^ 1]) + data[15:],
    "foreign": lambda data: b"something else" + data,
    "older format": lambda data: b"vta-cache 1\n" + data[12:],
    "cut in the digest": lambda data: data[:20],
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_broken_file_is_made_anew(cache: Path, kind: str) -> None:
    made()
    path = the_file(cache)
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[kind](whole))
    assert made() == 1
    assert path.read_bytes() == whole
    assert [path] == list(cache.iterdir())


def test_a_file_does_not_stand_in_for_another_one(cache: Path) -> None:
    cached("code", "other", lambda: b"other code")
    other = the_file(cache)
    made()
    [path] = set(cache.iterdir()) - {other}
    shutil.copyfile(other, path)
    assert made() == 1
    cached("text", "key", lambda: b"a text")
    shutil.copyfile(cache.parent / "text" / path.name, path)
    assert made() == 1


def test_a_cache_that_somebody_else_wrote_is_made_anew(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
    cached("code", "key", lambda: b"forged code")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    assert b"forged code" in the_file(cache).read_bytes()
    assert made() == 1


def warned(sentence: str) -> None:
    """Check that nothing is kept, and why; once where Python shows each warning once."""
    with pytest.warns(CacheWarning) as caught:
        assert made() == 2
    assert {str(warning.message) for warning in caught} == {NOT_KEPT + sentence}
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        made(3)
    assert len(shown) == 1


@pytest.mark.parametrize("place", ["cache", "above the cache", "state"])
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_to_is_not_used(cache: Path, state: Path, place: str, mode: int) -> None:
    folder = {"cache": cache, "above the cache": cache.parent, "state": state}[place]
    folder.mkdir(parents=True)
    folder.chmod(mode)
    kept = f"{mode & ~0o022:o}"
    warned(f"{folder}: others may write to it (mode {mode:o}); set it to {kept} if you trust its contents")
    folder.chmod(mode & ~0o022)
    assert made() == 1


def test_a_file_that_others_may_write_to_is_not_used(cache: Path) -> None:
    made()
    path = the_file(cache)
    path.chmod(0o620)
    warned(f"{path}: others may write to it (mode 620); set it to 600 if you trust its contents")


def test_a_secret_that_others_may_read_is_none(cache: Path, state: Path) -> None:
    made()
    secret = state / "cache.secret"
    secret.chmod(0o640)
    warned(f"{secret}: others may read it (mode 640); set it to 600 if you trust its contents")
    assert cache.exists()


def test_a_secret_of_another_length_is_none(cache: Path, state: Path) -> None:
    made()
    secret = state / "cache.secret"
    secret.write_bytes(b"short")
    warned(f"{secret}: expected 32 bytes, not 5; delete it")
    secret.unlink()
    assert made() == 1
    assert cache.exists()


def test_what_belongs_to_somebody_else_is_not_used(cache: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made()
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    warned(f"{state}: expected user {me + 1} as its owner, and it is user {me}")
    assert cache.exists()


def test_a_folder_behind_a_link_is_not_used(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    cache.parent.mkdir(parents=True)
    cache.symlink_to(tmp_path / "elsewhere")
    warned(f"{cache}: expected a folder, and it is something else; take it away")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_or_a_pipe_in_place_of_a_file_is_not_followed(cache: Path, tmp_path: Path) -> None:
    made()
    path = the_file(cache)
    whole = path.read_bytes()
    (tmp_path / "elsewhere").write_bytes(whole)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert made(1) == 1
    path.unlink()
    os.mkfifo(path)
    warned(f"{path}: expected a regular file, and it is something else")
    assert (tmp_path / "elsewhere").read_bytes() == whole


def test_no_home_means_no_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert made() == 1
    monkeypatch.delenv("XDG_STATE_HOME")
    warned("there is no home directory; set XDG_STATE_HOME to a folder of your own")
    monkeypatch.setenv("XDG_STATE_HOME", str(cache))
    monkeypatch.delenv("XDG_CACHE_HOME")
    warned("there is no home directory; set XDG_CACHE_HOME to a folder of your own")


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "XDG_STATE_HOME"])
def test_a_directory_that_cannot_be_made_means_no_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(variable, str(tmp_path / "file"))
    assert made() == 2
    assert not cache.exists()


def test_a_folder_in_the_way_of_a_file_is_not_replaced(cache: Path) -> None:
    made()
    path = the_file(cache)
    path.unlink()
    path.mkdir()
    warned(f"{path}: expected a regular file, and it is something else")
    assert [path] == list(cache.iterdir())


def test_the_cache_lies_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for base in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        assert cache_directory("sim") == tmp_path / "home" / ".cache" / "vta-toolchain" / "sim"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("sim") == tmp_path / "vta-toolchain" / "sim"


def test_what_a_killed_process_left_goes_with_the_next_write(cache: Path) -> None:
    made()
    old, young, other = cache / "a.image.0123.tmp", cache / "b.image.4567.tmp", cache / "notes.txt"
    for path in (old, young, other):
        path.write_text("half")
    for path in (old, other):
        os.utime(path, (1e9, 1e9))
    cached("code", "another key", lambda: BODY)
    assert not old.exists()
    assert young.exists()
    assert other.exists()


def test_processes_that_make_one_thing_do_not_disturb_each_other(cache: Path, state: Path, tmp_path: Path) -> None:
    script = tmp_path / "make_all.py"
    script.write_text(
        "from runtime.native.cache import cached\n"
        "from tests.runtime.native.test_cache import BODY\n"
        "for number in range(100):\n"
        "    assert cached('code', f'key {number}', lambda: BODY) == BODY\n"
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    processes = [subprocess.Popen([sys.executable, "-W", "error", str(script)], env=environment) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert {path.suffix for path in cache.iterdir()} == {".image"}
    assert len(list(cache.iterdir())) == 100
    assert [path.name for path in state.iterdir()] == ["cache.secret"]


def test_an_error_of_the_maker_is_its_own(cache: Path) -> None:
    def fail() -> bytes:
        raise OSError("the disk of the maker")

    with pytest.raises(OSError, match=r"^the disk of the maker$"):
        cached("code", "key", fail)
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_a_secret_that_is_gone_again_has_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivateFolder, "read", lambda *_, **__: None)
    with pytest.warns(CacheWarning, match=r"cache\.secret: expected 32 bytes, not 0; delete it$"):
        assert cached("kind", "key", lambda: b"made") == b"made"
