"""Where a launch stands under the machine's two roofs: multiply-accumulates a cycle against those per byte of DRAM.

May import ``isa`` and ``runtime``. Tests: tests/vta/trace/test_roofline.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from runtime.timeline import NEVER
from runtime.word_counts import count_words
from vta.trace.model import Recorded

__all__ = ["Roofline", "roofline"]


@dataclass(frozen=True, slots=True)
class Roofline:
    """The roofs ``peak`` (MAC a cycle) and ``bandwidth`` (bytes a cycle), and the launch below them.

    ``macs`` were done and ``nbytes`` moved in ``cycles``.
    """

    peak: int
    bandwidth: float
    macs: int
    nbytes: int
    cycles: int

    @property
    def intensity(self) -> float:
        """MAC per byte of DRAM traffic."""
        return self.macs / self.nbytes if self.nbytes else float("inf")

    @property
    def achieved(self) -> float:
        """MAC a cycle."""
        return self.macs / self.cycles

    @property
    def attainable(self) -> float:
        """The roof above the launch, in MAC a cycle."""
        return min(float(self.peak), self.intensity * self.bandwidth)


def roofline(launch: Recorded, hardware: Mapping[str, object]) -> Roofline | None:
    """Return the roofline of a launch on a device with a clock; ``hardware`` has the width of its memory port.

    Bytes are those of reads, as these share one channel, and of writes; the fetch of instructions counts.
    """
    timeline, config = launch.timeline, launch.config
    width = hardware.get("data_width")
    if timeline.cycles is None or not isinstance(width, int):
        return None
    completed = timeline.ended[: launch.legal] != NEVER
    counted = count_words(launch.tables, completed, config)
    moved = timeline.bursts.nbytes[np.flatnonzero(timeline.bursts.end != NEVER)]
    return Roofline(
        peak=config.batch * config.block_in * config.block_out,
        bandwidth=width / 8,
        macs=counted.gemm_counter * config.batch * config.block_in * config.block_out,
        nbytes=int(moved.sum()),
        cycles=timeline.cycles,
    )
