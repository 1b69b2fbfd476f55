"""The simulator's netlist: from an Amaranth component to cells in the order of their evaluation.

What looks at a design before any code is written belongs here. LLVM text does not (``hw.sim.translate``).
Tests: tests/hw/sim/netlist.
"""
