"""The hardware on an FPGA: netlists that yosys mapped, their levels and paths, place and route, boards.

What the hardware is does not belong here (``hw``), nor its Verilog (``hw.verilog``). Tests: tests/hw/fpga.
"""
