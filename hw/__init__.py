"""The accelerator in Amaranth: fetch, load, compute, store, memory engine, registers, core and AXI top.

Components belong here; their numbers and tables that need no Amaranth do not (``isa.machine``). ``hw.sim`` simulates
any design, ``hw.verilog`` exports one. Tests: tests/hw, tests/cocotb.
"""
