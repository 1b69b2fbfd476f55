"""Where a launch stands under the machine's two roofs: multiply-accumulates a cycle against those per byte of DRAM.

Reads and writes have a channel each, so that the busier of the two is the roof.

Tests: tests/vta/inspect/trace/test_roofline.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from runtime.observe.timeline import NEVER
from runtime.observe.word_counts import count_words
from vta.inspect.trace.model import Recorded

__all__ = ["Roofline", "roofline"]


@dataclass(frozen=True, slots=True)
class Roofline:
    """The roofs ``peak`` (MAC a cycle) and ``bandwidth`` (bytes a cycle), and the launch below them.

    ``macs`` were done in ``cycles``, in which ``read`` and ``written`` bytes moved.
    """

    peak: int
    bandwidth: float
    macs: int
    read: int
    written: int
    cycles: int

    @property
    def nbytes(self) -> int:
        """Bytes on the busier channel."""
        return max(self.read, self.written)

    @property
    def intensity(self) -> float:
        """MAC per byte on the busier channel."""
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

    The fetch of instructions counts as reads.
    """
    timeline, config = launch.timeline, launch.config
    width = hardware.get("data_width")
    if timeline.cycles is None or not isinstance(width, int):
        return None
    completed = timeline.ended[: launch.legal] != NEVER
    counted = count_words(launch.tables, completed, config)
    bursts = timeline.bursts
    writes = np.isin(bursts.client, [at for at, name in enumerate(bursts.clients) if name in bursts.writers])
    moved = bursts.end != NEVER
    return Roofline(
        peak=config.batch * config.block_in * config.block_out,
        bandwidth=width / 8,
        macs=counted.gemm_counter * config.batch * config.block_in * config.block_out,
        read=int(bursts.nbytes[moved & ~writes].sum()),
        written=int(bursts.nbytes[moved & writes].sum()),
        cycles=timeline.cycles,
    )
