"""Moving rows of elements between DRAM and the scratchpads: addresses, incoming beats, outgoing beats.

The port that all movers share does not belong here (``hw.memory_engine``). Tests: tests/hw.
"""
