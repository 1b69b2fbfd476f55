# amaranth: UnusedElaboratable=no
"""Small blocks on their own, as generated Verilog."""

import random
from pathlib import Path
from typing import Any

import pytest

from hw.scratchpad import Scratchpad
from isa.machine.hardware_config import HardwareConfig
from tests.support.benches.cocotb_run import SimulatorName, build, run
from tests.support.benches.cocotb_suite import SCRATCHPAD_STEPS, Step, build_for
from tests.support.hw.hw_streams import run_benches

SIMULATORS = ["icarus", pytest.param("verilator", marks=pytest.mark.long)]


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
    assert amaranth_reads(Scratchpad(depth=4, width=8), SCRATCHPAD_STEPS) == [step[-1] for step in SCRATCHPAD_STEPS]
    steps = random_steps(39)
    reads = amaranth_reads(Scratchpad(depth=8, width=8), steps)
    filled = [(*step[:-1], read) for step, read in zip(steps, reads, strict=True)]
    built = build(Scratchpad(depth=8, width=8), top="scratchpad", folder=tmp_path, simulator=simulator)
    run(built, "tests.cocotb.bench_scratchpad", steps=SCRATCHPAD_STEPS)
    run(built, "tests.cocotb.bench_scratchpad", steps=filled)


@pytest.mark.parametrize("addr_width", [32, 64])
def test_br_034_registers_lie_where_the_table_says(tmp_path: Path, addr_width: int) -> None:
    built, bench = build_for("registers", tmp_path, hardware=HardwareConfig(addr_width=addr_width))
    run(built, bench)


@pytest.mark.parametrize("data_width", [64, 256])
def test_br_047_fetch_loses_no_instruction_when_memory_and_queues_pause(tmp_path: Path, data_width: int) -> None:
    built, bench = build_for("fetch", tmp_path, hardware=HardwareConfig(data_width=data_width))
    run(built, bench)
