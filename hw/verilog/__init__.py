"""The hardware as Verilog."""

from hw.verilog.export import Shell, VerilogError, component_to_verilog, to_verilog

__all__ = ["Shell", "VerilogError", "component_to_verilog", "to_verilog"]
