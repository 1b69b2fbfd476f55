# amaranth: UnusedElaboratable=no
import json
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.fpga.netlist import Netlist, NetlistCell
from hw.fpga.synthesis import generic_netlist
from hw.registers import ControlRegisters
from hw.top import Top
from hw.verilog import component_to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.benches.cocotb_suite import SMALL

Nets = tuple[int, ...]


class Paths(wiring.Component):
    """Outputs that depend on inputs in every way that there is."""

    def __init__(self) -> None:
        super().__init__(
            {
                **{name: In(4) for name in ("a", "b", "c", "address")},
                **{name: Out(4) for name in ("both", "kept", "read", "held", "fixed")},
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        m.submodules.memory = memory = Memory(shape=4, depth=16, init=[])
        asynchronous, synchronous, write = (
            memory.read_port(domain="comb"),
            memory.read_port(),
            memory.write_port(),
        )
        inner = Signal(4)
        m.d.sync += self.kept.eq(self.a + self.b)
        m.d.comb += [
            inner.eq(self.kept ^ self.b),
            self.both.eq(inner + self.a),
            asynchronous.addr.eq(self.address),
            synchronous.addr.eq(self.address),
            self.read.eq(asynchronous.data),
            self.held.eq(synchronous.data),
            write.addr.eq(self.c),
            write.data.eq(self.c),
            write.en.eq(1),
            self.fixed.eq(5),
        ]
        return m


def test_an_output_depends_on_the_inputs_that_reach_it_without_a_register() -> None:
    netlist = generic_netlist(component_to_verilog(Paths(), name="paths"), "paths")
    found = {name: netlist.inputs_of(name) for name in netlist.outputs}
    assert found == {"both": {"a", "b"}, "kept": set(), "read": {"address"}, "held": set(), "fixed": set()}


def paths_through(component: wiring.Component) -> dict[str, set[str]]:
    """Return the outputs that depend on an input of the same cycle, with those inputs."""
    netlist = generic_netlist(component_to_verilog(component, name="top"), "top")
    found = {name: netlist.inputs_of(name) for name in netlist.outputs}
    return {name: inputs for name, inputs in found.items() if inputs}


@pytest.mark.parametrize(
    "hardware",
    [
        HardwareConfig(),
        pytest.param(HardwareConfig(axi3=1, max_burst_beats=16, cause_counters=0), marks=pytest.mark.long),
    ],
)
def test_no_output_of_the_accelerator_depends_on_an_input_of_the_same_cycle(hardware: HardwareConfig) -> None:
    assert paths_through(Top(SMALL, hardware)) == {}


def test_outputs_of_the_registers_to_the_bus_do_not_either() -> None:
    found = paths_through(ControlRegisters(VTAConfig(), HardwareConfig()))
    assert {name for name in found if name.startswith("bus")} == set()


def cell(name: str, kind: str, inputs: dict[str, Nets], outputs: dict[str, Nets], **parameters: str) -> NetlistCell:
    return NetlistCell(name, kind, inputs, outputs, parameters)


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "expected"),
    [
        ("LUT4", {"A": (1,), "B": (2,)}, {"Z": (9,)}, {(1, 9, 1), (2, 9, 1)}),
        ("PFUMX", {"ALUT": (1,), "C0": (2,)}, {"Z": (9,)}, {(1, 9, 0), (2, 9, 0)}),
        ("L6MUX21", {"D0": (1,)}, {"Z": (9,)}, {(1, 9, 0)}),
        (
            "CCU2C",
            {"CIN": (1,), "A0": (2,)},
            {"COUT": (8,), "S0": (9,)},
            {(1, 8, 0), (1, 9, 1), (2, 8, 1), (2, 9, 1)},  # along the chain of carries costs next to nothing
        ),
        ("TRELLIS_DPR16X4", {"RAD": (1,), "WCK": (2,), "DI": (3,)}, {"DO": (9,)}, {(1, 9, 1)}),
        ("TRELLIS_FF", {"DI": (1,), "CLK": (2,)}, {"Q": (9,)}, set()),
        ("DP16KD", {"ADA0": (1,)}, {"DOA0": (9,)}, set()),
        ("$scopeinfo", {"A": (1,)}, {"Z": (9,)}, set()),
        ("$add", {"A": (1, 2), "B": (3,)}, {"Y": (8, 9)}, {(s, t, 1) for s in (1, 2, 3) for t in (8, 9)}),
    ],
)
def test_a_cell_counts_as_levels_from_each_input_to_each_output(
    kind: str, inputs: dict[str, Nets], outputs: dict[str, Nets], expected: set[tuple[int, int, int]]
) -> None:
    netlist = Netlist({}, {}, (cell("c", kind, inputs, outputs),), {})
    assert {(a.source, a.target, a.levels) for arcs in netlist.arcs.values() for a in arcs} == expected


def test_a_multiplier_is_a_register_if_its_output_has_one() -> None:
    ports: tuple[dict[str, Nets], dict[str, Nets]] = ({"A0": (1,)}, {"P0": (9,)})
    assert not cell("m", "MULT18X18D", *ports).is_register
    assert not cell("m", "MULT18X18D", *ports, REG_OUTPUT_CLK="NONE").is_register
    assert cell("m", "MULT18X18D", *ports, REG_OUTPUT_CLK="CLK0").is_register
    assert all(cell("r", kind, *ports).is_register for kind in ("$dff", "$sdffe", "$adff", "TRELLIS_FF", "$_DFF_P_"))
    assert not any(cell("g", kind, *ports).is_register for kind in ("$add", "LUT4", "$dffx y", "CCU2C"))


def test_ends_are_what_registers_and_memories_take_but_for_their_clocks() -> None:
    register = cell("r", "TRELLIS_FF", {"DI": (1,), "CLK": (2,), "CE": (3,)}, {"Q": (9,)})
    memory = cell("m", "TRELLIS_DPR16X4", {"DI": (4,), "WCK": (2,), "RAD": (5,)}, {"DO": (8,)})
    gate = cell("g", "LUT4", {"A": (6,)}, {"Z": (7,)})
    found = list(Netlist({}, {}, (register, memory, gate), {}).ends)
    assert [(net, each.name) for net, each in found] == [(1, "r"), (3, "r"), (4, "m")]


def test_names_are_the_shortest_and_constants_are_no_nets(tmp_path: Path) -> None:
    module = {
        "ports": {"a": {"direction": "input", "bits": [2, "0"]}, "z": {"direction": "output", "bits": [3]}},
        "netnames": {"long.name": {"bits": [2, "x"]}, "b": {"bits": [2]}, "a": {"bits": [2]}, "z": {"bits": [3]}},
        "cells": {
            "g": {
                "type": "$not",
                "parameters": {},
                "port_directions": {"A": "input", "Y": "output"},
                "connections": {"A": [2, "1"], "Y": [3]},
            }
        },
    }
    file = tmp_path / "netlist.json"
    file.write_text(json.dumps({"modules": {"top": module}}))
    netlist = Netlist.from_json(file, "top")
    assert netlist.names == {2: "a", 3: "z"}
    assert (netlist.inputs, netlist.outputs) == ({"a": (2,)}, {"z": (3,)})
    assert netlist.inputs_of("z") == {"a"}
