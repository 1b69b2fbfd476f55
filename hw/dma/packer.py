"""From elements to the beats of bursts, with byte strobes where an element does not fill a beat.

Tests: ``tests/hw/test_dma_packer.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.dma.rows import RowPosition
from hw.errors import ComponentError
from hw.interfaces import write_data_layout

__all__ = ["Packer", "packer_job_layout"]


def packer_job_layout(*, data_width: int) -> data.StructLayout:
    """Return the layout of a job: ``y_size`` rows of ``x_size`` elements; neither size is zero.

    ``offset`` is the byte within its beat at which the first row begins, ``stride`` the bytes (modulo a beat) from one
    row to the next.
    """
    log = exact_log2(data_width // 8)
    return data.StructLayout({"offset": log, "stride": log, "x_size": 16, "y_size": 16})


class Packer(wiring.Component):
    """Packs elements into the beats that a ``BurstWalker`` announced for the same rows.

    One beat a cycle where an element fills a beat or more, else one element a cycle; without a gap between jobs. A beat
    leaves from a register, in the cycle after (the last of) its elements came.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    element_bytes : int
        Bytes of an element, a power of two.

    Members
    -------
    job : In(stream of packer_job_layout)
        Which rows.
    elements : In(stream of 8 * element_bytes bits)
        Their elements.
    beats : Out(stream of write_data_layout)
        The beats.
    busy : Out(1)
        A job is in progress, or a beat waits to be taken.
    """

    def __init__(self, *, data_width: int, element_bytes: int) -> None:
        if element_bytes < 1 or element_bytes & (element_bytes - 1):
            raise ComponentError(f"Packer needs elements of a power of two of bytes, not {element_bytes}")
        self.data_width = data_width
        self.element_bytes = element_bytes
        super().__init__(
            {
                "job": In(stream.Signature(packer_job_layout(data_width=data_width))),
                "elements": In(stream.Signature(8 * element_bytes)),
                "beats": Out(stream.Signature(write_data_layout(data_width))),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the counters of elements and rows, and one of the two ways to fill a beat."""
        m = Module()
        active = Signal()
        at = RowPosition(self.job.p, aligned=self.element_bytes * 8 >= self.data_width)
        element_end = Signal()
        row_end = Signal()
        taken = Signal()
        moves = Signal()
        begins = Signal()  # a job, if anything moves
        out_free = Signal()
        m.d.comb += [
            out_free.eq(~self.beats.valid | self.beats.ready),
            taken.eq(active & self.elements.valid & out_free),
            self.elements.ready.eq(active & out_free & element_end),
            row_end.eq(element_end & at.x_last),
            moves.eq(~active | taken),
            begins.eq(~active | (element_end & at.last)),
            self.job.ready.eq(moves & begins),
            self.busy.eq(active | self.beats.valid),
        ]
        with m.If(self.beats.ready):
            m.d.sync += self.beats.valid.eq(0)
        if self.element_bytes * 8 >= self.data_width:
            self._split(m, taken=taken, element_end=element_end)
        else:
            self._gather(m, offset=at.offset, taken=taken, row_end=row_end)
            m.d.comb += element_end.eq(1)
        with m.If(self.job.ready):
            m.d.sync += active.eq(self.job.valid)
        at.advance(
            m,
            moves=moves,
            begins=begins,
            element_end=element_end,
            row_end=row_end,
            next_offset=at.offset + self.element_bytes,
        )
        return m

    def _split(self, m: Module, *, taken: Any, element_end: Any) -> None:
        """Send the beats of an element one after the other."""
        beat = self.beats.p
        lanes = self.element_bytes * 8 // self.data_width
        lane = Signal(range(lanes))
        m.d.comb += element_end.eq(lane == lanes - 1)
        with m.If(taken):
            m.d.sync += [
                self.beats.valid.eq(1),
                beat.data.eq(self.elements.payload.word_select(lane, self.data_width)),
                beat.strb.eq((1 << self.data_width // 8) - 1),
                lane.eq(Mux(element_end, 0, lane + 1)),
            ]

    def _gather(self, m: Module, *, offset: Any, taken: Any, row_end: Any) -> None:
        """Collect elements until the beat or the row ends; a new beat starts with no byte enabled."""
        beat = self.beats.p
        size = self.element_bytes
        slots = self.data_width // 8 // size
        slot = offset[exact_log2(size) :]
        fresh = Signal(init=1)
        with m.If(taken):
            m.d.sync += fresh.eq(row_end | (slot == slots - 1))
            with m.If(row_end | (slot == slots - 1)):
                m.d.sync += self.beats.valid.eq(1)
            for index in range(slots):
                chosen = slot == index
                strb = beat.strb.word_select(index, size)
                with m.If(chosen):
                    m.d.sync += beat.data.word_select(index, size * 8).eq(self.elements.payload)
                m.d.sync += strb.eq(Mux(chosen, (1 << size) - 1, Mux(fresh, 0, strb)))
