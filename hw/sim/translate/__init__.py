"""From the ordered netlist to the text of one LLVM module, and where everything lies in its memory.

What writes LLVM text for cells, edges and hooks belongs here. Compiling and running it do not (``hw.sim.run``).
Tests: tests/hw/sim/translate.
"""
