"""From rows of bytes in DRAM to bursts of beats.

Tests: ``tests/hw/test_dma_address.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.errors import ComponentError
from hw.interfaces import burst_layout
from hw.skid import Skid

__all__ = ["BurstWalker", "rows_layout"]

_PAGE, _MOST_BEATS = 1 << 12, 1 << 8
"""AXI4's limits of a burst: bytes, none of which lies beyond a page, and beats."""


def rows_layout(*, addr_width: int, size_width: int, rows_width: int = 16) -> data.StructLayout:
    """Return the layout of a request: ``rows`` rows of ``row_bytes`` bytes, ``stride_bytes`` apart, from ``addr`` on.

    Neither ``rows`` nor ``row_bytes`` may be zero.
    """
    return data.StructLayout(
        {"addr": addr_width, "row_bytes": size_width, "stride_bytes": size_width, "rows": rows_width}
    )


class BurstWalker(wiring.Component):
    """Splits rows into bursts: one burst a cycle, from the cycle after the request on, without a gap between requests.

    Bursts end at the end of a row and at every multiple of ``burst_beats`` beats, so that none crosses 4 KiB. A row
    that begins or ends within a beat reads (or writes) the whole beat.

    Parameters
    ----------
    addr_width, data_width : int
        Bits of a byte address and of a beat.
    burst_beats : int
        Beats of the longest burst: a power of two, and at most 4 KiB.
    size_width, rows_width : int
        Bits of ``row_bytes`` and ``stride_bytes``, and of ``rows``: with one bit, a request is one row.
    aligned : bool
        Every row begins and ends at a beat, which saves an adder.
    ahead : bool
        Keep the next request while one is being split: ``request.ready`` depends on no ``cmd.ready`` then.

    Members
    -------
    request : In(stream of rows_layout)
        What to move.
    cmd : Out(stream of burst_layout)
        The bursts.
    last : Out(1)
        ``cmd`` is the last burst of its request.
    busy : Out(1)
        A request is being split: the same as ``cmd.valid``.
    """

    def __init__(
        self,
        *,
        addr_width: int,
        data_width: int,
        burst_beats: int,
        size_width: int,
        rows_width: int = 16,
        aligned: bool = False,
        ahead: bool = False,
    ) -> None:
        beat_bytes = data_width // 8
        if burst_beats < 1 or burst_beats & (burst_beats - 1) or burst_beats > min(_PAGE // beat_bytes, _MOST_BEATS):
            raise ComponentError(
                f"BurstWalker needs bursts of a power of two of beats within 4096 bytes, "
                f"not {burst_beats} beats of {beat_bytes} bytes"
            )
        self.addr_width = addr_width
        self.beat_log = exact_log2(beat_bytes)
        self.burst_beats = burst_beats
        self.aligned = aligned
        self.ahead = ahead
        rows = rows_layout(addr_width=addr_width, size_width=size_width, rows_width=rows_width)
        self.size_width = size_width
        self.rows_width = rows_width
        super().__init__(
            {
                "request": In(stream.Signature(rows)),
                "cmd": Out(stream.Signature(burst_layout(addr_width))),
                "last": Out(1),
                "busy": Out(1),
            }
        )

    def _row_beats(self, addr: Any, row_bytes: Any) -> Any:
        """Return the number of beats that a row of ``row_bytes`` from ``addr`` on touches."""
        low = self.beat_log
        if self.aligned:
            return row_bytes[low:]
        return (addr[:low] + row_bytes + ((1 << low) - 1))[low:]

    def elaborate(self, platform: Any) -> Module:
        """Build the walker."""
        m = Module()
        low = self.beat_log
        port = self.request
        if self.ahead:
            m.submodules.next = following = Skid(self.request.payload.shape())
            wiring.connect(m, wiring.flipped(self.request), following.source)
            port = following.sink
        request = port.p
        several = self.rows_width > 1
        row_bytes = Signal(self.size_width)
        stride_bytes = Signal(self.size_width)
        rows_left = Signal(self.rows_width)
        next_row = Signal(self.addr_width)
        beat_addr = Signal(self.addr_width - low)
        beats = Signal(9)
        row_end = Signal()
        last_row = Signal()
        m.d.comb += [
            self.cmd.valid.eq(self.busy),
            self.cmd.p.addr.eq(beat_addr << low),
            self.cmd.p.beats.eq(beats),
            self.last.eq(row_end & last_row if several else row_end),
            port.ready.eq(~self.busy | (self.last & self.cmd.ready)),
        ]
        # What a burst is was found out one burst before, so that it stands in registers: how many lines of
        # ``burst_beats`` follow in its row, whether it is one, and which beat of the last one is the row's last.
        line = low + exact_log2(self.burst_beats)
        lines = Signal(max(1, self.size_width + 1 - line))
        one_follows = Signal()
        last_beat = Signal(line - low)

        def end_of(addr: Any, size: Any, name: str) -> Signal:
            # Of the row's last byte it is asked where it is, counted from the line's first byte, and not whether the
            # beats are as many: that is a sum with no comparison behind it.
            end = Signal(max(line, self.size_width) + 1, name=name)
            m.d.comb += end.eq(addr[:line] + size - 1)
            return end

        def begin_row(addr: Any, size: Any, end: Signal) -> list[Any]:
            behind = end[line:]
            return [
                beat_addr.eq(addr >> low),
                beats.eq(Mux(behind == 0, self._row_beats(addr, size), self.burst_beats - addr[low:line])),
                row_end.eq(behind == 0),
            ]

        request_end = end_of(request.addr, request.row_bytes, "request_end")
        row_behind_end = request_end
        if several:
            next_row_end = end_of(next_row, row_bytes, "next_row_end")
            row_behind_end = Mux(self.busy & ~last_row, next_row_end, request_end)
        # In a row's last burst nothing follows in it: these may be those of the row behind it while the burst waits, so
        # that they depend less on ``cmd.ready``.
        with m.If(~self.busy | row_end):
            behind = row_behind_end[line:]
            m.d.sync += [lines.eq(behind), one_follows.eq(behind == 1), last_beat.eq(row_behind_end[low:line])]
        with m.Elif(self.cmd.ready):
            m.d.sync += [lines.eq(lines - 1), one_follows.eq(lines == 2)]
        with m.If(port.ready):
            m.d.sync += [self.busy.eq(port.valid), *begin_row(request.addr, request.row_bytes, request_end)]
            if several:
                m.d.sync += [
                    next_row.eq(request.addr + request.stride_bytes),
                    row_bytes.eq(request.row_bytes),
                    stride_bytes.eq(request.stride_bytes),
                    rows_left.eq(request.rows),
                    last_row.eq(request.rows == 1),
                ]
        if several:
            with m.Elif(self.cmd.ready & row_end):
                m.d.sync += [
                    next_row.eq(next_row + stride_bytes),
                    rows_left.eq(rows_left - 1),
                    last_row.eq(rows_left == 2),
                    *begin_row(next_row, row_bytes, next_row_end),
                ]
        with m.Elif(self.cmd.ready):
            m.d.sync += [
                beat_addr.eq(beat_addr + beats),
                beats.eq(Mux(one_follows, last_beat + 1, self.burst_beats)),
                row_end.eq(one_follows),
            ]
        return m
