"""The accumulator: four interleaved banks that GEMM, ALU, loads, resets and stores share in one cycle.

There is no separate output memory: a store reads the accumulator and keeps the low output bits of each lane. Tests:
``tests/hw/test_accumulator.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hw.copies import copies_of, parts_of
from hw.errors import ComponentError
from hw.scratchpad import Scratchpad

__all__ = [
    "RESET_LANES",
    "Accumulator",
    "bank_bits",
    "bank_of_place",
    "half_place_of",
    "place_of",
    "whole_place",
]

RESET_LANES = 4
"""Tiles that a reset may clear in one cycle."""

_MIXED = slice(4, 9)
"""Address bits whose parity is in the upper bit of a bank's number."""

_MIXED_EARLY = 3
"""How many of them go into half a place: with the bank's own bit as many as a look-up table has inputs."""

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
    keep the ALU from going on. They go into the upper bit of the bank alone: even tiles lie in two banks, odd ones in
    the other two. GEMM and an ALU beside it that both go from tile to tile stay an odd distance apart then, once a wait
    has brought them there, and never meet again, wherever they are. Who uses the accumulator keeps places in registers:
    nothing waits for the mixing.
    """
    if bank_bits(len(address)) < 2:
        return address
    return Cat(address[0], Cat(address[1], address[_MIXED]).xor(), address[2:])


def half_place_of(address: Value) -> Value:
    """Return the place of a tile with a part of the mixing left over: ``whole_place`` of it is ``place_of(address)``.

    It has a bit more than the address. For an address that comes late, from a memory and a sum: the mixing is halved
    between the cycle in which it is known and the next one.
    """
    if bank_bits(len(address)) < 2:
        return Cat(0, address)
    mixed = address[_MIXED]
    return Cat(mixed[_MIXED_EARLY:].xor(), address[0], Cat(address[1], mixed[:_MIXED_EARLY]).xor(), address[2:])


def whole_place(half: Value) -> Value:
    """Return the place that ``half_place_of`` began."""
    left, place = half[0], half[1:]
    if bank_bits(len(place)) < 2:
        return place
    return Cat(place[0], place[1] ^ left, place[2:])


def bank_of_place(place: Value) -> Value:
    """Return the bank of the tile at ``place``."""
    return place[: bank_bits(len(place))]


@dataclass(frozen=True, slots=True)
class _Writer:
    """To which bank it writes in the next cycle, and to which in this one, also in copies for the data; where; what."""

    will: Signal
    by: Signal
    copies: list[Value]
    place: Signal
    word: Signal


class Accumulator(wiring.Component):
    """Banks with one read and one write port each, and who may use them. All addresses are places (``place_of``).

    The data of a read are at the output in the next cycle only. A write is seen by reads from the next cycle on. GEMM's
    and the ALU's reads and writes are never refused: the ALU knows beforehand which banks GEMM needs. Two reads, or two
    writes, of theirs in one bank do not happen. Loads, then resets, use write ports that are left over, stores read
    ports. Loads know a cycle before which banks are left.

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
    gemm_write, gemm_write_address, gemm_write_data : In
        Write of GEMM: the data come in the cycle after the address, and are written then.
    dst_read, dst_address, dst_data : In, In, Out
        The ALU's read of a destination.
    src_read, src_address, src_data : In, In, Out
        The ALU's read of a source.
    alu_write, alu_write_address, alu_write_data : In
        Write of the ALU, the same.
    taken : Out(1 << bank_bits(address_width))
        Banks to which GEMM and ALU write in the next cycle.
    load_banks, load_tile_banks, load_address, load_data : In
        The bank of a tile of a load, or of a zero of its padding, or none: written unless it was ``taken`` in the cycle
        before; and that bank again if it is a tile. From registers, for what waits for it is every bit of the banks.
    reset_write, reset_address, free : In, In, Out
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
        super().__init__(
            {
                "gemm_read": In(1),
                "gemm_address": In(address_width),
                "gemm_data": Out(self.tile_width),
                "gemm_write": In(1),
                "gemm_write_address": In(address_width),
                "gemm_write_data": In(self.tile_width),
                "dst_read": In(1),
                "dst_address": In(address_width),
                "dst_data": Out(self.tile_width),
                "src_read": In(1),
                "src_address": In(address_width),
                "src_data": Out(self.tile_width),
                "alu_write": In(1),
                "alu_write_address": In(address_width),
                "alu_write_data": In(self.tile_width),
                "taken": Out(1 << bank_bits(address_width)),
                "load_banks": In(1 << bank_bits(address_width)),
                "load_tile_banks": In(1 << bank_bits(address_width)),
                "load_address": In(address_width),
                "load_data": In(self.tile_width),
                "reset_write": In(1 << bank_bits(address_width)),
                "reset_address": In(data.ArrayLayout(address_width, 1 << bank_bits(address_width))),
                "free": Out(1 << bank_bits(address_width)),
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
        waits = Signal()
        waited = Signal(range(_PATIENCE))
        m.d.sync += [
            waits.eq(
                (self._taken_now & self.load_banks).any()
                | (self.reset_write.any() & ~(self.reset_write & self.free).any())
                | (self._store_wanted & ~store_grant)
            ),
            waited.eq(Mux(waits, waited + 1, 0)),
            self.bubble.eq(waits & (waited == _PATIENCE - 3)),
        ]

    def _bank(self, m: Module, address: Value, name: str) -> Signal:
        """Return the bank of ``address`` as a named signal."""
        bank = Signal(self._bits, name=f"{name}_bank")
        m.d.comb += bank.eq(bank_of_place(address))
        return bank

    def _reads(self, m: Module, banks: list[Scratchpad]) -> Value:
        """Give the read ports to GEMM and the ALU, what is left over to a store. Return the store's grant."""
        gemm = self._bank(m, self.gemm_address, "gemm")
        dst = self._bank(m, self.dst_address, "dst")
        src = self._bank(m, self.src_address, "src")
        store = self._bank(m, self.store_address.p, "store")
        wanted = Signal()
        grant = Signal()
        needed = ((self.gemm_read, gemm), (self.dst_read, dst), (self.src_read, src))
        m.d.comb += grant.eq(wanted & ~Cat(read & (number == store) for read, number in needed).any())
        readers = ((self.gemm_read, gemm, self.gemm_address), (self.dst_read, dst, self.dst_address))
        for index, bank in enumerate(banks):
            # Nothing is lost where nobody asks for what is read.
            m.d.comb += bank.read_enable.eq(1)
            address: Value = Mux(self.src_read & (src == index), self.src_address, self.store_address.p)
            for enable, number, place in reversed(readers):
                address = Mux(enable & (number == index), place, address)
            m.d.comb += bank.read_address.eq(address[self._bits :])
        # The data are there one cycle later.
        parts = list(zip(*(parts_of(bank.read_data, self.lanes) for bank in banks), strict=True))
        ports = {"gemm": (gemm, self.gemm_data), "dst": (dst, self.dst_data), "src": (src, self.src_data)}
        for name, (number, output) in ports.items():
            held = copies_of(m, number, lanes=self.lanes, name=f"{name}_bank_held")
            m.d.comb += output.eq(Cat(_pick(copy, list(each)) for copy, each in zip(held, parts, strict=True)))
        self._store_bank = Signal(self._bits, name="store_bank_held", reset_less=True)
        m.d.sync += self._store_bank.eq(store)
        self._store_wanted = wanted
        return grant

    def _writes(self, m: Module, banks: list[Scratchpad]) -> None:
        """Arbitrate the write ports: GEMM and ALU (never in one bank), load, reset."""
        writers = [
            self._writer(m, "gemm", self.gemm_write, self.gemm_write_address, self.gemm_write_data),
            self._writer(m, "alu", self.alu_write, self.alu_write_address, self.alu_write_data),
        ]
        taken = self._taken_now = Signal(1 << self._bits, name="taken_now")
        m.d.sync += taken.eq(self.taken)
        for index, bank in enumerate(banks):
            by_load = self.load_banks[index]
            m.d.comb += [
                self.taken[index].eq(Cat(writer.will[index] for writer in writers).any()),
                self.free[index].eq(~(taken[index] | by_load)),
                bank.write_enable.eq(taken[index] | by_load | self.reset_write[index]),
                bank.write_address.eq(Mux(by_load, self.load_address, self.reset_address[index])[self._bits :]),
            ]
            words = parts_of(Mux(self.load_tile_banks[index], self.load_data, 0), self.lanes)
            for writer in writers:
                with m.If(writer.by[index]):
                    m.d.comb += bank.write_address.eq(writer.place[self._bits :])
                words = [
                    Mux(copy[index], word, other)
                    for copy, word, other in zip(writer.copies, parts_of(writer.word, self.lanes), words, strict=True)
                ]
            m.d.comb += bank.write_data.eq(Cat(words))

    def _writer(self, m: Module, name: str, write: Signal, address: Signal, word: Signal) -> _Writer:
        """Return what is known of GEMM or the ALU as a writer."""
        bank = self._bank(m, address, f"{name}_write")
        will = Signal(1 << self._bits, name=f"{name}_will_write")
        by = Signal(1 << self._bits, name=f"{name}_writes")
        place = Signal(self.address_width, name=f"{name}_write_place", reset_less=True)
        m.d.comb += will.eq(Cat(write & (bank == index) for index in range(1 << self._bits)))
        m.d.sync += [by.eq(will), place.eq(address)]
        return _Writer(will, by, copies_of(m, will, lanes=self.lanes, name=f"{name}_chosen"), place, word)

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
