"""The compute module: GEMM, ALU and accumulator loads, with tokens, memory and scratchpads around it.

An accumulator shows through the store port alone, and there only its low bits do; ``accumulators`` reads the rest after
shifts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from isa.config import VTAConfig
from isa.encoding import encode, encode_uop
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, MicroOp
from isa.reference import Reference, pack
from tests.support.benches.cocotb_bench import Bench, ReadMemory, put, take

ACC_BASE, ACC8_BASE = 0x8000, 0x4000
"""Where 32-bit and 8-bit tiles lie in DRAM; micro-ops lie at 0."""

MEMORY_BYTES = 1 << 17

FILLED = 64
"""Accumulators that hold something when a test begins."""


class ComputeBench(Bench):
    """The compute module; the reference interpreter executes what it does."""

    def __init__(self, dut: Any, *, stall: float = 0.0) -> None:
        super().__init__(dut)
        self.vta = VTAConfig.from_dict(self.given["vta"])
        rng = np.random.default_rng(self.given["seed"])
        self.reference = Reference(self.vta, rng.integers(0, 256, MEMORY_BYTES, dtype=np.uint8))
        for table in (self.reference.inp, self.reference.wgt):
            table[:] = rng.integers(-128, 128, table.shape)
        self.stall = stall
        self.finished = self.pushes = 0
        self.uops: list[MicroOp] = []

    async def begin(self, uops: Sequence[MicroOp]) -> None:
        """Reset, start the agents, load ``uops`` and ``FILLED`` random accumulators: all are unknown after power-up."""
        image = np.array([encode_uop(uop, self.vta) for uop in uops], "<u4").view(np.uint8)
        self.reference.memory[: image.size] = image
        dram = bytearray(self.reference.memory.tobytes())
        self.acc_dram = ReadMemory(self, "acc_dma", dram, pause=self.chance(self.stall), latency=4)
        uop_dram = ReadMemory(self, "uop_dma", dram, pause=self.chance(self.stall), latency=4)
        await self.start()
        agents = [self.acc_dram.serve(), uop_dram.serve(), self._tokens()]
        agents += [self._scratchpad("inp", self.reference.inp), self._scratchpad("wgt", self.reference.wgt)]
        for agent in agents:
            cocotb.start_soon(agent)
        await self.drive()
        fill = Load(memory=MemoryId.ACC, x_size=FILLED, y_size=1, dram_base=self.acc_element(ACC_BASE))
        await self.execute([Load(memory=MemoryId.UOP, x_size=len(uops), y_size=1), fill])

    def acc_element(self, address: int) -> int:
        """Return the DRAM address in accumulator tiles."""
        return address // self.vta.acc_elem_bytes

    async def _scratchpad(self, name: str, elements: np.ndarray) -> None:
        """Serve reads: data one cycle after the address, held until the next read."""
        data = pack(elements, 8).reshape(len(elements), -1)
        while True:
            await self.settle()
            enabled = self.get(f"{name}_read_enable")
            address = self.get(f"{name}_read_address") if enabled else 0
            await self.drive()
            if enabled:
                self.set(**{f"{name}_read_data": int.from_bytes(data[address].tobytes(), "little")})

    async def _tokens(self) -> None:
        while True:
            self.set(l2g_available=1, s2g_available=int(self.random.random() >= self.stall))
            await self.settle()
            self.finished += self.get("finish")
            self.pushes += self.get("g2s_push")
            await self.drive()

    async def execute(self, instructions: Sequence[Instruction]) -> None:
        """Execute instructions and a FINISH, and wait for its end."""
        for instruction in instructions:
            self.reference.step(instruction)
        before = self.finished
        words = [encode(instruction, self.vta) for instruction in (*instructions, Finish())]
        await put(self, "insn", words, pause=self.chance(self.stall))
        for _ in range(20_000):
            if self.finished > before:
                break
            await self.drive()
        assert self.finished == before + 1

    async def check(self, count: int, *, shifts: Sequence[int] = (0, 8, 16, 24)) -> None:
        """Compare the first ``count`` accumulators byte by byte; they are shifted away in doing so."""
        for before, shift in zip((0, *shifts), shifts, strict=False):
            if shift:
                everything = Alu(
                    alu_opcode=AluOpcode.SHR,
                    use_imm=True,
                    imm=shift - before,
                    uop_end=1,
                    iter_out=count,
                    dst_factor_out=1,
                )
                await self.execute([everything])
            expected = pack(self.reference.acc[:count], 8).reshape(count, -1)
            reader = cocotb.start_soon(put(self, "store_read_address", range(count)))
            got = await take(self, "store_read_data", count)
            await reader
            for address in range(count):
                want = int.from_bytes(expected[address].tobytes(), "little")
                assert got[address] == want, f"tile {address} after {shift}: {got[address]:#x}, not {want:#x}"


ORIGIN = MicroOp()
"""The first micro-op of every list: all indices zero, for ``check``."""


@cocotb.test()
async def gemm_multiplies_accumulates_and_clears(dut: Any) -> None:
    bench = ComputeBench(dut)
    choose = bench.random.randrange
    uops = [ORIGIN] + [MicroOp(dst=choose(20), src=choose(8), wgt=choose(8)) for _ in range(12)]
    await bench.begin(uops)
    await bench.execute(
        [
            Gemm(
                uop_bgn=1,
                uop_end=13,
                iter_out=3,
                iter_in=2,
                dst_factor_out=5,
                dst_factor_in=2,
                src_factor_in=3,
                wgt_factor_out=2,
            ),
            Gemm(reset=True, uop_bgn=3, uop_end=5, iter_in=4, dst_factor_in=1),
            Gemm(uop_bgn=5, uop_end=9, iter_out=2, src_factor_out=1),
            Gemm(uop_bgn=4, uop_end=4, iter_out=7),
        ]
    )
    await bench.check(40)


@cocotb.test()
async def gemm_may_use_one_accumulator_in_every_cycle(dut: Any) -> None:
    bench = ComputeBench(dut)
    uops = [ORIGIN, *(MicroOp(dst=dst, src=src, wgt=7 - src) for src, dst in enumerate((2, 2, 2, 3, 2, 3, 4, 2)))]
    await bench.begin(uops)
    await bench.execute(
        [Gemm(uop_bgn=1, uop_end=9, iter_out=5, src_factor_out=1), Gemm(uop_bgn=1, uop_end=2, iter_in=9)]
    )
    await bench.check(8)


@cocotb.test()
async def br_025_four_thousand_micro_ops_are_done_before_what_follows(dut: Any) -> None:
    bench = ComputeBench(dut)
    await bench.begin([ORIGIN, *(MicroOp(dst=i, src=i % 8, wgt=i % 5) for i in range(16))])
    await bench.execute(
        [
            Gemm(uop_bgn=1, uop_end=17, iter_out=16, iter_in=16, dst_factor_out=1),
            Alu(alu_opcode=AluOpcode.MAX, use_imm=True, imm=-5, uop_end=1, iter_in=31, dst_factor_in=1),
        ]
    )
    await bench.check(31)


VALUES = [-7, -1, 0, 1, 7, 100, -100, 2147483647, -2147483648, 3, 4, 5, 6, 8, 9, 10]
IMMEDIATES = (
    *((opcode, -5) for opcode in AluOpcode),
    *((AluOpcode.SHR, count) for count in (3, -3, 31, 32, -40)),
    (AluOpcode.ADD, -1), (AluOpcode.ADD, 32767), (AluOpcode.MAX, -32768),
)  # fmt: skip


@cocotb.test()
async def br_002_immediates_are_signed_in_every_operation(dut: Any) -> None:
    bench = ComputeBench(dut)
    tile = bench.vta.acc_elem_bytes
    lanes = tile // 4
    values = np.array(VALUES, "<i4").reshape(-1, lanes)
    bench.reference.memory[ACC_BASE : ACC_BASE + values.nbytes] = values.view(np.uint8).reshape(-1)
    count = len(values)
    await bench.begin([ORIGIN])
    load = Load(memory=MemoryId.ACC, x_size=count, y_size=1, dram_base=bench.acc_element(ACC_BASE))
    instructions: list[Instruction] = []
    for index, (opcode, imm) in enumerate(IMMEDIATES):
        instructions += [
            replace(load, sram_base=count * (index + 1)),
            Alu(
                alu_opcode=opcode,
                use_imm=True,
                imm=imm,
                uop_end=1,
                iter_out=count * (index + 2),
                iter_in=1,
                dst_factor_out=1,
            ),
        ]
    await bench.execute(instructions)
    await bench.check(count * (len(IMMEDIATES) + 1))


@cocotb.test()
async def alu_combines_two_tensors_in_every_operation(dut: Any) -> None:
    bench = ComputeBench(dut, stall=0.2)
    choose = bench.random.randrange
    uops = [ORIGIN] + [MicroOp(dst=choose(30), src=choose(30)) for _ in range(10)]
    await bench.begin(uops)
    alu = Alu(
        alu_opcode=AluOpcode.MIN,
        uop_bgn=1,
        uop_end=11,
        iter_out=2,
        iter_in=3,
        dst_factor_out=3,
        dst_factor_in=1,
        src_factor_out=1,
        src_factor_in=4,
    )
    alus: list[Instruction] = [replace(alu, alu_opcode=opcode) for opcode in AluOpcode]
    gemm = Gemm(uop_bgn=2, uop_end=8, iter_in=3, dst_factor_in=2)
    pushing = Gemm(uop_bgn=2, uop_end=4, deps=Deps(pop_prev=True, pop_next=True, push_next=True))
    await bench.execute(
        [alus[0], gemm, *alus[1:-1], pushing, alus[-1], Load(memory=MemoryId.UOP, x_size=4, y_size=1), gemm]
    )
    assert bench.pushes == 1
    await bench.check(48)


PADS = ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 2, 0), (0, 0, 0, 2), (1, 1, 1, 1), (2, 1, 1, 2))
"""Above, below, left, right."""


def acc_load(bench: ComputeBench, pads: tuple[int, int, int, int], **fields: int) -> Load:
    """Return a load of accumulators."""
    y0, y1, x0, x1 = pads
    return Load(
        memory=MemoryId.ACC,
        dram_base=bench.acc_element(ACC_BASE) + fields.pop("offset", 0),
        y_pad_0=y0,
        y_pad_1=y1,
        x_pad_0=x0,
        x_pad_1=x1,
        **fields,  # type: ignore[arg-type]  # sizes and addresses alone
    )


def put_pattern(bench: ComputeBench, tiles: int) -> np.ndarray:
    """Write the cases' pattern, k mod 23 - 11, and return it."""
    lanes = bench.vta.acc_elem_bytes // 4
    values = (np.arange(tiles * lanes) % 23 - 11).astype("<i4")
    bench.reference.memory[ACC_BASE : ACC_BASE + values.nbytes] = values.view(np.uint8)
    return values.reshape(tiles, lanes)


