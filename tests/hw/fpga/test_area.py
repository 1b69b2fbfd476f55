"""The area of a core by synthesis."""

import pytest

from hw.fpga import area

PART = """
module vta_core(input clk, input [3:0] a, output reg [3:0] q);
  always @(posedge clk) q <= a ^ {a[0], a[3:1]};
endmodule
"""


def test_cells_of_a_small_core_are_counted() -> None:
    pytest.importorskip("pyosys")
    found = area.core_area(PART)
    assert found.ff == 4
    assert found.lut == 4
    assert (found.dsp, found.bram) == (0, 0)


def test_the_key_names_tool_and_commands() -> None:
    assert area.area_key().endswith("synth_xilinx -family xc7 -flatten -top vta_core")
