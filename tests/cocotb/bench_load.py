"""The load module: padded and strided tiles of inputs and weights into its two scratchpads."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Deps, Load, MemoryId
from isa.reference import Reference, pack
from tests.support.benches.cocotb_bench import Bench, ReadMemory, put

MEMORY_BYTES = 1 << 14


class LoadBench(Bench):
    """The load module with its memory; the reference interpreter executes what the module does."""

    def __init__(self, dut: Any, *, stall: float = 0.0) -> None:
        super().__init__(dut)
        self.vta = VTAConfig.from_dict(self.given["vta"])
        memory = np.random.default_rng(self.given["seed"]).integers(0, 256, MEMORY_BYTES, dtype=np.uint8)
        self.reference = Reference(self.vta, memory)
        self.stall = stall
        self.dram = ReadMemory(self, "mem", bytearray(memory.tobytes()), pause=self.chance(stall), latency=5)
        self.depths = {MemoryId.INP: self.vta.inp_depth, MemoryId.WGT: self.vta.wgt_depth}
        self.pushes = self.pops = 0

    async def begin(self) -> None:
        """Reset, start the agents, and fill both scratchpads (their contents are unknown after power-up)."""
        await self.start()
        cocotb.start_soon(self.dram.serve())
        cocotb.start_soon(self._tokens())
        await self.drive()
        await self.execute([Load(memory=memory, x_size=depth, y_size=1) for memory, depth in self.depths.items()])

    async def _tokens(self) -> None:
        while True:
            self.set(g2l_available=int(self.random.random() >= self.stall))
            await self.settle()
            self.pushes += self.get("l2g_push")
            self.pops += self.get("g2l_pop")
            await self.drive()

    async def execute(self, loads: list[Load]) -> None:
        """Execute loads, the last of which pushes, and wait for the push."""
        last = replace(loads[-1], deps=replace(loads[-1].deps, push_next=True))
        loads = [*loads[:-1], last]
        expected = self.pushes + sum(load.deps.push_next for load in loads)
        for load in loads:
            self.reference.step(load)
        await put(self, "insn", [encode(load, self.vta) for load in loads], pause=self.chance(self.stall))
        for _ in range(10_000):
            if self.pushes == expected:
                break
            await self.drive()
        assert self.pushes == expected

    async def check(self) -> None:
        """Read both scratchpads and compare."""
        widths = {MemoryId.INP: self.vta.inp_width, MemoryId.WGT: self.vta.wgt_width}
        tables = {MemoryId.INP: self.reference.inp, MemoryId.WGT: self.reference.wgt}
        for memory, depth in self.depths.items():
            name = memory.name.lower()
            elements = pack(tables[memory], widths[memory]).reshape(depth, -1)
            for address in range(depth):
                self.set(**{f"{name}_read_address": address, f"{name}_read_enable": 1})
                await self.drive()
                self.set(**{f"{name}_read_enable": 0})
                await self.settle()
                got = self.get(f"{name}_read_data")
                assert got == int.from_bytes(elements[address].tobytes(), "little"), f"{name} {address}"
                await self.drive()


def padded(memory: MemoryId, pads: tuple[int, int, int, int], **fields: int) -> Load:
    """Return a load with ``pads`` above, below, left and right."""
    y_pad_0, y_pad_1, x_pad_0, x_pad_1 = pads
    return Load(memory=memory, y_pad_0=y_pad_0, y_pad_1=y_pad_1, x_pad_0=x_pad_0, x_pad_1=x_pad_1, **fields)  # type: ignore[arg-type]


PADS = ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 2, 0), (0, 0, 0, 2), (1, 1, 1, 1), (2, 1, 1, 2))


@cocotb.test()
async def pads_on_every_side_are_zeros(dut: Any) -> None:
    bench = LoadBench(dut)
    await bench.begin()
    for memory in bench.depths:
        for pads in PADS:
            region = padded(memory, pads, x_size=3, y_size=2, x_stride=5, dram_base=8, sram_base=1)
            await bench.execute([region])
            await bench.check()


@cocotb.test()
async def rows_may_lie_apart_and_over_page_lines(dut: Any) -> None:
    bench = LoadBench(dut, stall=0.3)
    await bench.begin()
    for memory, depth in bench.depths.items():
        size = bench.vta.elem_bytes(memory)
        rows = depth // 4
        await bench.execute(
            [Load(memory=memory, x_size=3, y_size=rows, x_stride=1000 // size, dram_base=4096 // size - 1)]
        )
        await bench.check()
    lines = {address // 4096 for address, _ in bench.dram.bursts}
    assert len(lines) > 2


@cocotb.test()
async def random_loads_overlap_and_stay_in_order(dut: Any) -> None:
    bench = LoadBench(dut, stall=0.2)
    await bench.begin()
    choose = bench.random.randint
    loads = []
    for _ in range(40):
        memory = bench.random.choice(list(bench.depths))
        depth = bench.depths[memory]
        pads = tuple(choose(0, 2) if bench.random.random() < 0.5 else 0 for _ in range(4))
        x_size, y_size = choose(0, 4), choose(1, 2)
        height, width = y_size + pads[0] + pads[1], x_size + pads[2] + pads[3]
        if height * width > depth:
            continue
        load = padded(
            memory,
            (pads[0], pads[1], pads[2], pads[3]),
            x_size=x_size,
            y_size=y_size,
            x_stride=choose(0, 40),
            dram_base=choose(0, 600),
            sram_base=choose(0, depth - height * width),
        )
        deps = Deps(pop_next=bench.random.random() < 0.3, push_next=bench.random.random() < 0.3)
        loads.append(replace(load, deps=deps))
    pops = sum(load.deps.pop_next for load in loads)
    await bench.execute(loads)
    assert bench.pops == pops
    await bench.check()
