"""A DRAM behind a design's AXI4 port, compiled into the simulation.

Models of what stands around a design belong here; notes about it do not (``hw.sim.logs``). Tests: tests/hw/sim/axi.
"""
