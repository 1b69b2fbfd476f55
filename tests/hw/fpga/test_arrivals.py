# amaranth: UnusedElaboratable=no
"""Estimates of when registers have their inputs, compared with sums by hand and with a walk over all paths."""

from collections.abc import Iterator
from itertools import pairwise
from math import isclose, log2
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from hypothesis import given
from hypothesis import strategies as st

from hw.fpga.arrivals import Arrivals, Late
from hw.fpga.netlist import Net, Netlist, NetlistCell
from hw.fpga.report import map_accelerator, mapped_lines
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

Ports = dict[str, tuple[Net, ...]]


def cell(name: str, kind: str, inputs: Ports, outputs: Ports, **parameters: str) -> NetlistCell:
    return NetlistCell(name, kind, inputs, outputs, parameters)


def latest(*cells: NetlistCell, names: dict[Net, str] | None = None) -> tuple[Late, ...]:
    return Arrivals(Netlist({}, {}, cells, names or {})).latest()


def test_a_path_is_clock_to_output_then_wires_and_cells_up_to_the_wire_to_the_register() -> None:
    (found,) = latest(
        cell("a.x_FF", "TRELLIS_FF", {"CLK": (9,)}, {"Q": (1,)}),
        cell("a.t", "LUT4", {"A": (1,)}, {"Z": (2,)}),
        cell("b.u", "LUT4", {"A": (2,), "B": (1,)}, {"Z": (3,)}),
        cell("b.y_FF", "TRELLIS_FF", {"CLK": (9,), "DI": (3,)}, {"Q": (4,)}),
        names={1: "a.x", 2: "a.w", 3: "b.v", 4: "b.y"},
    )
    # net 1 goes to two inputs, the others to one
    assert found.nanoseconds == pytest.approx(0.52 + (0.8 + 0.16 + 0.24) + (0.8 + 0.24) + 0.8)
    assert (found.end, found.bits, found.path) == ("b.y.DI", 1, ("a.x", "a.w", "b.v"))
    assert (found.start, found.modules) == ("a.x", ("a", "b"))


@pytest.mark.parametrize(
    ("start", "nanoseconds"),
    [
        (cell("r", "TRELLIS_FF", {"DI": ()}, {"Q": (1,)}), 0.52),
        (cell("r", "DP16KD", {"ADA0": ()}, {"DOB3": (1,)}), 5.7),
        (cell("r", "TRELLIS_DPR16X4", {"RAD": ()}, {"DO": (1,)}), 1.0),
        (cell("r", "MULT18X18D", {"A0": ()}, {"P0": (1,)}, REG_OUTPUT_CLK="CLK0"), 1.5),
    ],
)
def test_a_path_begins_when_the_register_has_its_output(start: NetlistCell, nanoseconds: float) -> None:
    (found,) = latest(start, cell("y", "TRELLIS_FF", {"DI": (1,)}, {"Q": (2,)}), names={2: "y"})
    assert found.nanoseconds == pytest.approx(nanoseconds + 0.8)


@pytest.mark.parametrize(
    ("through", "nanoseconds"),
    [
        (cell("t", "LUT4", {"A": (1,)}, {"Z": (2,)}), 0.8 + 0.24),
        (cell("t", "PFUMX", {"C0": (1,)}, {"Z": (2,)}), 0.8 + 0.2),
        (cell("t", "PFUMX", {"ALUT": (1,)}, {"Z": (2,)}), 0.2),  # the table is right beside it
        (cell("t", "L6MUX21", {"D1": (1,)}, {"Z": (2,)}), 0.2),
        (cell("t", "L6MUX21", {"SD": (1,)}, {"Z": (2,)}), 0.8 + 0.2),
        (cell("t", "CCU2C", {"A0": (1,)}, {"S1": (2,)}), 0.8 + 0.45),
        (cell("t", "CCU2C", {"CIN": (1,)}, {"S0": (2,)}), 0.45),
        (cell("t", "CCU2C", {"CIN": (1,)}, {"COUT": (2,)}), 0.07),
        (cell("t", "MULT18X18D", {"A17": (1,)}, {"P35": (2,)}), 0.8 + 4.0),
        (cell("t", "TRELLIS_DPR16X4", {"RAD": (1,)}, {"DO": (2,)}), 0.8 + 0.24),
    ],
)
def test_each_cell_takes_its_time_and_that_of_the_wire_to_it(through: NetlistCell, nanoseconds: float) -> None:
    (found,) = latest(
        cell("x", "TRELLIS_FF", {}, {"Q": (1,)}), through, cell("y", "TRELLIS_FF", {"LSR": (2,)}, {"Q": (3,)})
    )
    assert found.nanoseconds == pytest.approx(0.52 + nanoseconds + 0.8)


