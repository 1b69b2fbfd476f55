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

    ``empty`` jobs (a size of zero) write nothing. ``tag`` comes back with ``done``. The rows above are multiplied,
    which takes longest, so they come first: a queue may have them earlier than the rest.
    """
    return data.StructLayout(
        {
            "y_pad_0": 4,
            "kind": bits_for(kinds - 1),
            "empty": 1,
            "tag": tag_width,
            "sram_base": address_width,
            "x_size": 16,
            "y_size": 16,
            "x_pad_0": 4,
            "x_pad_1": 4,
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


class _Ends:
    """Registers that say of a counter that it is at zero (``none``) or at one, without a comparison of this cycle."""

    def __init__(self, name: str) -> None:
        self.none = Signal(name=f"{name}_none")
        self.one = Signal(name=f"{name}_one")

    def after(self, counter: Any) -> list[Any]:
        """Return what to do while ``counter``, whose ends these are, is decremented."""
        return [self.none.eq(self.one), self.one.eq(counter == 2)]

    def at(self, *, none: Any, one: Any) -> list[Any]:
        """Return what to do while the counter is set."""
        return [self.none.eq(none), self.one.eq(one)]


class _Zeros:
    """The registers of the walk over the runs of zeros: ``count`` of them remain in this phase after the one with
    ``run`` zeros left, which is the last of the job if it is ``final``.
    """

    def __init__(self, address_width: int) -> None:
        self.phase = Signal(Phase, name="phase")
        self.count = Signal(16, name="count")
        self.count_ends = _Ends("count")
        self.run = Signal(17, name="run")
        self.run_ends = _Ends("run")
        self.final = Signal(name="final")
        self.address = Signal(address_width, name="zero_address")
        self.done = Signal(name="zero_done")

    @property
    def end(self) -> Any:
        """Every zero has been written."""
        return self.done | (self.final & self.run_ends.none)

    @property
    def end_if_free(self) -> Any:
        """Every zero has been written, if one can be in this cycle."""
        return self.done | (self.final & (self.run_ends.none | self.run_ends.one))

    def set_count(self, value: Any, *, none: Any, one: Any) -> list[Any]:
        """Return what to do while the runs of a phase are counted anew."""
        return [self.count.eq(value), *self.count_ends.at(none=none, one=one)]

    def set_run(self, value: Any, *, none: Any, one: Any) -> list[Any]:
        """Return what to do while a run begins."""
        return [self.run.eq(value), *self.run_ends.at(none=none, one=one)]


class _Padding:
    """What follows from a job, in registers that are set with it: the shape of its padded rows, and what comes last."""

    def __init__(self) -> None:
        self.width = Signal(17, name="width")
        self.beside = Signal(5, name="beside")
        self.narrow = Signal(name="narrow")  # padded rows of one element
        self.one_row = Signal(name="one_row")
        self.nothing_below = Signal(name="nothing_below")
        self.nothing_after = Signal(name="nothing_after")  # neither below nor to the right

    def begin(self, new: Any, *, width: Any) -> list[Any]:
        """Return what to do while job ``new``, whose padded rows have ``width`` elements, is taken."""
        beside = new.x_pad_0 + new.x_pad_1
        return [
            self.width.eq(width),
            self.beside.eq(beside),
            self.narrow.eq((new.x_size == 1) & (beside == 0)),
            self.one_row.eq(new.y_size == 1),
            self.nothing_below.eq(new.y_pad_1 == 0),
            self.nothing_after.eq((new.x_pad_1 == 0) & (new.y_pad_1 == 0)),
        ]


class TileWriter(wiring.Component):
    """Writes the parts of each job to consecutive elements, and its zeros in cycles without a part.

    One write a cycle; a row without zeros beside it takes one cycle of the zero counter, but no write. ``done`` is in
    the cycle of the last write, and the next job goes on in the cycle after it, if it was offered before: what follows
    from the sizes of a job is added up while it waits, which takes a cycle.

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
        known = Signal()  # width and corner are those of the job that is offered
        width = Signal(17)
        corner = Signal(self.address_width)  # data of a job without rows above
        padding = _Padding()
        zeros = _Zeros(self.address_width)
        write = self.write.p
        data_done = Signal()
        has_part = Signal()
        part_ends = Signal()
        data_address = Signal(self.address_width)
        has_zero = Signal()
        ends_with_part = Signal()
        ends_without = Signal()
        ready = self.write.ready
        m.d.comb += [
            has_part.eq(self.active & ~data_done & self.parts.valid),
            self.write.valid.eq(has_part | has_zero),
            write.zero.eq(~has_part),
            write.address.eq(Mux(has_part, data_address, zeros.address)),
            write.kind.eq(job.kind),
            write.lane.eq(self.parts.p.lane),
            write.data.eq(self.parts.p.data),
            self.parts.ready.eq(self.active & ~data_done & ready),
            part_ends.eq(self.parts.valid & self.parts.p.job_end & ready),
            self.tag.eq(job.tag),
            # No zero is written in the cycle of a part: what ends the job is not found out one after the other. Whether
            # anything is taken may come late.
            self.done.eq(self.active & Mux(ready, Mux(data_done, zeros.end_if_free, ends_with_part), ends_without)),
            ends_with_part.eq(zeros.end & self.parts.valid & self.parts.p.job_end),
            ends_without.eq(zeros.end & data_done),
            self.job.ready.eq(known & (~self.active | self.done)),
        ]
        new = self.job.p
        m.d.sync += [
            known.eq(self.job.valid & ~self.job.ready),
            width.eq(new.x_pad_0 + new.x_size + new.x_pad_1),
            corner.eq(new.sram_base + new.x_pad_0),
        ]
        self._walk_zeros(m, job, padding, zeros, wants=has_zero, free=ready & ~has_part)
        self._walk_data(m, padding, address=data_address, taken=has_part & ready)
        with m.If(self.active & part_ends):
            m.d.sync += data_done.eq(1)
        with m.If(self.job.ready):
            m.d.sync += [self.active.eq(1), job.eq(new), *padding.begin(new, width=width)]
            m.d.sync += [data_done.eq(new.empty), data_address.eq(corner + self._rows(width, new.y_pad_0))]
            self._begin_zeros(m, zeros, width=width)
        with m.Elif(self.done):
            m.d.sync += self.active.eq(0)
        return m

    def _rows(self, width: Any, count: Any) -> Any:
        """Return the elements of ``count`` (4 bits) padded rows; sums, because a product would take a DSP block."""
        terms = [Mux(count[bit], width << bit, 0)[: self.address_width] for bit in range(len(count))]
        return (terms[0] + terms[1]) + (terms[2] + terms[3])

    def _walk_data(self, m: Module, padding: _Padding, *, address: Any, taken: Value) -> None:
        """Go to the place of the next part: the next element, or past the zeros between two rows."""
        with m.If(taken):
            with m.If(self.parts.p.row_end):
                m.d.sync += address.eq(address + padding.beside + 1)
            with m.Elif(self.parts.p.element_end):
                m.d.sync += address.eq(address + 1)

    def _walk_zeros(self, m: Module, job: Any, padding: _Padding, zeros: _Zeros, *, wants: Signal, free: Value) -> None:
        """Walk the runs of zeros; ``wants`` says that one is to be written.

        What ends a run, a phase and the job stands in registers, which are found out one zero or one run before.
        """
        run_end = Signal()
        taken = Signal(name="zero_taken")
        ends = zeros.run_ends
        m.d.comb += [
            wants.eq(self.active & ~zeros.done & ~ends.none),
            taken.eq(wants & free),
            run_end.eq(self.active & ~zeros.done & (ends.none | (ends.one & free))),
        ]
        with m.If(taken):
            m.d.sync += [zeros.address.eq(zeros.address + 1), zeros.run.eq(zeros.run - 1), *ends.after(zeros.run)]
        with m.If(run_end):
            self._next_run(m, job, padding, zeros, taken=taken)
            with m.If(zeros.final):
                m.d.sync += zeros.done.eq(1)

    def _next_run(self, m: Module, job: Any, padding: _Padding, zeros: _Zeros, *, taken: Signal) -> None:
        """Go on to the next run; ``taken`` says that the last zero of this one is being written."""
        ends = zeros.count_ends
        m.d.sync += [zeros.count.eq(zeros.count - 1), *ends.after(zeros.count)]
        m.d.sync += zeros.set_run(padding.width, none=0, one=padding.narrow)
        with m.Switch(zeros.phase):
            with m.Case(Phase.TOP), m.If(ends.none):
                m.d.sync += [zeros.phase.eq(Phase.SIDE), zeros.final.eq(padding.one_row & padding.nothing_after)]
                m.d.sync += zeros.set_count(job.y_size, none=0, one=padding.one_row)
                m.d.sync += zeros.set_run(job.x_pad_0, none=job.x_pad_0 == 0, one=job.x_pad_0 == 1)
            with m.Case(Phase.SIDE):
                with m.If(ends.none):
                    m.d.sync += [zeros.phase.eq(Phase.BOTTOM), zeros.final.eq(job.y_pad_1 == 1)]
                    m.d.sync += zeros.set_count(job.y_pad_1 - 1, none=job.y_pad_1 == 1, one=job.y_pad_1 == 2)
                with m.Else():
                    run = Mux(ends.one, job.x_pad_1, padding.beside)
                    final = Mux(padding.nothing_after, zeros.count == 2, ends.one & padding.nothing_below)
                    m.d.sync += [zeros.address.eq(zeros.address + job.x_size + taken), zeros.final.eq(final)]
                    m.d.sync += zeros.set_run(run, none=run == 0, one=run == 1)
            with m.Case(Phase.BOTTOM):
                m.d.sync += zeros.final.eq(ends.one)

    def _begin_zeros(self, m: Module, zeros: _Zeros, *, width: Signal) -> None:
        """Get ready for the first run of the next job: the first row above, or what is left of the first row.

        No job with zeros has an empty row.
        """
        new = self.job.p
        top = new.y_pad_0 != 0
        beside = (new.x_pad_0 != 0) | (new.x_pad_1 != 0)
        pads = beside | top | (new.y_pad_1 != 0)
        m.d.sync += [zeros.done.eq(new.empty | ~pads), zeros.address.eq(new.sram_base)]
        with m.If(top):
            m.d.sync += [zeros.phase.eq(Phase.TOP), zeros.final.eq(0)]
            m.d.sync += zeros.set_count(new.y_pad_0 - 1, none=new.y_pad_0 == 1, one=new.y_pad_0 == 2)
            m.d.sync += zeros.set_run(width, none=0, one=(new.x_size == 1) & ~beside)
        with m.Else():
            nothing_after = (new.x_pad_1 == 0) & (new.y_pad_1 == 0)
            m.d.sync += [zeros.phase.eq(Phase.SIDE), zeros.final.eq((new.y_size == 1) & nothing_after)]
            m.d.sync += zeros.set_count(new.y_size, none=0, one=new.y_size == 1)
            m.d.sync += zeros.set_run(new.x_pad_0, none=new.x_pad_0 == 0, one=new.x_pad_0 == 1)
