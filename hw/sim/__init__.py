"""A simulator for Amaranth designs: the netlist becomes native code through LLVM.

``compile_design`` takes a component with one clock and returns a ``CompiledDesign``; ``AxiMemory`` and ``Histogram``
are work that runs in native code beside it. ``docs/hw-sim.md`` is the overview.
"""

from hw.sim.axi_memory import AxiCounts, AxiMemory
from hw.sim.compiling import cached_design, compile_design
from hw.sim.design import CompiledDesign
from hw.sim.errors import AxiError, PropertyError, SimulatorError
from hw.sim.histogram import Histogram

__all__ = [
    "AxiCounts",
    "AxiError",
    "AxiMemory",
    "CompiledDesign",
    "Histogram",
    "PropertyError",
    "SimulatorError",
    "cached_design",
    "compile_design",
]
