"""How wide the machine's counters are, for the hardware that counts and the driver that reads.

Tests: tests/hw/test_registers.py.
"""

__all__ = ["COUNTER_WIDTH", "COUNT_WIDTH", "CYCLE_WIDTH"]

COUNT_WIDTH = 22
"""Bits of a number of instructions."""

CYCLE_WIDTH = 48
"""Bits of the cycle counter."""

COUNTER_WIDTH = 32
"""Bits of an event counter."""