def test_a_register_of_many_bits_has_an_entry_for_each_port_with_its_latest_bit() -> None:
    found = latest(
        cell("x", "TRELLIS_FF", {}, {"Q": (1,)}),
        cell("t", "LUT4", {"A": (1,)}, {"Z": (2,)}),
        cell("word_FF", "TRELLIS_FF", {"CLK": (9,), "DI": (1,), "CE": (1,)}, {"Q": (3,)}),
        cell("word_FF_1", "TRELLIS_FF", {"CLK": (9,), "DI": (2,), "CE": (1,)}, {"Q": (4,)}),
        cell("bank", "DP16KD", {"CLKA": (9,), "ADA0": (1,), "ADA13": (1,), "DIA5": (2,)}, {}),
        names={1: "x", 2: "w", 3: "word", 4: "word"},
    )
    assert [(late.end, late.bits, late.path) for late in found] == [
        ("bank.DIA", 1, ("x", "w")),
        ("word.DI", 2, ("x", "w")),
        ("bank.ADA", 2, ("x",)),
        ("word.CE", 2, ("x",)),
    ]


def test_a_wire_takes_longer_the_more_inputs_it_goes_to() -> None:
    def of(fan_out: int) -> float:
        readers = [cell(f"y{n}", "TRELLIS_FF", {"DI": (1,)}, {"Q": (10 + n,)}) for n in range(fan_out)]
        return latest(cell("x", "TRELLIS_FF", {}, {"Q": (1,)}), *readers)[0].nanoseconds

    assert [of(1), of(2), of(8)] == pytest.approx([1.32, 1.48, 1.8])


KINDS = {
    "LUT4": (("A", "B", "C", "D"), ("Z",)),
    "PFUMX": (("ALUT", "BLUT", "C0"), ("Z",)),
    "L6MUX21": (("D0", "D1", "SD"), ("Z",)),
    "CCU2C": (("A0", "B0", "A1", "CIN"), ("S0", "S1", "COUT")),
    "MULT18X18D": (("A0", "B0"), ("P0", "P1")),
    "TRELLIS_DPR16X4": (("RAD", "DI", "WAD"), ("DO",)),
    "TRELLIS_FF": (("DI", "CE", "LSR"), ("Q",)),
    "DP16KD": (("ADA0", "DIA0"), ("DOA0", "DOB0")),
}
"""Cells by their inputs and outputs."""

CELL = {"LUT4": 0.24, "PFUMX": 0.2, "L6MUX21": 0.2, "CCU2C": 0.45, "MULT18X18D": 4.0, "TRELLIS_DPR16X4": 0.24}
FIRST = {"TRELLIS_FF": 0.52, "DP16KD": 5.7, "TRELLIS_DPR16X4": 1.0}
NO_WIRE = {("PFUMX", "ALUT"), ("PFUMX", "BLUT"), ("L6MUX21", "D0"), ("L6MUX21", "D1"), ("CCU2C", "CIN")}


