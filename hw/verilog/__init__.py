"""The hardware as Verilog.

Export and what makes its text belong here; simulation of a netlist does not (``hw.sim``). Tests: tests/hw/verilog.
"""

from hw.verilog.export import Shell, component_to_verilog, to_verilog
from hw.verilog.yosys import VerilogError

__all__ = ["Shell", "VerilogError", "component_to_verilog", "to_verilog"]
