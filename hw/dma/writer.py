"""Where the elements of a load go in a scratchpad, and the zeros around them.

Tests: ``tests/hw/test_dma_writer.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hw.dma.reader import part_layout

__all__ = ["TileWriter", "element_write_layout", "writer_job_layout"]


def writer_job_layout(*, kinds: int, address_width: int, tag_width: int) -> data.StructLayout:
    """Return the layout of a job: the fields of a LOAD that say what is written where.

    ``empty`` jobs (a size of zero) write nothing. ``tag`` comes back with ``done``.
    """
    return data.StructLayout(
        {
            "kind": bits_for(kinds - 1),
            "empty": 1,
            "tag": tag_width,
            "sram_base": address_width,
            "x_size": 16,
            "y_size": 16,
            "x_pad_0": 4,
            "x_pad_1": 4,
            "y_pad_0": 4,
            "y_pad_1": 4,
        }
    )


def element_write_layout(*, part: data.StructLayout, address_width: int) -> data.StructLayout:
    """Return the layout of a write: an element (or lane ``lane`` of it), or a whole element of zeros if ``zero``."""
    fields = part.members
    return data.StructLayout(
        {
            "address": address_width,
            "zero": 1,
            "kind": fields["kind"],
            "lane": fields["lane"],
            "data": fields["data"],
        }
    )


class Phase(enum.Enum, shape=2):  # type: ignore[call-arg]  # Amaranth enumerations have a shape
    """Which zeros are being written: rows above, those beside the data, rows below."""

    TOP = 0
    SIDE = 1
    BOTTOM = 2


class TileWriter(wiring.Component):
    """Writes the parts of each job to consecutive elements, and its zeros in cycles without a part.

    One write a cycle; a row without zeros beside it takes one cycle of the zero counter, but no write. ``done`` is in
    the cycle of the last write, and the next job goes on in the cycle after it.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    element_bytes : sequence of int
        The reader's element sizes.
    address_width : int
        Bits of the index of an element.
    tag_width : int
        Bits that come back when a job is done.

    Members
    -------
    job : In(stream of writer_job_layout)
        What to write.
    parts : In(stream of part_layout)
        The elements of all jobs.
    write : Out(stream of element_write_layout)
        The writes. While ``ready`` is low, a part that comes takes the place of a zero.
    active : Out(1)
        A job is being written.
    done : Out(1)
        It is complete with the write of this cycle.
    tag : Out(tag_width)
        Its tag.
    """

    def __init__(
        self, *, data_width: int, element_bytes: Sequence[int], address_width: int, tag_width: int = 1
    ) -> None:
        self.address_width = address_width
        part = part_layout(data_width=data_width, element_bytes=element_bytes)
        job = writer_job_layout(kinds=len(element_bytes), address_width=address_width, tag_width=tag_width)
        write = element_write_layout(part=part, address_width=address_width)
        super().__init__(
            {
                "job": In(stream.Signature(job)),
                "parts": In(stream.Signature(part)),
                "write": Out(stream.Signature(write)),
                "active": Out(1),
                "done": Out(1),
                "tag": Out(tag_width),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the two address counters, of data and of zeros."""
        m = Module()
        job = Signal(self.job.p.shape())
        write = self.write.p
        data_end = Signal()
        data_done = Signal()
        zero_end = Signal()
        zero_done = Signal()
        has_part = Signal()
        data_address = Signal(self.address_width)
        zero_address = Signal(self.address_width)
        has_zero = Signal()
        free = self.write.ready & ~has_part
        m.d.comb += [
            has_part.eq(self.active & ~data_done & self.parts.valid),
            self.write.valid.eq(has_part | has_zero),
            write.zero.eq(~has_part),
            write.address.eq(Mux(has_part, data_address, zero_address)),
            write.kind.eq(job.kind),
            write.lane.eq(self.parts.p.lane),
            write.data.eq(self.parts.p.data),
            self.parts.ready.eq(self.active & ~data_done & self.write.ready),
            data_end.eq(has_part & self.write.ready & self.parts.p.job_end),
            self.tag.eq(job.tag),
            self.done.eq(self.active & (data_done | data_end) & (zero_done | zero_end)),
            self.job.ready.eq(~self.active | self.done),
        ]
        self._walk_zeros(m, job, address=zero_address, wants=has_zero, free=free, end=zero_end, done=zero_done)
        self._walk_data(m, job, address=data_address, taken=has_part & self.write.ready, end=data_end, done=data_done)
        with m.If(self.job.ready):
            m.d.sync += [self.active.eq(self.job.valid), job.eq(self.job.p)]
        return m

    def _walk_data(self, m: Module, job: Any, *, address: Any, taken: Value, end: Any, done: Any) -> None:
        """Go to the place of the next part: the next element, or past the zeros between two rows."""
        with m.If(taken):
            with m.If(self.parts.p.row_end):
                m.d.sync += address.eq(address + 1 + job.x_pad_0 + job.x_pad_1)
            with m.Elif(self.parts.p.element_end):
                m.d.sync += address.eq(address + 1)
        with m.If(end):
            m.d.sync += done.eq(1)
        new = self.job.p
        with m.If(self.job.ready):
            m.d.sync += [
                done.eq(new.empty),
                address.eq(new.sram_base + self._rows(new, new.y_pad_0) + new.x_pad_0),
            ]

    def _width(self, job: Any) -> Any:
        """Return the elements of a padded row."""
        return job.x_pad_0 + job.x_size + job.x_pad_1

    def _rows(self, job: Any, count: Any) -> Any:
        """Return the elements of ``count`` (4 bits) padded rows; sums, because a product would take a DSP block."""
        terms = [Mux(count[bit], self._width(job) << bit, 0)[: self.address_width] for bit in range(len(count))]
        return (terms[0] + terms[1]) + (terms[2] + terms[3])

    def _walk_zeros(self, m: Module, job: Any, *, address: Any, wants: Any, free: Any, end: Any, done: Any) -> None:
        """Walk the runs of zeros: ``count`` of them remain in this phase after the one with ``run`` zeros left."""
        phase = Signal(Phase)
        count = Signal(16)
        run = Signal(17)
        run_end = Signal()
        taken = wants & free
        m.d.comb += [
            wants.eq(self.active & ~done & (run != 0)),
            run_end.eq(self.active & ~done & ((run == 0) | ((run == 1) & free))),
        ]
        with m.If(taken):
            m.d.sync += [address.eq(address + 1), run.eq(run - 1)]
        with m.Switch(phase):
            with m.Case(Phase.TOP), m.If(run_end):
                m.d.sync += [count.eq(count - 1), run.eq(self._width(job))]
                with m.If(count == 0):
                    m.d.sync += [phase.eq(Phase.SIDE), count.eq(job.y_size), run.eq(job.x_pad_0)]
            with m.Case(Phase.SIDE):
                nothing_after = (job.x_pad_1 == 0) & (job.y_pad_1 == 0)
                m.d.comb += end.eq(run_end & (((count == 1) & nothing_after) | ((count == 0) & (job.y_pad_1 == 0))))
                with m.If(run_end & (count == 0)):
                    m.d.sync += [phase.eq(Phase.BOTTOM), count.eq(job.y_pad_1 - 1), run.eq(self._width(job))]
                with m.Elif(run_end):
                    beside = Mux(count == 1, job.x_pad_1, job.x_pad_0 + job.x_pad_1)
                    m.d.sync += [address.eq(address + job.x_size + taken), count.eq(count - 1), run.eq(beside)]
            with m.Case(Phase.BOTTOM):
                m.d.comb += end.eq(run_end & (count == 0))
                with m.If(run_end):
                    m.d.sync += [count.eq(count - 1), run.eq(self._width(job))]
        with m.If(end):
            m.d.sync += done.eq(1)
        with m.If(self.job.ready):
            self._begin_zeros(m, phase=phase, count=count, run=run, address=address, done=done)

    def _begin_zeros(self, m: Module, *, phase: Any, count: Any, run: Any, address: Any, done: Any) -> None:
        """Get ready for the first run of the next job: the first row above, or what is left of the first row."""
        new = self.job.p
        top = new.y_pad_0 != 0
        pads = (new.x_pad_0 != 0) | (new.x_pad_1 != 0) | top | (new.y_pad_1 != 0)
        m.d.sync += [
            done.eq(new.empty | ~pads),
            phase.eq(Mux(top, Phase.TOP, Phase.SIDE)),
            count.eq(Mux(top, new.y_pad_0 - 1, new.y_size)),
            run.eq(Mux(top, self._width(new), new.x_pad_0)),
            address.eq(new.sram_base),
        ]
