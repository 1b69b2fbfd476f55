"""Target ``tsim``: the hardware itself, cycle by cycle in native code.

What turns the simulated core into a device belongs here; it alone in ``runtime`` imports ``hw``, when first used. The
simulator of netlists does not (``hw.sim``). Tests: tests/runtime/devices/tsim.
"""
