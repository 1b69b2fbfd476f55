"""From rows of bytes in DRAM to bursts of beats.

Tests: ``tests/hw/test_dma_address.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
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


@dataclass(frozen=True, slots=True)
class _Rows:
    """Of the request that is being split: the size of a row and the way to the next, where that is, what is left."""

    row_bytes: Signal
    stride_bytes: Signal
    next_row: Signal
    left: Signal
    is_last: Signal


@dataclass(frozen=True, slots=True)
class _Burst:
    """The burst that is asked for, and what follows in its row.

    What a burst is was found out one burst before, so that it stands in registers: how many lines of ``burst_beats``
    follow in its row, whether it is one, and which beat of the last one is the row's last.
    """

    beat_addr: Signal
    beats: Signal
    ends_row: Signal
    lines: Signal
    one_follows: Signal
    last_beat: Signal


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
        self.beat_log: int = exact_log2(beat_bytes)
        self.line_log: int = exact_log2(beat_bytes * burst_beats)  # of a line, at whose end a burst ends, too
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
        port = self.request
        if self.ahead:
            m.submodules.next = following = Skid(self.request.payload.shape())
            wiring.connect(m, wiring.flipped(self.request), following.source)
            port = following.sink
        several = self.rows_width > 1
        rows, burst = self._rows(), self._burst()
        m.d.comb += [
            self.cmd.valid.eq(self.busy),
            self.cmd.p.addr.eq(burst.beat_addr << self.beat_log),
            self.cmd.p.beats.eq(burst.beats),
            self.last.eq(burst.ends_row & rows.is_last if several else burst.ends_row),
            port.ready.eq(~self.busy | (self.last & self.cmd.ready)),
        ]
        request = port.p
        request_end = self._end_of(m, request.addr, request.row_bytes, "request_end")
        end_behind: Value = request_end
        if several:
            next_row_end = self._end_of(m, rows.next_row, rows.row_bytes, "next_row_end")
            end_behind = Mux(self.busy & ~rows.is_last, next_row_end, request_end)
        self._look_ahead(m, burst, end_behind)
        with m.If(port.ready):
            m.d.sync += [
                self.busy.eq(port.valid),
                *self._begin_row(burst, request.addr, request.row_bytes, request_end),
            ]
            if several:
                m.d.sync += [
                    rows.next_row.eq(request.addr + request.stride_bytes),
                    rows.row_bytes.eq(request.row_bytes),
                    rows.stride_bytes.eq(request.stride_bytes),
                    rows.left.eq(request.rows),
                    rows.is_last.eq(request.rows == 1),
                ]
        if several:
            with m.Elif(self.cmd.ready & burst.ends_row):
                m.d.sync += [
                    rows.next_row.eq(rows.next_row + rows.stride_bytes),
                    rows.left.eq(rows.left - 1),
                    rows.is_last.eq(rows.left == 2),
                    *self._begin_row(burst, rows.next_row, rows.row_bytes, next_row_end),
                ]
        with m.Elif(self.cmd.ready):
            m.d.sync += [
                burst.beat_addr.eq(burst.beat_addr + burst.beats),
                burst.beats.eq(Mux(burst.one_follows, burst.last_beat + 1, self.burst_beats)),
                burst.ends_row.eq(burst.one_follows),
            ]
        return m

    def _rows(self) -> _Rows:
        """Return the registers of a request."""
        return _Rows(
            row_bytes=Signal(self.size_width, name="row_bytes"),
            stride_bytes=Signal(self.size_width, name="stride_bytes"),
            next_row=Signal(self.addr_width, name="next_row"),
            left=Signal(self.rows_width, name="rows_left"),
            is_last=Signal(name="last_row"),
        )

    def _burst(self) -> _Burst:
        """Return the registers of a burst."""
        return _Burst(
            beat_addr=Signal(self.addr_width - self.beat_log, name="beat_addr"),
            beats=Signal(9, name="beats"),
            ends_row=Signal(name="row_end"),
            lines=Signal(max(1, self.size_width + 1 - self.line_log), name="lines"),
            one_follows=Signal(name="one_follows"),
            last_beat=Signal(self.line_log - self.beat_log, name="last_beat"),
        )

    def _end_of(self, m: Module, addr: Value, size: Value, name: str) -> Signal:
        """Return where a row's last byte is, counted from the first byte of the line in which the row begins.

        It is not asked whether the beats are as many: this is a sum with no comparison behind it.
        """
        end = Signal(max(self.line_log, self.size_width) + 1, name=name)
        m.d.comb += end.eq(addr[: self.line_log] + size - 1)
        return end

    def _begin_row(self, burst: _Burst, addr: Value, size: Value, end: Value) -> list[Any]:
        """Return what makes ``burst`` the first one of the row at ``addr``."""
        only = end[self.line_log :] == 0
        begins = addr[self.beat_log : self.line_log]
        return [
            burst.beat_addr.eq(addr >> self.beat_log),
            burst.beats.eq(Mux(only, self._row_beats(addr, size), self.burst_beats - begins)),
            burst.ends_row.eq(only),
        ]

    def _look_ahead(self, m: Module, burst: _Burst, end: Value) -> None:
        """Find out what follows; ``end`` is that of the row that comes next.

        In a row's last burst nothing follows in it: what is said may be of the row behind it while the burst waits, so
        that it depends less on ``cmd.ready``.
        """
        with m.If(~self.busy | burst.ends_row):
            behind = end[self.line_log :]
            m.d.sync += [
                burst.lines.eq(behind),
                burst.one_follows.eq(behind == 1),
                burst.last_beat.eq(end[self.beat_log : self.line_log]),
            ]
        with m.Elif(self.cmd.ready):
            m.d.sync += [burst.lines.eq(burst.lines - 1), burst.one_follows.eq(burst.lines == 2)]
