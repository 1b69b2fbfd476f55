"""What a module does in a cycle: work, or the one cause that it waits for.

Every module that is accounted for has an output of shape ``Cause``; counted over a launch, its values sum to the
launch's cycles. Tests: ``tests/hw/compute/test_stage_accounting.py``.
"""

import enum

__all__ = ["Cause"]


class Cause(enum.IntEnum):
    """What one cycle of a module went to: work, or the one thing that it waited for."""

    WORK = 0
    """It moved or computed something."""
    TOKEN_PREV = 1
    """The next instruction needs a token of the module to the left."""
    TOKEN_NEXT = 2
    """The next instruction needs a token of the module to the right."""
    UOP_LOAD = 3
    """Micro-ops are on their way."""
    MEMORY = 4
    """Other data are on their way to or from DRAM."""
    HAZARD = 5
    """An instruction in flight has to be out of the way first."""
    DRAIN = 6
    """Pipelines empty and completions are reported."""
    INSTRUCTION = 7
    """There is no instruction to start."""
    IDLE = 8
    """Nothing was launched."""
