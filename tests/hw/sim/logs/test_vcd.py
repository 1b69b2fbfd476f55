# amaranth: UnusedElaboratable=no
"""Waveforms are read back, and hold what Amaranth's own simulator writes into its VCD for the same inputs."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from hw.sim import SimulatorError, VcdLog, compile_design, matching_signals, signal_names
from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function
from tests.support.hw.inline_design import Small
from tests.support.hw.vcd_values import Waves, read_vcd

RING = 3**403 % (1 << 640)
PORTS = {"step": In(5), "go": In(1), "total": Out(signed(12)), "wide": Out(150)}


def build(m: Module, ports: Any) -> None:
    """Some registers and wires in two levels below the top."""
    m.submodules.inner = inner = Module()
    inner.submodules.deep = deep = Module()
    count = Signal(signed(12), name="count", init=-3)
    doubled = Signal(13, name="doubled")
    history = Signal(150, name="history")
    busy = Signal(name="busy")
    with deep.If(ports.go):
        deep.d.sync += [count.eq(count + ports.step), history.eq(Cat(ports.step, history))]
    inner.d.comb += [doubled.eq(count << 1), busy.eq(ports.go & (ports.step != 0))]
    m.d.comb += [ports.total.eq(count), ports.wide.eq(history)]


def inputs(cycles: int) -> list[dict[str, int]]:
    return [{"step": (7 * k * k + k) % 32, "go": int(k % 5 != 1)} for k in range(cycles)]


def ours(cycles: int, *, chunks: int = 1) -> Waves:
    component = Small(build, PORTS)
    file = io.StringIO()
    names = signal_names(component)
    log = VcdLog([name for name in names if name not in ("clk", "rst")], file)
    design = compile_design(Small(build, PORTS), hooks=[log], cache=False)
    for values in inputs(cycles):
        for name, value in values.items():
            design.poke(name, value)
        design.step(chunks)
    log.close()
    return read_vcd(file.getvalue().encode(), "top.clk")


def reference(cycles: int, path: Path) -> Waves:
    component = Small(build, PORTS)
    simulator = Simulator(component)

    async def bench(ctx: Any) -> None:
        for values in inputs(cycles):
            for name, value in values.items():
                ctx.set(getattr(component, name), value)
            await ctx.tick()

    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    with simulator.write_vcd(str(path)):
        simulator.run()
    return read_vcd(path.read_bytes(), "bench.top.clk")


def test_waveforms_hold_what_the_simulator_of_amaranth_shows(tmp_path: Path) -> None:
    expected = reference(60, tmp_path / "reference.vcd")
    waves = ours(60)
    for name in (
        "inner.deep.count",
        "inner.doubled",
        "inner.busy",
        "inner.deep.history",
        "total",
        "wide",
        "step",
        "go",
    ):
        leaf = name.rpartition(".")[2]  # Amaranth shows a signal in every module that uses it
        theirs = next(values for path, values in expected.items() if path.endswith(f".{leaf}"))
        assert waves[f"top.{name}"][:59] == theirs[:59], name
    assert len({*waves["top.wide"]}) > 20


def test_long_runs_are_written_in_pieces() -> None:
    def rotating(m: Module, ports: Any) -> None:
        ring = Signal(640, name="ring", init=RING)
        m.d.sync += [ring.eq(ring.rotate_left(67)), ports.q.eq(ports.q + 3)]

    file = io.StringIO()
    log = VcdLog(["ring", "q"], file, period=4)
    design = compile_design(Small(rotating), hooks=[log], cache=False)
    design.step(8_000)
    assert len(file.getvalue()) > 1 << 20  # before the end
    log.close()
    waves = read_vcd(file.getvalue().encode(), "top.clk")
    assert waves["top.q"] == [3 * k % 16 for k in range(8_000)]
    turned = [RING << n & (1 << 640) - 1 | RING >> 640 - n for n in (67 * k % 640 for k in range(8_000))]
    assert waves["top.ring"] == turned
    assert "#32000\n" in file.getvalue()[-40:]


@pytest.mark.parametrize("period", [2, 5])
def test_the_clock_falls_in_the_middle_of_a_cycle(period: int) -> None:
    file = io.StringIO()
    log = VcdLog(["q"], file, period=period)
    compile_design(Small(lambda m, ports: m.d.sync.__iadd__(ports.q.eq(1))), hooks=[log], cache=False).step(3)
    log.close()
    times = [int(line[1:]) for line in file.getvalue().splitlines() if line.startswith("#")]
    assert times[:4] == [0, period, period + period // 2, 2 * period]


def test_a_signal_without_a_name_has_one_that_readers_take() -> None:
    def nameless(m: Module, ports: Any) -> None:
        [signal] = [Signal(4) for _ in range(1)]
        m.d.sync += [signal.eq(signal + 1), ports.q.eq(signal)]

    file = io.StringIO()
    component = Small(nameless)
    [name] = [name for name in signal_names(component) if name.startswith("$")]
    log = VcdLog([name, "q"], file)
    compile_design(Small(nameless), hooks=[log], cache=False).step(20)
    log.close()
    waves = read_vcd(file.getvalue().encode(), "top.clk")
    assert waves[f"top._{name[1:]}"] == [k % 16 for k in range(20)]


def test_time_goes_on_behind_a_reset() -> None:
    file = io.StringIO()
    log = VcdLog(["inner.deep.count", "go"], file)
    design = compile_design(Small(build, PORTS), hooks=[log], cache=False)
    for _ in range(2):
        design.poke("go", 1)
        design.poke("step", 5)
        design.step(3)
        log.flush()
        design.reset()
    design.step(2)
    log.close()
    waves = read_vcd(file.getvalue().encode(), "top.clk")
    minus = -3 % 4096
    assert waves["top.inner.deep.count"] == [minus, 2, 7, minus, 2, 7, minus, minus]
    assert waves["top.go"] == [1, 1, 1, 1, 1, 1, 0, 0]


def test_a_chosen_clock_or_a_signal_without_bits_does_no_harm() -> None:
    def empty(m: Module, ports: Any) -> None:
        none = Signal(0, name="none")
        m.d.comb += ports.q.eq(ports.a)
        m.d.sync += [none.eq(1), Signal(name="some").eq(1)]

    file = io.StringIO()
    log = VcdLog(["clk", "none", "q"], file)
    design = compile_design(Small(empty), hooks=[log], cache=False)
    design.poke("a", 6)
    design.step(2)
    log.close()
    assert read_vcd(file.getvalue().encode(), "top.clk") == {"top.clk": [0, 0], "top.q": [6, 6]}


def test_patterns_choose_signals_by_their_names() -> None:
    names = signal_names(Small(build, PORTS))
    assert {"step", "go", "total", "wide", "clk", "rst", "inner.busy", "inner.deep.count"} <= set(names)
    assert set(matching_signals(names, ["inner.deep.*"])) >= {"inner.deep.count", "inner.deep.history"}
    assert "inner.busy" not in matching_signals(names, ["inner.deep.*"])
    assert matching_signals(names, ["total", "w?de"]) == ["total", "wide"]
    assert matching_signals(names, ["*"]) == list(names)


def message(call: Any, *arguments: Any, **more: Any) -> str:
    with pytest.raises(SimulatorError) as caught:
        call(*arguments, **more)
    return str(caught.value)


def test_what_cannot_be_drawn_is_refused() -> None:
    names = signal_names(Small(build, PORTS))
    assert message(matching_signals, names, ["total", "iner.deep.count"]) == (
        "no signal of the design matches 'iner.deep.count'; did you mean 'inner.deep.count'?"
    )
    assert message(matching_signals, names, ["zzz*"]) == "no signal of the design matches 'zzz*'"
    assert message(VcdLog, [], io.StringIO()) == "a waveform has signals; none was given"
    assert message(VcdLog, ["total"], io.StringIO(), period=1) == (
        "a waveform has a period of 2 nanoseconds or more, not 1"
    )
    large = VcdLog(["wide"] * 7_000, io.StringIO())
    assert message(compile_design, Small(build, PORTS), hooks=[large], cache=False) == (
        "a waveform of 21000 words of 64 bits is too large; choose fewer signals"
    )
    log = VcdLog(["total"], io.StringIO())
    compile_design(Small(build, PORTS), hooks=[log], cache=False)
    assert message(compile_design, Small(build, PORTS), hooks=[log], cache=False) == (
        "the waveform is already part of another simulation"
    )


def written(count: int) -> str:
    """The code that notes changes of ``count`` words."""
    fn = Function("f")
    VcdLog(["x"] * count, io.StringIO()).write(fn, 0, {"x": Slot(8, 8)})
    return fn.text()


def test_a_run_is_interrupted_as_long_as_every_word_may_still_change() -> None:
    """A MiB has a table of 24 bytes a word, and changes of 16 bytes for two cycles or more."""
    for count in (1, 3, 1000):
        assert re.search(rf"icmp ugt i64 %v\d+, {(1 << 20) - 16 * count}\n", written(count))
        assert re.search(rf"icmp ult i64 %index\d+, {count}\n", written(count))
    most = ((1 << 20) - 8) // 56
    assert written(most)
    with pytest.raises(SimulatorError, match=f"^a waveform of {most + 1} words of 64 bits is too large"):
        written(most + 1)
