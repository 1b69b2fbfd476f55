# amaranth: UnusedElaboratable=no
"""What has no meaning in a simulation with one clock is refused, each with one clear sentence."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import amaranth
import pytest
from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Instance,
    IOBufferInstance,
    IOPort,
    Module,
    Mux,
    Print,
    Signal,
    _nir,
)
from amaranth.hdl._ast import AnyConst, Initial
from amaranth.lib.memory import Memory

from hw.sim import SimulatorError, compile_design
from hw.sim.netlist.cells import MemoryCell
from hw.sim.netlist.frontend import build_netlist
from tests.support.hw.inline_design import Small

Build = Callable[[Module, Any], None]
HERE = r"\(\S+\.py:\d+\)"


def refusal(build: Build) -> str:
    with pytest.raises(SimulatorError) as caught:
        compile_design(Small(build), cache=False)
    return str(caught.value)


def instance(m: Module, io: Any) -> None:
    m.submodules.core = Instance("foreign", i_a=io.a, o_q=io.q)


def board(m: Module, io: Any) -> None:
    m.submodules.pad = IOBufferInstance(IOPort(4, name="pad"), i=io.q)


def initial(m: Module, io: Any) -> None:
    m.d.comb += io.q.eq(Mux(Initial(), 1, 2))


def any_value(m: Module, io: Any) -> None:
    m.d.comb += io.q.eq(AnyConst(4))


def print_without_clock(m: Module, io: Any) -> None:
    m.d.comb += Print("hello", io.a)


def asynchronous_reset(m: Module, io: Any) -> None:
    m.domains.sync = domain = ClockDomain(async_reset=True)
    m.d.comb += domain.rst.eq(io.b)
    m.d.sync += io.q.eq(io.a)


def two_clocks(m: Module, io: Any) -> None:
    m.d.sync += io.q[:2].eq(io.a)
    m.d.fast += io.q[2:].eq(io.a)


def two_edges(m: Module, io: Any) -> None:
    m.domains.falling = domain = ClockDomain(clk_edge="neg")
    m.d.comb += domain.clk.eq(ClockSignal())
    m.d.sync += io.q[:2].eq(io.a)
    m.d.falling += io.q[2:].eq(io.a)


def made_clock(m: Module, io: Any) -> None:
    m.domains.sync = domain = ClockDomain()
    m.d.comb += domain.clk.eq(io.b & io.a[0])
    m.d.sync += io.q.eq(io.a)


def clock_as_data(m: Module, io: Any) -> None:
    m.d.sync += io.q[1:].eq(io.a)
    m.d.comb += io.q[0].eq(ClockSignal())


TWO = (
    rf"FlipFlop in top {HERE} has another clock or edge than FlipFlop in top {HERE};"
    " only designs with one clock can be simulated"
)
REFUSALS: list[tuple[Build, str]] = [
    (instance, rf"Instance in top {HERE} cannot be simulated: an Instance has no meaning without its Verilog"),
    (
        board,
        rf"IOBuffer in top {HERE} cannot be simulated:"
        " I/O buffers belong to a board; simulate the component below them",
    ),
    (initial, rf"Initial in top {HERE} cannot be simulated: Initial\(\) is for formal verification"),
    (any_value, rf"AnyValue in top {HERE} cannot be simulated: AnyConst and AnySeq are for formal verification"),
    (
        print_without_clock,
        rf"AsyncPrint in top {HERE} cannot be simulated:"
        " a Print in the comb domain has no cycle; put it into a clock domain",
    ),
    (
        asynchronous_reset,
        rf"FlipFlop in top {HERE} has an asynchronous reset, which cannot be simulated;"
        " use a clock domain with a synchronous reset",
    ),
    (two_clocks, TWO),
    (two_edges, TWO),
    (made_clock, rf"FlipFlop in top {HERE} has a clock that is not an input port of the design"),
    (clock_as_data, r"Top in top \(unknown place\) uses the clock as data, which cannot be simulated"),
]


@pytest.mark.parametrize(("build", "text"), REFUSALS, ids=[build.__name__ for build, _ in REFUSALS])
def test_what_has_no_meaning_is_refused(build: Build, text: str) -> None:

    assert re.fullmatch(text, refusal(build))


def test_another_version_of_amaranth_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amaranth, "__version__", "0.6.0")
    text = refusal(two_clocks)
    assert text == (
        "hw.sim reads the private netlist of Amaranth 0.5.10, but 0.6.0 is installed; install amaranth==0.5.10"
    )


def test_a_cell_of_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from hw.sim.netlist import frontend

    class Other(_nir.SyncPrint):  # Amaranth has no types
        pass

    monkeypatch.setattr(frontend, "_nir", SimpleNamespace(**{**vars(_nir), "SyncPrint": Other}))
    monkeypatch.setattr(frontend, "_check_clock", lambda _: None)

    def prints(m: Module, io: Any) -> None:
        m.d.sync += Print(io.a)

    assert "SyncPrint in top" in refusal(prints)
    assert refusal(prints).endswith("is a kind of cell that the simulator does not know")


def test_ports_registers_and_kept_signals_have_their_dotted_names() -> None:
    def build(m: Module, io: Any) -> None:
        m.submodules.inner = inner = Module()
        inner.submodules.deep = deep = Module()
        count = Signal(4, name="count")
        total = Signal(5, name="total")
        deep.d.sync += count.eq(count + io.a)
        inner.d.comb += total.eq(count + 1)
        m.d.comb += io.q.eq(total)

    design = compile_design(Small(build), probes=["inner.total"], cache=False)
    assert design.inputs == ("a", "b", "clk", "rst")
    assert design.outputs == ("q",)
    assert {"inner.deep.count", "inner.total", "q", "a"} <= set(design.signals)
    design.poke("a", 3)
    design.step(2)
    assert [design.peek(name) for name in ("inner.deep.count", "inner.total", "q")] == [6, 7, 7]


def test_a_memory_is_named_by_the_blocks_that_it_is_in() -> None:
    def nested(m: Module, io: Any) -> None:
        m.submodules.outer = outer = Module()
        outer.submodules.inner = inner = Module()
        for block, name in ((m, "near"), (inner, "far")):
            block.submodules[name] = memory = Memory(shape=4, depth=8, init=[])
            port = memory.read_port(domain="comb")
            block.d.comb += [port.addr.eq(io.a), io.q[:2].eq(port.data) if name == "near" else io.q[2:].eq(port.data)]

    netlist = build_netlist(Small(nested))
    names = {cell.name for cell in netlist.cells if isinstance(cell, MemoryCell)}
    assert names == {"near", "outer.inner.far"}
