"""Drivers: accelerators outside of this process, on boards or in another simulator, as devices.

What speaks to one kind of board or link belongs here; the map of the registers does not (``isa.machine``), nor do
projects for boards (``hw.fpga.boards``). Nothing here imports the hardware. Tests: tests/runtime/drivers.
"""
