# amaranth: UnusedElaboratable=no
"""The accumulator's banks: every user at once, against one array of tiles."""

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hw.accumulator import Accumulator, bank_bits, bank_of_place, half_place_of, place_of, whole_place
from hw.compute.alu import alu_write_delay
from hw.compute.gemm import WRITE_DELAY
from hw.sim import compile_design
from isa.config import VTAConfig
from tests.support.hw.accumulator_places import bank, place
from tests.support.hw.inline_design import Small

WIDTH = 64
ALU_WRITE_DELAY = alu_write_delay(VTAConfig())


@pytest.mark.parametrize("width", [0, 1, 2, 5, 11])
def test_banks_divide_the_tiles_evenly_and_every_tile_has_a_place(width: int) -> None:
    assert bank_bits(width) == min(2, width)
    places = [place(address, width) for address in range(1 << width)]
    assert sorted(places) == list(range(1 << width))
    counts = np.bincount([bank(at, width) for at in places], minlength=1)
    assert set(counts.tolist()) == {(1 << width) >> min(2, width)}


def test_even_tiles_and_odd_ones_share_no_bank() -> None:
    """So that what walks an odd distance behind something else never meets it."""
    sides = [{bank(place(address, 11), 11) for address in range(first, 1 << 11, 2)} for first in range(2)]
    assert sides == [{0, 2}, {1, 3}]


class _Users:
    """Random requests of every user; a model of the tiles says what each read must give. Addresses are places."""

    def __init__(self, width: int, seed: int) -> None:
        self.width = width
        self.rng = np.random.default_rng(seed)
        self.design = compile_design(Accumulator(address_width=width, lanes=2, lane_width=32, out_width=8))
        self.tiles = [0] * (1 << width)
        self.gemm: list[Any] = [None] * 16  # destinations by cycle from now on, at their read
        self.alu: list[Any] = [None] * ALU_WRITE_DELAY  # results on their way
        self.free = False  # whether GEMM and ALU leave the load's bank alone in this cycle
        self.expected: dict[str, Any] = {}
        self.stored: list[Any] = []
        self.wanted: list[Any] = []
        self.held: dict[str, Any] = {"load": None, "store": None}
        self.resets: dict[int, int] = {}  # by bank
        self.waits: list[bool] = []
        self.grants = {"dst": 0, "src": 0, "load": 0, "reset": 0, "store": 0}

    def _address(self) -> Any:
        return int(self.rng.integers(1 << self.width))

    def _write(self, name: str, now: Any, following: Any) -> list[tuple[int, int]]:
        """Let GEMM or ALU write to ``now``, and say where they write in the next cycle; return what is written."""
        value = int.from_bytes(self.rng.bytes(8), "little")
        self.design.poke(f"{name}_write_data", value)
        self.design.poke(f"{name}_write", int(following is not None))
        self.design.poke(f"{name}_write_address", following or 0)
        return [] if now is None else [(now, value)]

    def cycle(self) -> None:
        design, rng, poke, peek = self.design, self.rng, self.design.poke, self.design.peek
        for name, tile in self.expected.items():
            assert peek(f"{name}_data") == tile, name
        self.expected = {}
        writes: list[Any] = []
        now = self._gemm(writes)
        # ALU: a destination is written later; both are read where GEMM and each other leave the bank free.
        wants = {name: self._address() if rng.random() < 0.8 else None for name in ("dst", "src")}
        wants = {name: value if self._due(wants, now)[name] else None for name, value in wants.items()}
        for name, value in wants.items():
            poke(f"{name}_read", int(value is not None))
            poke(f"{name}_address", value or 0)
        writes += self._write("alu", *self.alu[:2])
        del self.alu[0]
        read = [*wants.values(), now]
        writes += self._others([bank(address, self.width) for address, _ in writes], read)
        waited = [*reversed(self.waits[:-2]), False].index(False)
        assert peek("bubble") == (waited % 16 == 14)
        for name, value in wants.items():
            if value is not None:
                self.expected[name] = self.tiles[value]
                self.grants[name] += 1
        self.alu.append(wants["dst"])
        if now is not None:
            self.expected["gemm"] = self.tiles[now]
        banks = [bank(address, self.width) for address, _ in writes]
        assert len(set(banks)) == len(banks)
        design.step()
        for address, value in writes:
            self.tiles[address] = value

    def _due(self, wants: dict[str, Any], now: Any) -> dict[str, bool]:
        """Which of the ALU's reads may be: those whose banks GEMM, and the destination, leave free."""
        ahead = self.gemm[8 + ALU_WRITE_DELAY - WRITE_DELAY]

        def apart(address: Any, *others: Any) -> bool:
            taken = {bank(other, self.width) for other in others if other is not None}
            return address is not None and bank(address, self.width) not in taken

        dst, src = wants["dst"], wants["src"]
        return {"dst": apart(dst, now, ahead), "src": apart(src, now, dst)}

    def _gemm(self, writes: list[Any]) -> Any:
        """Drive GEMM: a stream of destinations, which are written WRITE_DELAY cycles after their read."""
        rng, poke = self.rng, self.design.poke
        self.gemm = [*self.gemm[1:], self._address() if rng.random() < 0.7 else None]
        now = self.gemm[8]
        poke("gemm_read", int(now is not None))
        poke("gemm_address", now or 0)
        writes += self._write("gemm", *self.gemm[8 - WRITE_DELAY :][:2])
        return now

    def _others(self, written: list[int], read: list[Any]) -> Any:
        """Drive loads, resets and stores.

        ``written`` are the banks that GEMM and ALU write to in this cycle, ``read`` the tiles that they want to read.
        """
        poke, peek, rng = self.design.poke, self.design.peek, self.rng
        writes = []
        if self.held["load"] is None and rng.random() < 0.3:
            address = self._address()
            self.held["load"] = (address, int.from_bytes(rng.bytes(8), "little"), rng.random() < 0.3)
            self.free = bank(address, self.width) not in written
        load = self.held["load"]
        poke("load_banks", 0 if load is None else 1 << bank(load[0], self.width))
        poke("load_tile_banks", 0 if load is None or load[2] else 1 << bank(load[0], self.width))
        if load is not None:
            poke("load_address", load[0])
            poke("load_data", load[1])
        if self.held["store"] is None and rng.random() < 0.5:
            self.held["store"] = self._address()
        store = self.held["store"]
        poke("store_address__valid", int(store is not None))
        poke("store_address__payload", store or 0)
        if not self.resets and rng.random() < 0.2:
            self.resets = {bank(address, self.width): address for address in (self._address() for _ in range(4))}
        poke("reset_write", sum(1 << number for number in self.resets))
        poke("reset_address", sum(address << number * self.width for number, address in self.resets.items()))
        poke("store_data__ready", int(rng.random() < 0.6))
        busy = {bank(address, self.width) for address in read if address is not None}
        room = len(self.wanted) - len(self.stored) < 4
        if store is not None:
            assert peek("store_address__ready") == (room and bank(store, self.width) not in busy)
        self.waits.append(
            bool(
                (load is not None and not self.free)
                or (self.resets and not any(peek("free") >> number & 1 for number in self.resets))
                or (store is not None and room and not peek("store_address__ready"))
            )
        )
        if load is not None and self.free:
            assert bank(load[0], self.width) not in written
            written = [*written, bank(load[0], self.width)]
            writes.append((load[0], 0 if load[2] else load[1]))
            self.held["load"] = None
            self.grants["load"] += 1
        elif load is not None:
            self.free = not peek("taken") >> bank(load[0], self.width) & 1
        assert [number for number in range(4) if not peek("free") >> number & 1] == sorted(set(written))
        cleared = {number: address for number, address in self.resets.items() if number not in written}
        writes += [(address, 0) for address in cleared.values()]
        self.grants["reset"] += len(cleared)
        self.resets = {number: address for number, address in self.resets.items() if number not in cleared}
        if store is not None and peek("store_address__ready"):
            tile = self.tiles[store]
            self.wanted.append(tile & 0xFF | (tile >> 32 & 0xFF) << 8)
            self.held["store"] = None
            self.grants["store"] += 1
        if peek("store_data__valid") and peek("store_data__ready"):
            self.stored.append(peek("store_data__payload"))
        return writes


