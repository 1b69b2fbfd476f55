"""The accumulator: four interleaved banks that GEMM, ALU, loads, resets and stores share in one cycle.

There is no separate output memory: a store reads the accumulator and keeps the low output bits of each lane. Tests:
``tests/hw/test_accumulator.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hw.errors import ComponentError
from hw.scratchpad import Scratchpad

__all__ = [
    "RESET_LANES",
    "Accumulator",
    "bank_bits",
    "bank_of_place",
    "loaded_tile_layout",
    "place_of",
    "tile_write_layout",
]

RESET_LANES = 4
"""Tiles that a reset may clear in one cycle."""

_STORE_ROOM = 4

_PATIENCE = 16
"""Cycles that a load, reset or store waits for GEMM before it asks for a pause."""


def bank_bits(address_width: int) -> int:
    """Return the bits of a bank number: four banks, or one for each tile of a smaller accumulator."""
    return min(2, address_width)


def place_of(address: Value) -> Value:
    """Return the place of a tile, which has its bank in the lowest bits: as many bits as the address, one to one.

    Four consecutive tiles that begin at a multiple of four lie in four banks. Higher address bits are mixed in, so that
    a GEMM whose destinations are a power of two (or a row of an image) apart does not stay in one bank, where it would
    keep the ALU from going on. Who uses the accumulator keeps places in registers: nothing waits for the mixing.
    """
    width = bank_bits(len(address))
    bank: Value = Const(0, width)
    for low in (0, 4, 6, 8):
        bank = bank ^ address[low : low + width]
    return Cat(bank, address[width:])


def bank_of_place(place: Value) -> Value:
    """Return the bank of the tile at ``place``."""
    return place[: bank_bits(len(place))]


def tile_write_layout(*, address_width: int, tile_width: int) -> data.StructLayout:
    """Return the layout of a tile and the address, or the place, it is written to."""
    return data.StructLayout({"address": address_width, "data": tile_width})


def loaded_tile_layout(*, address_width: int, tile_width: int) -> data.StructLayout:
    """Return the layout of a tile that a load writes: its data do not count where it is ``zero``."""
    return data.StructLayout(
        {**tile_write_layout(address_width=address_width, tile_width=tile_width).members, "zero": 1}
    )


class Accumulator(wiring.Component):
    """Banks with one read and one write port each, and who may use them. All addresses are places (``place_of``).

    The data of a read are at the output in the next cycle only. A write is seen by reads from the next cycle on. GEMM's
    reads and writes and the ALU's writes are never refused. The ALU's reads are granted in the same cycle, if GEMM does
    not need the bank; the read of a destination also needs the bank to be free of GEMM in the cycle in which its result
    will be written (``alu_latency`` cycles later), which ``gemm_ahead`` tells. Loads, then resets, use write ports that
    are left over, stores read ports.

    Parameters
    ----------
    address_width : int
        Bits of a tile's address.
    lanes, lane_width : int
        Numbers of a tile, and bits of each.
    out_width : int
        Low bits of each number that a store keeps.

    Members
    -------
    gemm_read, gemm_address, gemm_data : In, In, Out
        Read of GEMM.
    gemm_ahead, gemm_ahead_address : In
        GEMM will write this tile in the cycle in which an ALU destination read now will be written.
    gemm_write, gemm_write_tile : In
        Write of GEMM.
    dst_read, dst_address, dst_grant, dst_data : In, In, Out, Out
        The ALU's read of a destination.
    src_read, src_address, src_grant, src_data : In, In, Out, Out
        The ALU's read of a source. Granted only if the destination read of the same cycle (granted or not) does not
        need the bank.
    alu_write, alu_write_tile : In
        Write of the ALU.
    load : In(stream of loaded_tile_layout)
        Tiles of a load, and zeros of its padding.
    reset_write, reset_address, reset_grant : In, In, Out
        Tiles to clear, ``RESET_LANES`` at a time, granted one by one.
    bubble : Out(1)
        GEMM should leave out a step: a load, a reset or a store has waited long.
    store_address, store_data : In(stream), Out(stream)
        Tiles that a store reads, in order, and their low output bits two cycles later.
    """

    def __init__(self, *, address_width: int, lanes: int, lane_width: int, out_width: int) -> None:
        if not 1 <= out_width <= lane_width:
            raise ComponentError(f"Accumulator keeps 1 to {lane_width} bits of a lane, not {out_width}")
        self.address_width = address_width
        self.lanes = lanes
        self.lane_width = lane_width
        self.out_width = out_width
        self.tile_width = lanes * lane_width
        tile = tile_write_layout(address_width=address_width, tile_width=self.tile_width)
        super().__init__(
            {
                "gemm_read": In(1),
                "gemm_address": In(address_width),
                "gemm_data": Out(self.tile_width),
                "gemm_ahead": In(1),
                "gemm_ahead_address": In(address_width),
                "gemm_write": In(1),
                "gemm_write_tile": In(tile),
                "dst_read": In(1),
                "dst_address": In(address_width),
                "dst_grant": Out(1),
                "dst_data": Out(self.tile_width),
                "src_read": In(1),
                "src_address": In(address_width),
                "src_grant": Out(1),
                "src_data": Out(self.tile_width),
                "alu_write": In(1),
                "alu_write_tile": In(tile),
                "load": In(
                    stream.Signature(loaded_tile_layout(address_width=address_width, tile_width=self.tile_width))
                ),
                "reset_write": In(RESET_LANES),
                "reset_address": In(data.ArrayLayout(address_width, RESET_LANES)),
                "reset_grant": Out(RESET_LANES),
                "bubble": Out(1),
                "store_address": In(stream.Signature(address_width)),
                "store_data": Out(stream.Signature(lanes * out_width)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the banks, then who reads and who writes."""
        m = Module()
        self._bits = bank_bits(self.address_width)
        banks = []
        for index in range(1 << self._bits):
            # Who reads a tile that is being written takes what is written from elsewhere, or waits for it.
            depth = 1 << (self.address_width - self._bits)
            bank = Scratchpad(depth=depth, width=self.tile_width, collisions=False)
            m.submodules[f"bank_{index}"] = bank
            banks.append(bank)
        store_grant = self._reads(m, banks)
        self._writes(m, banks)
        self._store_queue(m, banks, store_grant)
        self._patience(m, store_grant)
        return m

    def _patience(self, m: Module, store_grant: Value) -> None:
        """Count how long something waits: GEMM may keep to one bank for thousands of cycles."""
        waited = Signal(range(_PATIENCE))
        waits = (
            (self.load.valid & ~self.load.ready)
            | (self.reset_write.any() & ~self.reset_grant.any())
            | (self._store_wanted & ~store_grant)
        )
        m.d.comb += self.bubble.eq(waited == _PATIENCE - 1)
        m.d.sync += waited.eq(Mux(waits, waited + 1, 0))

    def _bank(self, m: Module, address: Value, name: str) -> Signal:
        """Return the bank of ``address`` as a named signal."""
        bank = Signal(self._bits, name=f"{name}_bank")
        m.d.comb += bank.eq(bank_of_place(address))
        return bank

    def _reads(self, m: Module, banks: list[Scratchpad]) -> Value:
        """Arbitrate the read ports: GEMM, ALU destination, ALU source, store. Return the store's grant."""
        gemm = self._bank(m, self.gemm_address, "gemm")
        ahead = self._bank(m, self.gemm_ahead_address, "ahead")
        dst = self._bank(m, self.dst_address, "dst")
        src = self._bank(m, self.src_address, "src")
        store = self._bank(m, self.store_address.p, "store")
        wanted = Signal()
        grant = Signal()
        m.d.comb += [
            self.dst_grant.eq(self.dst_read & ~(self.gemm_read & (gemm == dst)) & ~(self.gemm_ahead & (ahead == dst))),
            self.src_grant.eq(self.src_read & ~(self.gemm_read & (gemm == src)) & ~(self.dst_read & (dst == src))),
            grant.eq(
                wanted
                & ~(self.gemm_read & (gemm == store))
                & ~(self.dst_read & (dst == store))
                & ~(self.src_read & (src == store))
            ),
        ]
        readers = (
            (self.gemm_read, gemm, self.gemm_address),
            (self.dst_grant, dst, self.dst_address),
            (self.src_grant, src, self.src_address),
            (grant, store, self.store_address.p),
        )
        for index, bank in enumerate(banks):
            enables = [enable & (number == index) for enable, number, _ in readers]
            m.d.comb += bank.read_enable.eq(Cat(enables).any())
            for enable, (_, _, address) in zip(enables, readers, strict=True):
                with m.If(enable):
                    m.d.comb += bank.read_address.eq(address[self._bits :])
        outputs = [bank.read_data for bank in banks]
        ports = {"gemm": (gemm, self.gemm_data), "dst": (dst, self.dst_data), "src": (src, self.src_data)}
        for name, (number, output) in ports.items():
            m.d.comb += output.eq(_pick(self._held(m, number, name), outputs))
        self._store_bank = self._held(m, store, "store")
        self._store_wanted = wanted
        return grant

    def _held(self, m: Module, bank: Signal, name: str) -> Signal:
        """Return ``bank`` one cycle later, when its data are there."""
        held = Signal(self._bits, name=f"{name}_bank_held", reset_less=True)
        m.d.sync += held.eq(bank)
        return held

    def _writes(self, m: Module, banks: list[Scratchpad]) -> None:
        """Arbitrate the write ports: GEMM and ALU (never in one bank), load, reset."""
        gemm = self._bank(m, self.gemm_write_tile.address, "gemm_write")
        alu = self._bank(m, self.alu_write_tile.address, "alu_write")
        load = self._bank(m, self.load.p.address, "load")
        lanes = [self._bank(m, self.reset_address[lane], f"reset_{lane}") for lane in range(RESET_LANES)]
        granted = [Const(0) for _ in range(RESET_LANES)]
        ready: Value = Const(0)
        for index, bank in enumerate(banks):
            by_gemm = self.gemm_write & (gemm == index)
            by_alu = self.alu_write & (alu == index)
            by_load = self.load.valid & (load == index)
            ready = ready | (~by_gemm & ~by_alu & (load == index))
            free = ~(by_gemm | by_alu | by_load)
            m.d.comb += [
                bank.write_enable.eq(by_gemm | by_alu | by_load),
                bank.write_address.eq(self.load.p.address[self._bits :]),
                bank.write_data.eq(self.load.p.data),
            ]
            earlier: Value = Const(0)
            for lane, number in enumerate(lanes):
                here = self.reset_write[lane] & (number == index)
                with m.If(free & here & ~earlier):
                    m.d.comb += [
                        bank.write_enable.eq(1),
                        bank.write_address.eq(self.reset_address[lane][self._bits :]),
                    ]
                granted[lane] = granted[lane] | (free & here & ~earlier)
                earlier = earlier | here
            with m.If(~by_load | self.load.p.zero):
                m.d.comb += bank.write_data.eq(0)
            for enable, tile in ((by_alu, self.alu_write_tile), (by_gemm, self.gemm_write_tile)):
                with m.If(enable):
                    m.d.comb += [
                        bank.write_address.eq(tile.address[self._bits :]),
                        bank.write_data.eq(tile.data),
                    ]
        m.d.comb += [self.load.ready.eq(ready), self.reset_grant.eq(Cat(granted))]

    def _store_queue(self, m: Module, banks: list[Scratchpad], grant: Value) -> None:
        """Keep what stores have read until it is taken; read only if there is room for it."""
        m.submodules.store_queue = queue = Memory(shape=self.lanes * self.out_width, depth=_STORE_ROOM, init=[])
        write = queue.write_port()
        read = queue.read_port(domain="comb")
        claimed = Signal(bits_for(_STORE_ROOM))
        arriving = Signal()
        stored = Signal(bits_for(_STORE_ROOM))
        head = Signal(range(_STORE_ROOM))
        tail = Signal(range(_STORE_ROOM))
        taken = Signal()
        lows = [
            Cat(bank.read_data.word_select(lane, self.lane_width)[: self.out_width] for lane in range(self.lanes))
            for bank in banks
        ]
        m.d.comb += [
            self._store_wanted.eq(self.store_address.valid & (claimed != _STORE_ROOM)),
            self.store_address.ready.eq(grant),
            taken.eq(self.store_data.valid & self.store_data.ready),
            write.addr.eq(tail),
            write.data.eq(_pick(self._store_bank, lows)),
            write.en.eq(arriving),
            read.addr.eq(head),
            self.store_data.valid.eq(stored != 0),
            self.store_data.p.eq(read.data),
        ]
        m.d.sync += [
            arriving.eq(grant),
            claimed.eq(claimed + grant - taken),
            stored.eq(stored + arriving - taken),
            tail.eq(tail + arriving),
            head.eq(head + taken),
        ]


def _pick(index: Value, values: list[Any]) -> Value:
    """Return ``values[index]`` as a tree of two-way choices; there is a power of two of them."""
    level: list[Any] = list(values)
    for bit in range(len(index)):
        level = [Mux(index[bit], odd, even) for even, odd in zip(level[::2], level[1::2], strict=True)]
    return level[0]
