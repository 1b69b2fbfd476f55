"""What an instruction is for its timing: who executes it, for how long, and what it waits for.

Tests: tests/runtime/timing/test_machine.py.
"""

from dataclasses import dataclass
from enum import IntEnum

from isa.instructions import Module

__all__ = ["NOTHING", "Task", "Unit"]

NOTHING = -1
"""The place of an instruction that there is none of."""


class Unit(IntEnum):
    """A part of the hardware that executes instructions one after the other."""

    LOAD = 0
    STORE = 1
    UOP = 2
    ACC = 3
    GEMM = 4
    ALU = 5
    RESET = 6
    FINISH = 7

    @property
    def module(self) -> Module:
        """The module that the unit belongs to."""
        match self:
            case Unit.LOAD:
                return Module.LOAD
            case Unit.STORE:
                return Module.STORE
            case _:
                return Module.COMPUTE


@dataclass(frozen=True, slots=True)
class Task:
    """An instruction; times are cycles.

    ``work`` is what its unit needs where nothing is in its way: steps of GEMM and ALU (and one for each pair of
    operands of fused steps), cycles of a reset, for transfers the longer of their beats and the elements that are
    written or read. ``bursts`` are those of a transfer, and ``zeros`` the elements that a load fills in. ``after_prev``
    and ``after_next`` are the places of the instructions of the neighbouring modules whose tokens it takes. ``low`` to
    ``high`` (included) are its accumulators, ``uop_bgn`` up to ``uop_end`` the micro-ops that it uses or loads,
    ``bits`` those of its longer loop's last index and one more, ``kind`` the scratchpad that a load fills, ``run`` how
    many neighbouring accumulators a GEMM adds to one after the other (0: unknown).
    """

    unit: Unit
    work: int = 0
    bursts: int = 0
    zeros: int = 0
    after_prev: int = NOTHING
    after_next: int = NOTHING
    low: int = 0
    high: int = NOTHING
    uop_bgn: int = 0
    uop_end: int = 0
    bits: int = 0
    kind: int = 0
    run: int = 0

    @property
    def idle(self) -> bool:
        """Whether it does nothing but pass on tokens."""
        return self.work == 0
