# amaranth: UnusedElaboratable=no
import pytest

from hw.fpga.harness import Harness
from hw.fpga.synthesis import generic_netlist
from hw.registers import ControlRegisters
from hw.token_counter import TokenCounter
from hw.verilog import component_to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig


@pytest.mark.parametrize("part", [TokenCounter(), ControlRegisters(VTAConfig(), HardwareConfig())])
def test_a_harness_has_four_pins_and_no_way_between_them_without_a_register(part: object) -> None:
    netlist = generic_netlist(component_to_verilog(Harness(part), name="harness"), "harness")  # type: ignore[arg-type]
    assert {*netlist.inputs, *netlist.outputs} == {"clk", "rst", "reset", "shifted_in", "parity"}
    assert netlist.inputs_of("parity") == set()
