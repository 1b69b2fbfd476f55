"""Compiled designs are kept in the user's cache, under everything that they depend on."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import AXI4
from hw.sim import AxiMemory, Histogram, cached_design, compile_design
from hw.sim.run import compiling
from hw.sim.run.sources import sources_are_loaded
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.native.compiling import Passes, compile_object
from runtime.native.target import CodeTarget
from tests.support.configs import CONFIGS
from tests.support.hw.inline_design import Small


class Adder(wiring.Component):  # Amaranth has no types
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
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
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


def texts_of(monkeypatch: pytest.MonkeyPatch, make: Callable[[], object]) -> list[str]:
    """Return the LLVM text of whatever ``make`` compiles."""
    texts = []

    def noted(text: str, target: CodeTarget, passes: Passes) -> bytes:
        assert passes is Passes.SERIAL
        texts.append(text)
        return compile_object(text, target, passes)

    monkeypatch.setattr(compiling, "compile_object", noted)
    make()
    return texts


def wires(m: Module, io: Any) -> None:
    wiring.connect(m, wiring.flipped(io.host), wiring.flipped(io.axi))


def test_the_loop_vectoriser_is_not_missed_beside_a_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = AXI4(addr_width=32, data_width=64, id_width=4)
    hooks = (AxiMemory("axi", latency=5), Histogram("host__arlen", bits=8))
    design = Small(wires, {"host": In(bus), "axi": Out(bus)})
    [text] = texts_of(monkeypatch, lambda: compile_design(design, hooks=hooks, cache=False))
    assert compile_object(text, CodeTarget()) == compile_object(text, CodeTarget(), Passes.SERIAL)


@pytest.mark.long
@pytest.mark.parametrize("name", ["default", "in16out32"])
def test_the_loop_vectoriser_is_not_missed_in_the_accelerator(
    name: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [text] = texts_of(monkeypatch, lambda: RtlSimulator(CONFIGS[name], DeviceMemory(1 << 24), stall_seed=3))
    assert list(cache.iterdir())
    assert compile_object(text, CodeTarget()) == compile_object(text, CodeTarget(), Passes.SERIAL)


def test_designs_are_told_apart_by_their_netlist(cache: Path) -> None:
    for extra in (1, 2, 1):
        assert total_after(compile_design(Adder(extra)), 4) == 4 * (2 + extra)
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("keep", [False, True])
def test_whoever_listens_hears_of_every_stage_and_of_the_end(
    cache: Path, caplog: pytest.LogCaptureFixture, keep: bool
) -> None:
    caplog.set_level("DEBUG", logger="hw.sim.progress")
    compile_design(Adder(3), cache=keep)
    told = [(r.done, r.total, r.busy, r.slow, r.unit, r.what) for r in caplog.records]  # type: ignore[attr-defined]
    rest = (True, "stages", "compiling the hardware")
    assert told == [(done, 3, done < 3, *rest) for done in range(4)]
    assert [record.getMessage() for record in caplog.records] == [
        f"compiling the hardware: {text}" for text in ("elaborating", "translating", "making machine code", "over")
    ]