@cocotb.test()
async def br_026_accumulator_loads_pad_on_every_side(dut: Any) -> None:
    bench = ComputeBench(dut)
    small = put_pattern(bench, 15).reshape(3, 5, -1)
    await bench.begin([ORIGIN])
    for pads in PADS:
        y0, y1, x0, x1 = pads
        await bench.execute([acc_load(bench, pads, x_size=5, y_size=3, x_stride=5)])
        expected = np.pad(small, ((y0, y1), (x0, x1), (0, 0)))
        count = expected.shape[0] * expected.shape[1]
        np.testing.assert_array_equal(bench.reference.acc[:count].reshape(expected.shape), expected)
        await bench.check(count, shifts=(0, 8))
    await bench.execute([acc_load(bench, (1, 1, 1, 1), x_size=3, y_size=2, x_stride=5, offset=6)])
    expected = np.pad(small[1:3, 1:4], ((1, 1), (1, 1), (0, 0)))
    np.testing.assert_array_equal(bench.reference.acc[:20].reshape(expected.shape), expected)
    await bench.check(20, shifts=(0, 8))


@cocotb.test()
async def br_027_padded_rows_of_several_bursts_are_whole(dut: Any) -> None:
    bench = ComputeBench(dut, stall=0.1)
    large = put_pattern(bench, 21 * 20).reshape(21, 20, -1)
    await bench.begin([ORIGIN])
    await bench.execute([acc_load(bench, (0, 1, 1, 3), x_size=20, y_size=21, x_stride=20)])
    expected = np.pad(large, ((0, 1), (1, 3), (0, 0)))
    np.testing.assert_array_equal(bench.reference.acc[:528].reshape(expected.shape), expected)
    await bench.check(528, shifts=(0, 8))


