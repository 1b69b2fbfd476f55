"""The store module on the memory engine: tiles in, AXI write channels out, under every kind of back-pressure."""

from collections import deque
from typing import Any

import cocotb

from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Deps, Store
from tests.support.benches.cocotb_axi import ReadyPattern, WriteMemory, every_other, late_on_odd_beats, random_ready
from tests.support.benches.cocotb_axi import always as always_ready
from tests.support.benches.cocotb_bench import Bench, Pause, put, steady

GUARD = 0xA5
MEMORY_BYTES = 1 << 15


def pattern(count: int) -> bytes:
    """Return what the tiles hold: byte k is 7 k + 3."""
    return bytes((7 * k + 3) % 256 for k in range(count))


class StoreBench(Bench):
    """The store module with a tile source, a memory, and the count of pushes."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.vta = VTAConfig.from_dict(self.given["vta"])
        self.tile_bytes = self.vta.out_elem_bytes
        self.tiles = pattern(self.vta.acc_depth * self.tile_bytes)
        self.tile_pause: Pause = steady
        self.memory = WriteMemory(self, bytearray([GUARD]) * MEMORY_BYTES)
        self.pushes = 0
        self.pops = 0

    async def begin(self) -> None:
        """Reset, and start memory, tiles and the counters."""
        await self.start()
        for agent in (self.memory.serve(), self._serve_tiles(), self._count_tokens()):
            cocotb.start_soon(agent)
        await self.drive()

    async def _serve_tiles(self) -> None:
        """Answer tile addresses in order, ``tile_pause`` apart."""
        pending: deque[int] = deque()
        wait = 0
        while True:
            offered = bool(pending) and wait <= 0
            self.set(tiles_address_ready=int(len(pending) < 4), tiles_data_valid=int(offered))
            if offered:
                start = pending[0] * self.tile_bytes
                self.set(tiles_data_payload=int.from_bytes(self.tiles[start : start + self.tile_bytes], "little"))
            await self.settle()
            asked = self.get("tiles_address_valid") and len(pending) < 4
            taken = offered and self.get("tiles_data_ready")
            if asked:
                pending.append(self.get("tiles_address_payload"))
            if taken:
                pending.popleft()
                wait = self.tile_pause() + 1
            await self.drive()
            wait -= 1

    async def _count_tokens(self) -> None:
        while True:
            await self.settle()
            if self.get("s2g_push"):
                self.pushes += 1
                assert self.memory.quiet() or self.busy_behind, "a push before the last write response"
            self.pops += self.get("g2s_pop")
            await self.drive()

    busy_behind = False
    """Whether further stores are on their way, so that a push says nothing about memory."""

    async def store(self, store: Store, *, out_base: int = 0) -> None:
        """Execute one instruction with a push and wait for it; check memory and every beat."""
        memory = self.memory
        memory.clear()
        memory.memory[:] = bytes([GUARD]) * MEMORY_BYTES
        expected = bytearray(memory.memory)
        size = self.tile_bytes
        for y in range(store.y_size):
            row = self.tiles[(store.sram_base + y * store.x_size) * size :][: store.x_size * size]
            start = out_base + (store.dram_base + y * store.x_stride) * size
            expected[start : start + len(row)] = row
        before = self.pushes
        self.set(out_base=out_base)
        await put(self, "insn", [encode(store, self.vta)])
        for _ in range(20_000):
            if self.pushes > before:
                break
            await self.drive()
        assert self.pushes == before + 1
        await self.drive()
        await self.settle()
        assert self.get("idle") == 1
        await self.drive()
        assert memory.memory == expected, first_difference(memory.memory, expected)


def first_difference(got: bytearray, expected: bytearray) -> str:
    """Name the first byte that differs."""
    at = next(i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
    return f"byte {at}: {got[at]:#x}, not {expected[at]:#x}"


def stored(**fields: int) -> Store:
    return Store(**fields, deps=Deps(push_prev=True))  # type: ignore[arg-type]  # sizes and addresses alone


STEP_1 = {"x_size": 200, "y_size": 1, "dram_base": 4048 // 16, "x_stride": 200}
STEP_2 = {"x_size": 50, "y_size": 4, "dram_base": 4048 // 16, "x_stride": 60}


@cocotb.test()
async def br_030_a_store_over_a_page_line_is_split_there(dut: Any) -> None:
    bench = StoreBench(dut)
    await bench.begin()
    beat = bench.given["data_width"] // 8
    for step in (STEP_1, STEP_2):
        await bench.store(stored(**step))
        assert bench.memory.beats == sum(beats for _, beats in bench.memory.bursts) == 200 * 16 // beat
        assert any(address + beats * beat == 4096 for address, beats in bench.memory.bursts)
    await bench.store(stored(**STEP_1))
    region = bytes(bench.memory.memory[4048:7248])
    assert sum(region) == 406976
    assert list(region[-4:]) == [103, 110, 117, 124]


@cocotb.test()
async def br_031_data_stay_while_they_are_not_taken(dut: Any) -> None:
    bench = StoreBench(dut)
    await bench.begin()
    patterns: list[ReadyPattern] = [
        always_ready,
        every_other(),
        *(late_on_odd_beats(cycles) for cycles in (1, 2, 3)),
        random_ready(bench, 0.3),
    ]
    for ready in patterns:
        bench.memory.ready = ready
        await bench.store(stored(x_size=4, y_size=1, x_stride=4, dram_base=9))
        await bench.store(stored(x_size=13, y_size=3, x_stride=17, dram_base=250, sram_base=5))
    bench.tile_pause = bench.chance(0.4)
    await bench.store(stored(**STEP_2))


@cocotb.test()
async def br_032_no_burst_is_a_beat_too_long(dut: Any) -> None:
    bench = StoreBench(dut)
    await bench.begin()
    bench.memory.ready = random_ready(bench, 0.9)
    beat = bench.given["data_width"] // 8
    for x_size in (1, 7, 8, 9, 127, 128, 129, 255):
        await bench.store(stored(x_size=x_size, y_size=2, x_stride=x_size + 3, dram_base=17))
        assert sum(beats for _, beats in bench.memory.bursts) == 2 * x_size * 16 // beat == bench.memory.beats


@cocotb.test()
async def late_responses_and_addresses_change_nothing(dut: Any) -> None:
    bench = StoreBench(dut)
    await bench.begin()
    for late in (1, 20):
        bench.memory.response_pause = lambda late=late: late  # type: ignore[misc]  # a default, not an argument
        bench.memory.address_pause = bench.gaps(late)
        await bench.store(stored(**STEP_2))


@cocotb.test()
async def stores_follow_each_other_and_each_pushes_and_pops_once(dut: Any) -> None:
    bench = StoreBench(dut)
    await bench.begin()
    bench.busy_behind = True
    bench.memory.ready = random_ready(bench, 0.7)
    bench.memory.response_pause = bench.gaps(12)
    bench.tile_pause = bench.chance(0.2)
    words = []
    expected = bytearray(bench.memory.memory)
    for index in range(24):
        x_size = bench.random.choice((0, 1, 2, 5))
        token = index % 3 == 0
        store = Store(
            x_size=x_size, y_size=1, dram_base=8 * index, sram_base=index, deps=Deps(pop_prev=token, push_prev=True)
        )
        start = 8 * index * 16
        expected[start : start + x_size * 16] = bench.tiles[index * 16 : (index + x_size) * 16]
        words.append(encode(store, bench.vta))
    cocotb.start_soon(put(bench, "insn", words))
    for _ in range(3000):
        bench.set(g2s_available=int(bench.random.random() < 0.3))
        await bench.drive()
    assert (bench.pushes, bench.pops) == (24, 8)
    assert bench.memory.quiet()
    assert bench.memory.memory == expected, first_difference(bench.memory.memory, expected)
