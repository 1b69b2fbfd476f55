"""A simulator for Amaranth designs: the netlist becomes native code through LLVM.

``compile_design`` takes a component with one clock and returns a ``CompiledDesign``; ``AxiMemory``, ``Histogram`` and
``VcdLog`` are work that runs in native code beside it. ``docs/hw-sim.md`` is the overview.
"""

from hw.sim.axi.memory import AxiCounts, AxiMemory
from hw.sim.errors import AxiError, PropertyError, SimulatorError
from hw.sim.logs.histogram import Histogram
from hw.sim.logs.vcd import VcdLog, matching_signals
from hw.sim.run.compiling import cached_design, compile_design, signal_names
from hw.sim.run.design import CompiledDesign

__all__ = [
    "AxiCounts",
    "AxiError",
    "AxiMemory",
    "CompiledDesign",
    "Histogram",
    "PropertyError",
    "SimulatorError",
    "VcdLog",
    "cached_design",
    "compile_design",
    "matching_signals",
    "signal_names",
]
