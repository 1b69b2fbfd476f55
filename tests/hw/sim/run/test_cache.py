"""Compiled designs are kept in the user's cache, and a broken or foreign file there does no harm."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.sim import Histogram, cached_design, compile_design
from hw.sim.run.cache import cache_directory, sources_are_loaded

ROOT = Path(__file__).parents[4]


class Adder(wiring.Component):  # type: ignore[misc]  # Amaranth has no types
    """``total`` grows by ``step`` and ``extra`` at every edge."""

    def __init__(self, extra: int) -> None:
        super().__init__({"step": In(4), "total": Out(16)})
        self.extra = extra

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        m.d.sync += self.total.eq(self.total + self.step + self.extra)
        return m


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vta-toolchain" / "sim"


class Maker:
    """Makes the adder, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Adder:
        self.calls += 1
        return Adder(3)


def total_after(design: Any, cycles: int) -> int:
    design.poke("step", 2)
    design.step(cycles)
    value: int = design.peek("total")
    return value


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A directory with a Python file that is older than this process."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "adder.py").write_text("EXTRA = 3\n")
    age(folder / "adder.py")
    return folder


def age(path: Path) -> None:
    os.utime(path, (1e9, 1e9))


def test_a_design_that_is_kept_is_not_even_elaborated(cache: Path, sources: Path) -> None:
    make = Maker()
    for _ in range(3):
        assert total_after(cached_design("adder", make, sources=[sources]), 4) == 20
    assert make.calls == 1
    assert [path.suffix for path in cache.iterdir()] == [".image"]


def test_another_key_source_probe_or_hook_is_another_design(cache: Path, sources: Path) -> None:
    make = Maker()

    def again(key: str = "adder", **more: Any) -> int:
        before = make.calls
        cached_design(key, make, sources=[sources], **more)
        return make.calls - before

    assert again() == 1
    assert again() == 0
    assert again(key="other") == 1
    assert again(probes=["total"]) == 1
    assert again(hooks=[Histogram("step", bits=4)]) == 1
    (sources / "adder.py").write_text("EXTRA = 4\n")
    age(sources / "adder.py")
    assert again() == 1
    (sources / "adder.py").rename(sources / "renamed.py")
    assert again() == 1
    assert len(list(cache.iterdir())) == 6


def test_a_design_whose_sources_change_while_the_process_runs_is_not_kept(cache: Path, sources: Path) -> None:
    make = Maker()
    assert sources_are_loaded([sources])
    (sources / "adder.py").write_text("EXTRA = 5\n")
    assert not sources_are_loaded([sources])
    for _ in range(2):
        assert total_after(cached_design("adder", make, sources=[sources]), 4) == 20
    assert make.calls == 2
    assert not cache.exists()


def test_designs_are_told_apart_by_their_netlist(cache: Path) -> None:
    for extra in (1, 2, 1):
        assert total_after(compile_design(Adder(extra)), 4) == 4 * (2 + extra)
    assert len(list(cache.iterdir())) == 2


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: data[:0],
    "half": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "digest": lambda data: data[:12] + bytes([data[12] ^ 1]) + data[13:],
    "foreign": lambda data: b"something else" + data,
    "older format": lambda data: b"vta-sim 0\n" + data[10:],
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_broken_file_is_made_anew(cache: Path, sources: Path, kind: str) -> None:
    make = Maker()
    cached_design("adder", make, sources=[sources])
    [path] = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[kind](whole))
    assert total_after(cached_design("adder", make, sources=[sources]), 4) == 20
    assert make.calls == 2
    assert total_after(cached_design("adder", make, sources=[sources]), 4) == 20
    assert make.calls == 2
    assert [path] == list(cache.iterdir())


def test_a_directory_that_cannot_be_made_means_no_cache(
    tmp_path: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    make = Maker()
    for _ in range(2):
        assert total_after(cached_design("adder", make, sources=[sources]), 4) == 20
    assert make.calls == 2


def test_a_file_in_the_way_of_an_image_means_no_cache_for_it(cache: Path, sources: Path) -> None:
    make = Maker()
    cached_design("adder", make, sources=[sources])
    [path] = cache.iterdir()
    path.unlink()
    path.mkdir()
    assert total_after(cached_design("adder", make, sources=[sources]), 4) == 20
    assert [path] == list(cache.iterdir())


def test_the_cache_lies_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for base in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        assert cache_directory() == tmp_path / "home" / ".cache" / "vta-toolchain" / "sim"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "vta-toolchain" / "sim"


def test_two_processes_that_make_one_design_do_not_disturb_each_other(cache: Path, tmp_path: Path) -> None:
    script = tmp_path / "adder_twice.py"
    script.write_text(
        "from hw.sim import cached_design\n"
        "from tests.hw.sim.run.test_cache import Maker, total_after\n"
        "for _ in range(4):\n"
        "    assert total_after(cached_design('adder', Maker(), sources=[]), 4) == 20\n"
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    processes = [subprocess.Popen([sys.executable, str(script)], env=environment) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert [path.suffix for path in cache.iterdir()] == [".image"]
