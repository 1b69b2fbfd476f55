"""Clearing accumulators, up to four tiles a cycle: for resets whose destinations are affine in all three loops.

Tests: ``tests/hw/compute/test_reset_walk.py``, ``tests/hw/compute/test_stage_order.py``;
ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.accumulator import RESET_LANES, place_of
from hw.compute.jobs import TAG_WIDTH, done_layout
from hw.compute.loop_nest import ITER_WIDTH
from isa.config import VTAConfig

__all__ = ["ResetWalk", "reset_job_layout"]

_LOOPS = 3
"""Micro-ops, inner and outer loop."""


def reset_job_layout(config: VTAConfig) -> data.StructLayout:
    """Return the layout of a reset: tiles ``first + u * step_0 + j * step_1 + i * step_2`` for u, j, i below counts.

    No count is zero.
    """
    acc = config.log_acc_depth
    count = max(ITER_WIDTH, config.log_uop_depth + 1)
    return data.StructLayout(
        {
            "tag": TAG_WIDTH,
            "first": acc,
            "counts": data.ArrayLayout(count, _LOOPS),
            "steps": data.ArrayLayout(acc, _LOOPS),
        }
    )


class ResetWalk(wiring.Component):
    """Clears the tiles of a job, four neighbours of one loop at a time.

    The loop is one whose step is odd, so that neighbours lie in different banks; if there is none, fewer tiles are
    granted in a cycle. How the loops are walked is found out in the cycle before the job is taken, and the first tiles
    are offered two cycles after it: their places wait in registers, which take the next ones when all are granted.

    Parameters
    ----------
    config : VTAConfig
        Sizes.

    Members
    -------
    job : In(stream of reset_job_layout)
        What to clear.
    write, address, grant : Out, Out, In
        Places of tiles to clear now, and which of them are being cleared in this cycle.
    done : Out(done_layout)
        The last tile of a job is being cleared.
    working : Out(1)
        A tile is being cleared.
    """

    def __init__(self, config: VTAConfig) -> None:
        self.config = config
        super().__init__(
            {
                "job": In(stream.Signature(reset_job_layout(config))),
                "write": Out(RESET_LANES),
                "address": Out(data.ArrayLayout(config.log_acc_depth, RESET_LANES)),
                "grant": In(RESET_LANES),
                "done": Out(done_layout()),
                "working": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build three counters, the first of which counts in fours."""
        m = Module()
        acc = self.config.log_acc_depth
        job = self.job.p
        ordered, order = self._order(m)
        active = Signal()
        tag = Signal(TAG_WIDTH, reset_less=True)
        counts = [Signal(len(job.counts[index]), name=f"count_{index}", reset_less=True) for index in range(_LOOPS)]
        steps = [Signal(acc, name=f"step_{index}", reset_less=True) for index in range(_LOOPS)]
        left = [Signal(len(job.counts[index]), name=f"left_{index}", reset_less=True) for index in range(_LOOPS)]
        # Where each loop stands: the address at which the current pass of the loops inside it began.
        places = [Signal(acc, name=f"place_{index}", reset_less=True) for index in range(_LOOPS)]
        advances = Signal()
        ends = [Signal(name=f"end_{index}") for index in range(_LOOPS)]
        m.d.comb += [
            ends[0].eq(left[0] <= RESET_LANES),
            ends[1].eq(ends[0] & (left[1] == 1)),
            ends[2].eq(ends[1] & (left[2] == 1)),
            self.working.eq(self.grant.any()),
            self.job.ready.eq(ordered & ~active),
        ]
        self._offer(m, active, advances, first=places[0], step=steps[0], left=left[0], last=ends[2], tag=tag)
        with m.If(~active):
            m.d.sync += [active.eq(self.job.valid & ordered), tag.eq(job.tag)]
            job_counts = Array(job.counts[index] for index in range(_LOOPS))
            job_steps = Array(job.steps[index] for index in range(_LOOPS))
            for index in range(_LOOPS):
                m.d.sync += [
                    counts[index].eq(job_counts[order[index]]),
                    left[index].eq(job_counts[order[index]]),
                    steps[index].eq(job_steps[order[index]]),
                    places[index].eq(job.first),
                ]
        with m.Elif(advances):
            m.d.sync += active.eq(~ends[2])
            self._advance(m, ends, counts, steps, left, places)
        return m

    def _offer(
        self,
        m: Module,
        active: Signal,
        advances: Signal,
        *,
        first: Signal,
        step: Signal,
        left: Signal,
        last: Signal,
        tag: Signal,
    ) -> None:
        """Offer a group's tiles until all are granted; ``advances`` says in which cycles the next group is taken."""
        last_offered = Signal(reset_less=True)
        offered_tag = Signal(TAG_WIDTH, reset_less=True)
        remains = Signal(RESET_LANES)
        m.d.comb += [
            remains.eq(self.write & ~self.grant),
            advances.eq(remains == 0),
            self.done.valid.eq(self.write.any() & advances & last_offered),
            self.done.tag.eq(offered_tag),
        ]
        m.d.sync += self.write.eq(remains)
        with m.If(advances):
            m.d.sync += [
                self.write.eq(Cat(active & (left > lane) for lane in range(RESET_LANES))),
                last_offered.eq(last),
                offered_tag.eq(tag),
            ]
            for lane in range(RESET_LANES):
                address = Signal(len(first), name=f"address_{lane}")
                m.d.comb += address.eq(sum((step << bit for bit in range(2) if lane >> bit & 1), start=first))
                m.d.sync += self.address[lane].eq(place_of(address))

    def _order(self, m: Module) -> tuple[Signal, list[Value]]:
        """Return which loop of the job goes first, second and third: one with an odd step and at least four turns.

        And whether that is known: it is in the cycle after the job was offered first.
        """
        job = self.job.p
        good = [
            job.steps[index][:1].any() & (job.counts[index] >= RESET_LANES)  # of one tile, a step has no bits
            for index in range(_LOOPS)
        ]
        known = Signal()
        first = Signal(2, reset_less=True)
        m.d.sync += known.eq(self.job.valid & ~self.job.ready)
        with m.If(good[0]):
            m.d.sync += first.eq(0)
        with m.Elif(good[1]):
            m.d.sync += first.eq(1)
        with m.Elif(good[2]):
            m.d.sync += first.eq(2)
        with m.Else():
            m.d.sync += first.eq(0)
        return known, [first, Array([1, 0, 0])[first], Array([2, 2, 1])[first]]

    def _advance(
        self,
        m: Module,
        ends: list[Signal],
        counts: list[Signal],
        steps: list[Signal],
        left: list[Signal],
        places: list[Signal],
    ) -> None:
        """Go to the next group: of this loop, or of the first one that has not reached its end."""
        m.d.sync += [left[0].eq(left[0] - RESET_LANES), places[0].eq(places[0] + steps[0] * RESET_LANES)]
        with m.If(ends[0]):
            m.d.sync += [left[0].eq(counts[0]), left[1].eq(left[1] - 1)]
            m.d.sync += [places[index].eq(places[1] + steps[1]) for index in (0, 1)]
        with m.If(ends[1]):
            m.d.sync += [left[1].eq(counts[1]), left[2].eq(left[2] - 1)]
            m.d.sync += [places[index].eq(places[2] + steps[2]) for index in range(_LOOPS)]
