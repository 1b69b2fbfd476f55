"""What the issue logic hands to the units of the compute module: an instruction and its place in the window.

Tests: ``tests/hw/compute/test_window.py``, ``tests/hw/compute/test_stage_order.py``,
``tests/hw/compute/test_stage_gemm.py``; ports and costs: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

import enum

from amaranth.lib import data

from hw.layouts import INSTRUCTION_WIDTH

__all__ = ["TAG_WIDTH", "WINDOW", "Unit", "done_layout", "job_layout"]

WINDOW = 16
"""Instructions that may be between issue and retirement."""

TAG_WIDTH = 4
"""Bits of a place in the window."""


class Unit(enum.IntEnum):
    """Who executes an instruction; NONE completes as soon as it is its turn."""

    NONE = 0
    UOP = 1
    ACC = 2
    GEMM = 3
    ALU = 4
    RESET = 5


def job_layout() -> data.StructLayout:
    """Return the layout of an instruction word and its place in the window."""
    return data.StructLayout({"insn": INSTRUCTION_WIDTH, "tag": TAG_WIDTH})


def done_layout() -> data.StructLayout:
    """Return the layout of a completion: for one cycle ``valid``, when the last write is being done."""
    return data.StructLayout({"tag": TAG_WIDTH, "valid": 1})