@cocotb.test()
async def br_030_an_accumulator_load_over_page_lines_is_split_there(dut: Any) -> None:
    bench = ComputeBench(dut)
    await bench.begin([ORIGIN])
    bench.acc_dram.bursts.clear()
    first = 4032 // bench.vta.acc_elem_bytes
    count = 70 * 64 // bench.vta.acc_elem_bytes
    await bench.execute([Load(memory=MemoryId.ACC, x_size=count, y_size=1, dram_base=first)])
    beat = bench.given["data_width"] // 8
    assert sum(beats for _, beats in bench.acc_dram.bursts) * beat == 70 * 64
    ends = {address + beats * beat for address, beats in bench.acc_dram.bursts}
    assert {4096, 8192} <= ends
    await bench.check(count, shifts=(0,))


@cocotb.test()
async def bytes_are_widened_with_their_sign(dut: Any) -> None:
    bench = ComputeBench(dut)
    await bench.begin([ORIGIN])
    base = ACC8_BASE // bench.vta.elem_bytes(MemoryId.ACC_8BIT)
    load = Load(memory=MemoryId.ACC_8BIT, x_size=5, y_size=3, x_stride=9, dram_base=base, x_pad_0=1, y_pad_1=1)
    await bench.execute([load])
    await bench.check(24)
