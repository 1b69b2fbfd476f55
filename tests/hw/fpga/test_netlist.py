# amaranth: UnusedElaboratable=no
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.fpga.synthesis import generic_netlist
from hw.registers import ControlRegisters
from hw.top import Top
from hw.verilog import component_to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.benches.cocotb_suite import SMALL


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
