# amaranth: UnusedElaboratable=no
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hw.fpga.harness import Harness
from hw.fpga.synthesis import generic_netlist
from hw.registers import ControlRegisters
from hw.sim import compile_design
from hw.token_counter import TokenCounter
from hw.verilog import component_to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.hw.inline_design import Small


@pytest.mark.parametrize("part", [TokenCounter(), ControlRegisters(VTAConfig(), HardwareConfig())])
def test_a_harness_has_four_pins_and_no_way_between_them_without_a_register(part: object) -> None:
    netlist = generic_netlist(component_to_verilog(Harness(part), name="harness"), "harness")  # type: ignore[arg-type]
    assert {*netlist.inputs, *netlist.outputs} == {"clk", "rst", "reset", "shifted_in", "parity"}
    assert netlist.inputs_of("parity") == set()


def test_what_resets_the_component_comes_from_a_register() -> None:
    harness = Harness(ControlRegisters(VTAConfig(), HardwareConfig()))
    netlist = generic_netlist(component_to_verilog(harness, name="harness"), "harness")
    reached = set(netlist.inputs["rst"]) | set(netlist.inputs["reset"])
    while more := {net for net, arcs in netlist.arcs.items() if any(arc.source in reached for arc in arcs)} - reached:
        reached |= more
    registers = [cell for net, cell in netlist.ends if net in reached]
    names = {netlist.names[net] for cell in registers for net in cell.outputs["Q"]}
    assert names
    assert not [name for name in names if name.startswith("design.")]


@pytest.mark.parametrize(("width", "registers"), [(1, 3), (4, 3), (40, 4)])
def test_every_output_reaches_the_parity_through_two_registers_or_more(width: int, registers: int) -> None:
    """A one that wanders through the inputs, which are the outputs, is seen once at each of them."""

    def build(m: Module, ports: Any) -> None:
        m.d.comb += ports.q.eq(ports.a)

    design = compile_design(Harness(Small(build, {"a": In(width), "q": Out(width)})))
    design.poke("shifted_in", 1)
    seen = []
    for _ in range(width + 20):
        seen.append(design.peek("parity"))
        design.step()
        design.poke("shifted_in", 0)
    assert sum(seen) == width
    assert seen.index(1) == registers  # of the input, of the output, and those of the tree
