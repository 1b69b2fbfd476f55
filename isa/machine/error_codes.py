"""Why the accelerator stopped, as its status register says.

Tests: ``tests/hw/test_fetch.py``, ``tests/hw/test_core_launch.py``, ``tests/runtime/drivers/test_memory_errors.py``.
"""

import enum

__all__ = ["MEMORY_RESPONSES", "ErrorCode", "stop_text"]


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


MEMORY_RESPONSES = frozenset({ErrorCode.READ_RESPONSE, ErrorCode.WRITE_RESPONSE})
"""Errors that are memory's, after which nothing is known of what it holds."""

_ASKED = ("fetch", "micro-op loads", "accumulator loads", "the load module", "the store module")
"""Who the place of an error of memory speaks of."""


def stop_text(code: ErrorCode, place: int) -> str:
    """Say why the hardware stopped, from the error and its place as the registers have them."""
    said = f"the hardware stopped with error {code.name} at {place}"
    if code not in MEMORY_RESPONSES:
        return said
    who = _ASKED[place] if place < len(_ASKED) else "nobody that there is"
    moved = "read" if code is ErrorCode.READ_RESPONSE else "write"
    return (
        f"{said}: memory answered a {moved} of {who} with SLVERR or DECERR; look if all of the memory that the device "
        "was given is there, and may be read and written"
    )
