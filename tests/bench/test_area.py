"""What ``bench.area`` reads from yosys' statistics, of old versions and of new ones."""

import pytest

from bench.area import distributed_ram
from hw.fpga.area import Area, areas_of
from hw.fpga.place import FpgaError

OLD = """
=== part ===

   Number of cells:                 99
     LUT6                           99

=== design hierarchy ===

   Number of wires:               1234
   Number of cells:                 40
     DSP48E1                         4
     FDRE                           10
     FDSE                            2
     LUT2                            3
     LUT6                           11
     RAM32M                          2
     RAMB18E1                        3
     RAMB36E1                        5
     SRL16E                          1
"""

NEW = """
=== vta_core ===

        +----------Local Count, excluding submodules.
        |
     1234 wires
       23 ports
       40 cells
        4   DSP48E1
       10   FDRE
        2   FDSE
        3   LUT2
       11   LUT6
        2   RAM32M
        3   RAMB18E1
        5   RAMB36E1
        1   SRL16E
"""


@pytest.mark.parametrize("statistics", [OLD, NEW], ids=["old", "new"])
def test_the_cells_of_the_whole_design_are_counted(statistics: str) -> None:
    assert areas_of(statistics) == Area(lut=14, ff=12, dsp=4, bram=6.5)
    assert distributed_ram(statistics) == 3


def test_a_text_without_cells_is_no_statistics() -> None:
    with pytest.raises(FpgaError) as caught:
        areas_of("nothing")
    assert str(caught.value) == "area: expected the numbers of cells that yosys' stat prints, found none"
