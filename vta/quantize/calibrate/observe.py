"""What every point of a plan looks like over data: its numbers, and the mean of each channel.

Tests: tests/vta/quantize/calibrate/test_observe.py.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from isa.progress import tell, told
from runtime.executor.operators.types import Array
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.calibrate.histogram import Histogram
from vta.quantize.calibrate.samples import Samples
from vta.quantize.graph import Graph
from vta.quantize.plan import Plan

__all__ = ["Observed", "observe"]


@dataclass(slots=True)
class Observed:
    """What was seen of a tensor: on the data that ranges are found with, and on those that judge them."""

    seen: Histogram = field(default_factory=Histogram)
    held: Histogram = field(default_factory=Histogram)
    sums: npt.NDArray[np.float64] | None = None
    """Of every channel (axis 1), over all data."""
    positions: int = 0

    def add(self, values: Array, *, held: bool) -> None:
        """Take in a batch."""
        (self.held if held else self.seen).add(values)
        if values.ndim < 2:
            return
        axes = tuple(axis for axis in range(values.ndim) if axis != 1)
        sums = values.sum(axis=axes, dtype=np.float64)
        self.sums = sums if self.sums is None or self.sums.shape != sums.shape else self.sums + sums
        self.positions += values.size // max(1, values.shape[1])

    @property
    def means(self) -> npt.NDArray[np.float64] | None:
        """The mean of every channel."""
        return None if self.sums is None else self.sums / max(1, self.positions)

    @property
    def finite(self) -> bool:
        """Whether every number was finite."""
        return self.seen.finite and self.held.finite


def observe(graph: Graph, plan: Plan, samples: Samples, what: str = "calibrating") -> dict[str, Observed]:
    """Return what was seen of every point that has a scale of its own."""
    found = {name: Observed() for name in plan.roots}
    runner = Runner(graph.to_model(), plan.roots)
    calibration, held = samples.split()
    parts = ((calibration, False), (held, True)) if held is not calibration else ((calibration, False),)
    done, total = 0, sum(part.count for part, _ in parts)
    for part, is_held in parts:
        for feed in part.batches():
            for name, values in runner(feed).items():
                found[name].add(values, held=is_held)
            done += len(next(iter(feed.values())))
            tell(what, done, total, "samples")
    told(what)
    if held is calibration:
        for each in found.values():
            each.held = each.seen
    return found
