"""What was compiled is kept, and a broken or foreign file in its place does no harm."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.native.cache import cache_directory, cached

ROOT = Path(__file__).parents[3]
BODY = bytes(range(256)) * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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


def test_what_is_kept_is_not_made_again(cache: Path) -> None:
    make = Maker()
    for _ in range(3):
        assert cached("code", "key", make) == BODY
    assert make.calls == 1
    assert [path.suffix for path in cache.iterdir()] == [".image"]


def test_another_key_or_kind_is_another_thing(cache: Path) -> None:
    make = Maker()
    for kind, key in (("code", "key"), ("code", "other"), ("text", "key")):
        assert cached(kind, key, make) == BODY
    assert make.calls == 3
    assert len(list(cache.iterdir())) == 2
    assert len(list((cache.parent / "text").iterdir())) == 1


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: data[:0],
    "half": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "digest": lambda data: data[:14] + bytes([data[14] ^ 1]) + data[15:],
    "foreign": lambda data: b"something else" + data,
    "older format": lambda data: b"vta-cache 0\n" + data[12:],
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_broken_file_is_made_anew(cache: Path, kind: str) -> None:
    make = Maker()
    cached("code", "key", make)
    [path] = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[kind](whole))
    assert cached("code", "key", make) == BODY
    assert make.calls == 2
    assert path.read_bytes() == whole
    assert [path] == list(cache.iterdir())


def test_a_directory_that_cannot_be_made_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    make = Maker()
    for _ in range(2):
        assert cached("code", "key", make) == BODY
    assert make.calls == 2


def test_a_folder_in_the_way_of_a_file_means_no_cache_for_it(cache: Path) -> None:
    make = Maker()
    cached("code", "key", make)
    [path] = cache.iterdir()
    path.unlink()
    path.mkdir()
    assert cached("code", "key", make) == BODY
    assert [path] == list(cache.iterdir())


def test_the_cache_lies_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for base in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        assert cache_directory("sim") == tmp_path / "home" / ".cache" / "vta-toolchain" / "sim"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("sim") == tmp_path / "vta-toolchain" / "sim"


def test_two_processes_that_make_one_thing_do_not_disturb_each_other(cache: Path, tmp_path: Path) -> None:
    script = tmp_path / "make_twice.py"
    script.write_text(
        "from runtime.native.cache import cached\n"
        "from tests.runtime.native.test_cache import BODY\n"
        "for number in range(100):\n"
        "    assert cached('code', f'key {number}', lambda: BODY) == BODY\n"
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    processes = [subprocess.Popen([sys.executable, str(script)], env=environment) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert {path.suffix for path in cache.iterdir()} == {".image"}
    assert len(list(cache.iterdir())) == 100