@pytest.mark.parametrize(("width", "seed"), [(3, 1), (5, 2), (6, 3)])
def test_every_user_sees_the_newest_tile_and_no_bank_is_used_twice(width: int, seed: int) -> None:
    users = _Users(width, seed)
    for _ in range(1500):
        users.cycle()
    assert min(users.grants.values()) > 100
    assert users.stored == users.wanted[: len(users.stored)]
    assert len(users.wanted) - len(users.stored) <= 4


def test_a_load_that_waits_for_gemm_asks_for_a_pause() -> None:
    design = compile_design(Accumulator(address_width=5, lanes=1, lane_width=32, out_width=8))
    design.poke("gemm_write", 1)
    design.step()
    design.poke("load_banks", 1)
    asked = []
    for _ in range(40):
        asked.append(design.peek("bubble"))
        assert design.peek("taken") == 1
        design.step()
    assert sum(asked) == 2
    assert asked.index(1) == 15


@pytest.mark.parametrize("kept", [0, 33])
def test_a_store_keeps_some_bits_of_a_lane(kept: int) -> None:
    with pytest.raises(ValueError, match=rf"^Accumulator keeps 1 to 32 bits of a lane, not {kept}$"):
        Accumulator(address_width=3, lanes=2, lane_width=32, out_width=kept)


@pytest.mark.parametrize("kept", [1, 32])
def test_a_store_may_keep_a_bit_or_all(kept: int) -> None:
    design = compile_design(Accumulator(address_width=3, lanes=2, lane_width=32, out_width=kept))
    assert design.image.signals["store_data__payload"].width == 2 * kept


@pytest.mark.parametrize("width", [0, 1, 2, 5, 11])
def test_a_tile_lies_in_the_bank_that_its_bits_say(width: int) -> None:
    """The parity of bits 4 to 8 is mixed into bit 1, the others stay."""

    def build(m: Module, ports: Any) -> None:
        m.d.comb += [ports.place.eq(place_of(ports.address)), ports.bank.eq(bank_of_place(ports.place))]

    design = compile_design(Small(build, {"address": In(width), "place": Out(width), "bank": Out(2)}))
    for address in range(1 << width):
        if width:
            design.poke("address", address)
            assert design.peek("place") == place(address, width)
        assert design.peek("bank") == bank(place(address, width), width)


@pytest.mark.parametrize("width", [0, 1, 2, 5, 8, 11])
def test_a_place_that_is_mixed_in_halves_is_the_same(width: int) -> None:
    def build(m: Module, ports: Any) -> None:
        m.d.comb += [ports.half.eq(half_place_of(ports.address)), ports.place.eq(whole_place(ports.half))]

    ports = {"address": In(width), "half": Out(width + 1), "place": Out(width)}
    design = compile_design(Small(build, ports))
    for address in range(1 << width if width else 0):
        design.poke("address", address)
        assert design.peek("place") == place(address, width)
