"""Why the accelerator stopped, as its status register says.

Tests: ``tests/hw/test_fetch.py`` and ``tests/hw/test_core_launch.py``.
"""

import enum

__all__ = ["ErrorCode"]


class ErrorCode(enum.IntEnum):
    """The first error of a launch."""

    NONE = 0
    """There was none."""
    OPCODE = 1
    """The instruction has an unknown opcode."""
    UNUSED_BITS = 2
    """The instruction has unused bits that are not zero."""
    ILLEGAL = 3
    """The instruction's fields break a rule of the instruction set."""
    NO_FINISH = 4
    """The instructions ended without FINISH."""
    READ_RESPONSE = 5
    """Memory answered a read with an error."""
    WRITE_RESPONSE = 6
    """Memory answered a write with an error."""
    MISALIGNED = 7
    """The address of the instructions is no multiple of 16, or a base none of a beat: nothing was executed."""
    ABORTED = 8
    """The host gave the launch up."""
