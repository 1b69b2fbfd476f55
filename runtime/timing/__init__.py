"""When the instructions of a launch begin and end on the hardware, worked out without the hardware.

``task`` is what an instruction is for its timing, ``program`` makes tasks of instruction words, ``machine`` gives them
their times. Tests: tests/runtime/timing.
"""

from runtime.timing.machine import Times, alu_loss, time_tasks
from runtime.timing.program import RESET_LANES, tasks_of
from runtime.timing.task import NOTHING, Task, Unit

__all__ = ["NOTHING", "RESET_LANES", "Task", "Times", "Unit", "alu_loss", "tasks_of", "time_tasks"]
