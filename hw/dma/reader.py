"""From the beats of bursts to elements, or to the parts of elements that are wider than a beat.

Tests: ``tests/hw/test_dma_reader.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from hw.dma.rows import RowPosition
from hw.errors import ComponentError
from hw.interfaces import read_data_layout

__all__ = ["Reader", "part_layout", "reader_job_layout"]


def reader_job_layout(*, data_width: int, kinds: int, x_width: int = 16, y_width: int = 16) -> data.StructLayout:
    """Return the layout of a job: ``y_size`` rows of ``x_size`` elements of size ``kind``; neither size is zero.

    ``offset`` is the byte within its beat at which the first row begins, ``stride`` the bytes (modulo a beat) from one
    row to the next.
    """
    log = exact_log2(data_width // 8)
    return data.StructLayout(
        {"kind": bits_for(kinds - 1), "offset": log, "stride": log, "x_size": x_width, "y_size": y_width}
    )


def part_layout(*, data_width: int, element_bytes: Sequence[int]) -> data.StructLayout:
    """Return the layout of what the reader gives: an element, or one beat of a larger element.

    ``data`` has it in its low bits. ``kind`` is the job's, ``lane`` counts the beats of an element, and the three flags
    mark the last part of an element, of a row and of a job.
    """
    lanes = max(1, *(size * 8 // data_width for size in element_bytes))
    return data.StructLayout(
        {
            "data": data_width,
            "kind": bits_for(len(element_bytes) - 1),
            "lane": max(1, bits_for(lanes - 1)),
            "element_end": 1,
            "row_end": 1,
            "job_end": 1,
        }
    )


class Reader(wiring.Component):
    """Cuts the beats that a ``BurstWalker`` asked for into elements.

    One part a cycle, in the cycle of its beat and without a gap between jobs: a beat that holds several elements stays
    at ``beats`` until its last one is taken.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    element_bytes : sequence of int
        The sizes that elements may have, powers of two; a job's ``kind`` is an index of it.
    x_width, y_width : int
        Bits of ``x_size`` and ``y_size``.

    Members
    -------
    job : In(stream of reader_job_layout)
        What the next beats are.
    beats : In(stream of read_data_layout)
        The beats.
    parts : Out(stream of part_layout)
        The elements.
    """

    def __init__(self, *, data_width: int, element_bytes: Sequence[int], x_width: int = 16, y_width: int = 16) -> None:
        for size in element_bytes:
            if size < 1 or size & (size - 1):
                raise ComponentError(f"Reader needs elements of a power of two of bytes, not {size}")
        self.data_width = data_width
        self.element_bytes = tuple(element_bytes)
        job = reader_job_layout(data_width=data_width, kinds=len(self.element_bytes), x_width=x_width, y_width=y_width)
        self.x_width = x_width
        self.y_width = y_width
        super().__init__(
            {
                "job": In(stream.Signature(job)),
                "beats": In(stream.Signature(read_data_layout(data_width))),
                "parts": Out(stream.Signature(part_layout(data_width=data_width, element_bytes=self.element_bytes))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the counters of lane, element and row, and the selection within a beat."""
        m = Module()
        beat_bytes = self.data_width // 8
        log = exact_log2(beat_bytes)
        part = self.parts.p
        active = Signal()
        kind = Signal.like(self.job.p.kind)
        # Elements of whole beats: a row begins at a beat, and so does each of them.
        aligned = min(self.element_bytes) >= beat_bytes
        at = RowPosition(self.job.p, aligned=aligned)
        lane = Signal.like(part.lane)
        lane_last = Signal()  # of its element; found out one before
        last_lanes = Array([Const(max(0, size // beat_bytes - 1), lane.shape()) for size in self.element_bytes])
        single = Array([Const(size <= beat_bytes, 1) for size in self.element_bytes])
        advances = Array([Const(size % beat_bytes if size < beat_bytes else 0, log) for size in self.element_bytes])
        next_offset = Signal(log)
        taken = Signal()
        moves = Signal()
        begins = Signal()  # a job, if anything moves
        m.d.comb += [
            next_offset.eq(at.offset + advances[kind]),
            part.kind.eq(kind),
            part.lane.eq(lane),
            part.element_end.eq(lane_last),
            part.row_end.eq(part.element_end & at.x_last),
            part.job_end.eq(part.element_end & at.last),
            self.parts.valid.eq(active & self.beats.valid),
            self.beats.ready.eq(active & self.parts.ready & (Const(aligned, 1) | (next_offset == 0) | part.row_end)),
            taken.eq(self.parts.valid & self.parts.ready),
            moves.eq(~active | taken),
            begins.eq(~active | part.job_end),
            self.job.ready.eq(moves & begins),
        ]
        self._select(m, kind=kind, offset=at.offset)
        with m.If(moves):
            with m.If(begins):
                m.d.sync += [active.eq(self.job.valid), kind.eq(self.job.p.kind), lane.eq(0)]
                m.d.sync += lane_last.eq(single[self.job.p.kind])
            with m.Elif(lane_last):
                m.d.sync += [lane.eq(0), lane_last.eq(single[kind])]
            with m.Else():
                m.d.sync += [lane.eq(lane + 1), lane_last.eq(lane + 1 == last_lanes[kind])]
        at.advance(
            m,
            moves=moves,
            begins=begins,
            element_end=part.element_end,
            row_end=part.row_end,
            next_offset=next_offset,
        )
        return m

    def _select(self, m: Module, *, kind: Any, offset: Any) -> None:
        """Bring the part at byte ``offset`` of the beat to the low bits; wide kinds take the beat as it is."""
        beat = self.beats.p.data
        part = self.parts.p.data
        m.d.comb += part.eq(beat)
        for index, size in enumerate(self.element_bytes):
            if size * 8 >= self.data_width:
                continue
            with m.If(kind == index):
                m.d.comb += part.eq(beat.word_select(offset[exact_log2(size) :], size * 8))
