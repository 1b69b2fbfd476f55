"""The error of primitives on blocks and loops.

Tests: tests/vta/tir/schedule.
"""

from isa.errors import VTAError

__all__ = ["BlockScheduleError"]


class BlockScheduleError(VTAError, ValueError):
    """A primitive that does not apply to the block or loop that it was given."""
