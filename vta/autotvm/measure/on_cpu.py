"""Running choices for the CPU of this computer: their time by the clock, after their numbers were compared.

Tests: tests/vta/autotvm/measure/test_on_cpu.py.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.evaluator import Evaluator
from vta.autotvm.errors import TuningError
from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureResult
from vta.nd import array, cpu, empty

if TYPE_CHECKING:
    from vta.autotvm.measure.judge import Case
    from vta.autotvm.measure.local import Built

__all__ = ["Clock"]


@dataclass(frozen=True, slots=True)
class Clock:
    """How time is taken: ``repeat`` costs, each the average of at least ``number`` runs and ``min_repeat_ms``."""

    number: int = 4
    repeat: int = 3
    min_repeat_ms: float = 0.0

    def __post_init__(self) -> None:
        for name in ("number", "repeat"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise TuningError(f"LocalRunner: {name} is 1 or more, not {value!r}")

    def run(self, built: Built, case: Case) -> MeasureResult:
        """Return what the runs of a choice take, or that its numbers are wrong."""
        begin = time.monotonic()
        result = built.args[-1]
        placed = [array(values, cpu(0)) for values in case.arrays]
        out = empty(result.shape, str(result.dtype), cpu(0))
        built.module(*placed, out)
        if not case.is_right(out.numpy()):
            return MeasureResult((), MeasureErrorNo.WRONG_ANSWER, "on the CPU, the result is not what the stages mean")
        evaluator = Evaluator(built.module, self.number, self.repeat, self.min_repeat_ms)
        costs = evaluator(*placed, out).results
        return MeasureResult(costs, all_cost=time.monotonic() - begin, timestamp=time.time())
