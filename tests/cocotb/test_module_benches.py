# amaranth: UnusedElaboratable=no
"""Small blocks on their own, as generated Verilog."""

import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from hw.config import HardwareConfig
from hw.fetch import InstructionFetch
from hw.registers import ControlRegisters
from hw.scratchpad import Scratchpad
from hw.token_queue import TokenQueue
from isa.config import VTAConfig
from tests.support.cocotb_run import SimulatorName, build, run
from tests.support.hw_streams import run_benches

SIMULATORS = ["icarus", pytest.param("verilator", marks=pytest.mark.long)]

Step = tuple[int, int, int, int, int, int | None]
"""Write enable, address and data; read enable and address; what ``read_data`` is in the next cycle."""

BR_039: list[Step] = [
    *((1, address, 0x10 + address, 0, 0, None) for address in range(4)),
    (1, 2, 0x99, 1, 1, 0x11),
    (1, 3, 0x77, 1, 1, 0x11),
    (0, 0, 0, 1, 3, 0x77),
    (1, 3, 0x66, 1, 3, 0x77),
    (0, 0, 0, 1, 2, 0x99),
    (0, 0, 0, 0, 0, 0x99),
]
"""Reads beside writes of the same and of other addresses; the element that was there before the cycle is read."""


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("drive_on", ["falling", "rising"])
def test_br_044_the_token_queue_bench_passes_on_both_edges_and_simulators(
    tmp_path: Path, drive_on: str, simulator: SimulatorName
) -> None:
    built = build(TokenQueue(), top="token_queue", folder=tmp_path, simulator=simulator)
    run(built, "tests.cocotb.bench_token_queue", drive_on=drive_on)


def amaranth_reads(pad: Scratchpad, steps: list[Step]) -> list[int | None]:
    """Return what Amaranth's simulator gives in the cycle after each step, None before the first read."""
    seen: list[int | None] = []

    async def bench(ctx: Any) -> None:
        read_yet = False
        for write_enable, write_address, write_data, read_enable, read_address, _ in steps:
            ctx.set(pad.write_enable, write_enable)
            ctx.set(pad.write_address, write_address)
            ctx.set(pad.write_data, write_data)
            ctx.set(pad.read_enable, read_enable)
            ctx.set(pad.read_address, read_address)
            await ctx.tick()
            read_yet = read_yet or bool(read_enable)
            seen.append(ctx.get(pad.read_data) if read_yet else None)

    run_benches(pad, bench)
    return seen


def random_steps(seed: int) -> list[Step]:
    """Return random reads and writes of eight addresses, without what they give; every address is written first."""
    generator = random.Random(seed)
    fill: list[Step] = [(1, address, generator.getrandbits(8), 0, 0, None) for address in range(8)]
    return fill + [
        (
            generator.getrandbits(1),
            generator.randrange(8),
            generator.getrandbits(8),
            int(generator.random() < 0.7),
            generator.randrange(8),
            None,
        )
        for _ in range(300)
    ]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_br_039_amaranth_and_verilog_read_the_same_beside_a_write(tmp_path: Path, simulator: SimulatorName) -> None:
    assert amaranth_reads(Scratchpad(depth=4, width=8), BR_039) == [step[-1] for step in BR_039]
    steps = random_steps(39)
    reads = amaranth_reads(Scratchpad(depth=8, width=8), steps)
    filled = [(*step[:-1], read) for step, read in zip(steps, reads, strict=True)]
    built = build(Scratchpad(depth=8, width=8), top="scratchpad", folder=tmp_path, simulator=simulator)
    run(built, "tests.cocotb.bench_scratchpad", steps=BR_039)
    run(built, "tests.cocotb.bench_scratchpad", steps=filled)


@pytest.mark.parametrize("addr_width", [32, 64])
def test_br_034_registers_lie_where_the_table_says(tmp_path: Path, addr_width: int) -> None:
    hardware = HardwareConfig(addr_width=addr_width)
    built = build(ControlRegisters(VTAConfig(), hardware), top="registers", folder=tmp_path)
    run(built, "tests.cocotb.bench_registers", vta=VTAConfig().to_dict(), hardware=asdict(hardware))


@pytest.mark.parametrize("data_width", [64, 256])
def test_br_047_fetch_loses_no_instruction_when_memory_and_queues_pause(tmp_path: Path, data_width: int) -> None:
    vta = VTAConfig(log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11)
    hardware = HardwareConfig(data_width=data_width)
    built = build(InstructionFetch(vta, hardware), top="fetch", folder=tmp_path)
    run(built, "tests.cocotb.bench_fetch", vta=vta.to_dict(), **asdict(hardware))
