"""How wide the machine's counters are, for the hardware that counts and the driver that reads.

Tests: tests/hw/test_registers.py.
"""

__all__ = ["CAUSE_STRIDE", "COUNTED_MODULES", "COUNTER_WIDTH", "COUNT_WIDTH", "CYCLE_WIDTH"]

COUNT_WIDTH = 22
"""Bits of a number of instructions."""

CYCLE_WIDTH = 48
"""Bits of the cycle counter."""

COUNTER_WIDTH = 32
"""Bits of an event counter."""

COUNTED_MODULES = ("fetch", "load", "compute", "store")
"""The modules whose cycles are counted by cause."""

CAUSE_STRIDE = 16
"""Counters from the first one of a module to that of the next: a power of two, at least the causes that there are."""
