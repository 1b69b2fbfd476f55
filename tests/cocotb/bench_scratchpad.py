"""A scratchpad: the rule of a read and a write of one address in one cycle."""

from typing import Any

import cocotb

from tests.support.benches.cocotb_bench import Bench


@cocotb.test()
async def br_039_a_read_gives_what_was_there_before_the_cycle(dut: Any) -> None:
    """Every step (writes, reads, what a read gives) comes from a run in Amaranth's simulator."""
    bench = Bench(dut)
    await bench.start()
    before: int | None = None
    for write_enable, write_address, write_data, read_enable, read_address, expected in bench.given["steps"]:
        bench.set(
            write_enable=write_enable,
            write_address=write_address,
            write_data=write_data,
            read_enable=read_enable,
            read_address=read_address,
        )
        await bench.settle()
        if before is not None:
            assert bench.get("read_data") == before
        await bench.drive()
        before = expected