@st.composite
def netlists(draw: st.DrawFn) -> Netlist:
    """Return cells in a row, of which each reads nets of those before it, and registers those behind it, too."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=2, max_size=9))
    outputs: list[Ports] = []
    count = 1
    for kind in kinds:
        ports = KINDS[kind][1]
        outputs.append({port: (count + n,) for n, port in enumerate(ports)})
        count += len(ports)
    cells = []
    for place, kind in enumerate(kinds):
        before = [net for ports in outputs[:place] for (net,) in ports.values()]
        inputs: Ports = {}
        for port in KINDS[kind][0]:
            clocked = kind in ("TRELLIS_FF", "DP16KD") or (kind == "TRELLIS_DPR16X4" and port != "RAD")
            choice = list(range(1, count)) if clocked else before
            inputs[port] = draw(st.lists(st.sampled_from(choice), max_size=2).map(tuple)) if choice else ()
        cells.append(cell(f"m{place}.c", kind, inputs, outputs[place]))
    return Netlist({}, {}, tuple(cells), {net: f"n{net}" for net in range(1, count)})


def all_paths(netlist: Netlist, end: Net) -> Iterator[tuple[float, tuple[Net, ...]]]:
    """Yield every path to a net, with its time without the wire behind it."""
    driver = next(made for made in netlist.cells for nets in made.outputs.values() if end in nets)
    exit_port = next(port for port, nets in driver.outputs.items() if end in nets)
    if driver.kind in FIRST:
        yield FIRST[driver.kind], (end,)
    if driver.kind in ("TRELLIS_FF", "DP16KD"):
        return
    if not any(driver.inputs[port] for port in driver.inputs if driver.kind != "TRELLIS_DPR16X4" or port == "RAD"):
        yield 0.0, (end,)
    for port, nets in driver.inputs.items():
        if driver.kind == "TRELLIS_DPR16X4" and port != "RAD":
            continue
        through = 0.07 if (port, exit_port) == ("CIN", "COUT") else CELL[driver.kind]
        for net in nets:
            wire = 0.0 if (driver.kind, port) in NO_WIRE else wire_of(netlist, net)
            yield from ((before + wire + through, (*path, end)) for before, path in all_paths(netlist, net))


def wire_of(netlist: Netlist, net: Net) -> float:
    pins = [pin for made in netlist.cells for nets in made.inputs.values() for pin in nets if pin == net]
    return 0.8 + 0.16 * log2(len(pins))


@given(netlists())
def test_every_estimate_is_that_of_the_longest_of_all_paths(netlist: Netlist) -> None:
    clocked = {"TRELLIS_FF": ("DI", "CE", "LSR"), "DP16KD": ("ADA0", "DIA0"), "TRELLIS_DPR16X4": ("DI", "WAD")}
    expected: dict[str, list[tuple[float, tuple[Net, ...]]]] = {}
    for made in netlist.cells:
        for port in clocked.get(made.kind, ()):
            name = f"n{made.outputs['Q'][0]}" if made.kind == "TRELLIS_FF" else made.name
            for net in made.inputs[port]:
                found = [(time + wire_of(netlist, net), path) for time, path in all_paths(netlist, net)]
                expected.setdefault(f"{name}.{port.rstrip('0')}", []).extend(found)
    late = Arrivals(netlist).latest()
    assert {entry.end for entry in late} == set(expected)
    assert all(first.nanoseconds >= second.nanoseconds for first, second in pairwise(late))
    for entry in late:
        paths = expected[entry.end]
        assert isclose(entry.nanoseconds, max(time for time, _ in paths), abs_tol=1e-9)
        times = [time for time, path in paths if tuple(f"n{net}" for net in path) == entry.path]
        assert any(isclose(entry.nanoseconds, time, abs_tol=1e-9) for time in times)


class Parity(wiring.Component):
    """The parity of sixteen registers, in a register, in a module of their own."""

    def __init__(self) -> None:
        super().__init__({"data": In(16), "parity": Out(1)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        m.submodules.part = part = Module()
        kept = Signal(16)
        part.d.sync += [kept.eq(self.data), self.parity.eq(kept.xor())]
        return m


def test_what_is_mapped_has_its_cells_levels_and_latest_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hw.fpga.report.Top", lambda *_: Parity())
    mapped = map_accelerator(VTAConfig(), HardwareConfig(), folder=tmp_path)
    assert mapped.netlist == tmp_path / "design.json"
    assert mapped.levels == {"part": 2}
    latest, *others = mapped.late  # two tables behind sixteen registers, one behind none
    assert (latest.end, latest.bits, latest.start) == ("design.parity.DI", 1, "design.part.kept")
    assert latest.nanoseconds == pytest.approx(0.52 + 3 * 0.8 + 2 * 0.24)
    assert all(late.nanoseconds < 2 for late in others)
    assert list(mapped_lines(mapped))[-len(mapped.late)] == "    3.40 ns  parity.DI (1), from part.kept"
