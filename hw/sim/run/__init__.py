"""A running simulation: compile a design or take it from the cache, poke, step, peek.

The state of a simulation and its life belong here. The code's text does not (``hw.sim.translate``).
Tests: tests/hw/sim/run.
"""
