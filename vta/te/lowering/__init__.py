"""From a schedule to loops, stores and allocations: which part of each tensor is needed, and the nests.

What reads a finished schedule belongs here. Primitives that change one do not (``vta.te.stage``). Tests: tests/vta/te.
"""
