"""Clearing accumulators, up to four tiles a cycle: for resets whose destinations are affine in all three loops.

Tests: ``tests/hw/compute/test_reset_walk.py``, ``tests/hw/compute/test_stage_order.py``;
ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.accumulator import RESET_LANES, bank_bits, bank_of_place, place_of
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
    cleared in a cycle. How the loops are walked is found out in the cycle before the job is taken. Then the places of
    neighbours stand in registers, and after them there is a register for each bank, which takes the next one when all
    that are there are cleared: the first tiles three cycles after the job.

    Parameters
    ----------
    config : VTAConfig
        Sizes.

    Members
    -------
    job : In(stream of reset_job_layout)
        What to clear.
    write, address, free : Out, Out, In
        The place of a tile to clear in each bank, and which banks are free: there it is being cleared in this cycle.
    done : Out(done_layout)
        The last tile of a job is being cleared.
    working : Out(1)
        A tile is being cleared.
    """

    def __init__(self, config: VTAConfig) -> None:
        self.config = config
        banks = 1 << bank_bits(config.log_acc_depth)
        super().__init__(
            {
                "job": In(stream.Signature(reset_job_layout(config))),
                "write": Out(banks),
                "address": Out(data.ArrayLayout(config.log_acc_depth, banks)),
                "free": In(banks),
                "done": Out(done_layout()),
                "working": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build three counters, the first of which counts in fours."""
        m = Module()
        acc = self.config.log_acc_depth
        job = self.job.p
        ordered, order, short = self._order(m)
        active = Signal()
        tag = Signal(TAG_WIDTH, reset_less=True)
        counts = [Signal(len(job.counts[index]), name=f"count_{index}", reset_less=True) for index in range(_LOOPS)]
        steps = [Signal(acc, name=f"step_{index}", reset_less=True) for index in range(_LOOPS)]
        left = [Signal(len(job.counts[index]), name=f"left_{index}", reset_less=True) for index in range(_LOOPS)]
        # Where each loop stands: the address at which the current pass of the loops inside it began.
        places = [Signal(acc, name=f"place_{index}", reset_less=True) for index in range(_LOOPS)]
        # Whether a loop is in its last turn stands in a register, so that nothing waits for the comparison.
        lasts = [Signal(name=f"last_{index}", reset_less=True) for index in range(_LOOPS)]
        advances = Signal()
        ends = [Signal(name=f"end_{index}") for index in range(_LOOPS)]
        m.d.comb += [
            ends[0].eq(lasts[0]),
            ends[1].eq(ends[0] & lasts[1]),
            ends[2].eq(ends[1] & lasts[2]),
            self.working.eq((self.write & self.free).any()),
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
                    lasts[index].eq(Array(short[0 if index == 0 else 1])[order[index]]),
                    steps[index].eq(job_steps[order[index]]),
                    places[index].eq(job.first),
                ]
        with m.Elif(advances):
            m.d.sync += active.eq(~ends[2])
            self._advance(m, ends, counts, steps, left, lasts, places)
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
        """Offer a group's tiles; ``advances`` says in which cycles the next group is taken."""
        wanted = Signal(RESET_LANES)
        places = [Signal(len(first), name=f"place_of_lane_{lane}", reset_less=True) for lane in range(RESET_LANES)]
        last_wanted = Signal(reset_less=True)
        wanted_tag = Signal(TAG_WIDTH, reset_less=True)
        cleared = Signal()
        waits = self._sort(m, cleared, wanted=wanted, places=places)
        last_offered = Signal(reset_less=True)
        offered_tag = Signal(TAG_WIDTH, reset_less=True)
        m.d.comb += [
            cleared.eq((self.write & ~self.free) == 0),
            advances.eq(cleared & (waits == 0)),
            self.done.valid.eq(self.write.any() & cleared & last_offered),
            self.done.tag.eq(offered_tag),
        ]
        with m.If(cleared):
            m.d.sync += [wanted.eq(waits), last_offered.eq(last_wanted & (waits == 0)), offered_tag.eq(wanted_tag)]
        with m.If(advances):
            m.d.sync += [
                wanted.eq(Cat(active & (left > lane) for lane in range(RESET_LANES))),
                last_wanted.eq(last),
                wanted_tag.eq(tag),
            ]
            for lane, place in enumerate(places):
                address = Signal(len(first), name=f"address_{lane}")
                m.d.comb += address.eq(sum((step << bit for bit in range(2) if lane >> bit & 1), start=first))
                m.d.sync += place.eq(place_of(address))

    def _sort(self, m: Module, takes: Signal, *, wanted: Signal, places: list[Signal]) -> Signal:
        """Bring the places that are wanted to the registers of their banks, in cycles with ``takes``.

        Return which of them have to wait, since one before them goes to the same bank.
        """
        waits = Signal(RESET_LANES)
        goes = []
        for lane, place in enumerate(places):
            same = [wanted[other] & (bank_of_place(places[other]) == bank_of_place(place)) for other in range(lane)]
            m.d.comb += waits[lane].eq(wanted[lane] & Cat(same, 0).any())
            goes.append(wanted[lane] & ~waits[lane])
        low = bank_bits(self.config.log_acc_depth)
        m.d.sync += self.write.eq(self.write & ~self.free)
        for bank in range(len(self.write)):
            row = Signal(self.config.log_acc_depth - low, name=f"row_{bank}", reset_less=True)
            chosen = [go & (bank_of_place(place) == bank) for go, place in zip(goes, places, strict=True)]
            rows: Value = Const(0)
            for choice, place in zip(chosen, places, strict=True):
                rows = rows | Mux(choice, place[low:], 0)
            m.d.comb += self.address[bank].eq(Cat(Const(bank, low), row))
            with m.If(takes):
                m.d.sync += [self.write[bank].eq(Cat(chosen).any()), row.eq(rows)]
        return waits

    def _order(self, m: Module) -> tuple[Signal, list[Value], list[list[Signal]]]:
        """Return which loop of the job goes first, second and third: one with an odd step and at least four turns.

        And whether that is known: it is in the cycle after the job was offered first. And then of each loop whether its
        first turn is its last one, if it goes first, and if it does not.
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
        short = [
            [Signal(name=f"{turns}_of_{loop}", reset_less=True) for loop in range(_LOOPS)] for turns in ("few", "one")
        ]
        for flags, most in zip(short, (RESET_LANES, 1), strict=True):
            m.d.sync += [flag.eq(count <= most) for flag, count in zip(flags, job.counts, strict=True)]
        return known, [first, Array([1, 0, 0])[first], Array([2, 2, 1])[first]], short

    def _advance(
        self,
        m: Module,
        ends: list[Signal],
        counts: list[Signal],
        steps: list[Signal],
        left: list[Signal],
        lasts: list[Signal],
        places: list[Signal],
    ) -> None:
        """Go to the next group: of this loop, or of the first one that has not reached its end."""
        m.d.sync += [left[0].eq(left[0] - RESET_LANES), places[0].eq(places[0] + steps[0] * RESET_LANES)]
        m.d.sync += lasts[0].eq(left[0] <= 2 * RESET_LANES)
        with m.If(ends[0]):
            m.d.sync += [left[0].eq(counts[0]), left[1].eq(left[1] - 1)]
            m.d.sync += [lasts[0].eq(counts[0] <= RESET_LANES), lasts[1].eq(left[1] == 2)]
            m.d.sync += [places[index].eq(places[1] + steps[1]) for index in (0, 1)]
        with m.If(ends[1]):
            m.d.sync += [left[1].eq(counts[1]), left[2].eq(left[2] - 1)]
            m.d.sync += [lasts[1].eq(counts[1] == 1), lasts[2].eq(left[2] == 2)]
            m.d.sync += [places[index].eq(places[2] + steps[2]) for index in range(_LOOPS)]
