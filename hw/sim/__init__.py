"""A simulator for Amaranth designs: the netlist becomes native code through LLVM.

``compile_design`` takes a component with one clock and returns a ``CompiledDesign``; ``AxiMemory`` and ``Histogram``
are work that runs in native code beside it. ``docs/hw-sim.md`` is the overview.
"""

from hw.sim.compiling import cached_design, compile_design
from hw.sim.design import CompiledDesign
from hw.sim.errors import AxiError, PropertyError, SimulatorError

__all__ = ["AxiError", "CompiledDesign", "PropertyError", "SimulatorError", "cached_design", "compile_design"]
