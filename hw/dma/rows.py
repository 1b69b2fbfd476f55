"""Where a run of elements stands in the rows of its job.

Tests: ``tests/hw/test_dma_reader.py`` and ``tests/hw/test_dma_packer.py``, of those who use it; resets:
``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal, Value

__all__ = ["RowPosition"]


class RowPosition:
    """Registers: elements left in the row and rows left in the job, the one at hand included; whether it is the last
    one of its row (``x_last``) or of the job (``last``), which is found out one before; a byte of a beat.

    ``job`` has ``x_size``, ``y_size``, ``offset`` (the byte of its beat at which the first row begins) and ``stride``
    (bytes, modulo a beat, from one row to the next). Where all is ``aligned``, both are zero, and so is the byte.
    """

    def __init__(self, job: Any, *, aligned: bool = False) -> None:
        self.job = job
        self.aligned = aligned
        self.x_left = Signal.like(job.x_size, name="x_left")
        self.y_left = Signal.like(job.y_size, name="y_left")
        self.x_last = Signal(name="x_last")
        self.last = Signal(name="last")
        self.offset = Signal.like(job.offset, name="offset")

    def advance(
        self, m: Module, *, moves: Value, begins: Value, element_end: Value, row_end: Value, next_offset: Value
    ) -> None:
        """Go on in cycles with ``moves``: to the job, if one ``begins`` then, or behind a part that may be the last of
        its element or of its row; within a row, the next one is at ``next_offset``.

        ``moves`` may come late: it enables the registers, and chooses nothing.
        """
        x_size = Signal.like(self.x_left, name="x_size")
        x_single = Signal(name="x_single")
        y_last = Signal(name="y_last")
        job = self.job
        if not self.aligned:
            self._advance_offset(m, moves=moves, begins=begins, row_end=row_end, next_offset=next_offset)
        with m.If(moves):
            with m.If(begins):
                m.d.sync += [
                    x_size.eq(job.x_size),
                    x_single.eq(job.x_size == 1),
                    self.x_left.eq(job.x_size),
                    self.y_left.eq(job.y_size),
                    self.x_last.eq(job.x_size == 1),
                    self.last.eq((job.x_size == 1) & (job.y_size == 1)),
                    y_last.eq(job.y_size == 1),
                ]
            with m.Elif(row_end):
                m.d.sync += [
                    self.x_left.eq(x_size),
                    self.y_left.eq(self.y_left - 1),
                    self.x_last.eq(x_single),
                    self.last.eq(x_single & (self.y_left == 2)),
                    y_last.eq(self.y_left == 2),
                ]
            with m.Else():
                m.d.sync += self.x_left.eq(self.x_left - element_end)
                with m.If(element_end):
                    m.d.sync += [self.x_last.eq(self.x_left == 2), self.last.eq((self.x_left == 2) & y_last)]

    def _advance_offset(self, m: Module, *, moves: Value, begins: Value, row_end: Value, next_offset: Value) -> None:
        """Let the byte of the beat follow."""
        stride = Signal.like(self.offset, name="stride")
        row_offset = Signal.like(self.offset, name="row_offset")
        next_row_offset = Signal.like(self.offset, name="next_row_offset")
        job = self.job
        m.d.comb += next_row_offset.eq(row_offset + stride)
        with m.If(moves):
            with m.If(begins):
                m.d.sync += [stride.eq(job.stride), row_offset.eq(job.offset), self.offset.eq(job.offset)]
            with m.Elif(row_end):
                m.d.sync += [row_offset.eq(next_row_offset), self.offset.eq(next_row_offset)]
            with m.Else():
                m.d.sync += self.offset.eq(next_offset)
