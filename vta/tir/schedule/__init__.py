"""``tir.Schedule``: primitives on the blocks and loops of a function, each checked when it is applied.

What changes a program of blocks belongs here. Making blocks of tensor expressions does not
(``vta.te.lowering.prim_func``). Tests: tests/vta/tir/schedule.
"""

from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.schedule import BlockRV, LoopRV, Schedule
from vta.tir.schedule.trace import Instruction, IntRV, Trace

__all__ = ["BlockRV", "BlockScheduleError", "Instruction", "IntRV", "LoopRV", "Schedule", "Trace"]
