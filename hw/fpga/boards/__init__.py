"""The accelerator on boards: whole projects around its AXI top, for open tools and for Vivado.

What belongs to one board, or to a system around the accelerator, belongs here; synthesis, place and route of a design
do not (``hw.fpga``), nor do drivers (``runtime.drivers``). Tests: tests/hw/fpga/boards.
"""
