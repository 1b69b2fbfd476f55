"""What is noted while a design runs, in native code: events, samples, histograms, waveforms.

A hook that only looks belongs here; one that answers the design does not (``hw.sim.axi``). Tests: tests/hw/sim/logs.
"""
