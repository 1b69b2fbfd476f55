"""A bench to copy: drive, settle, look, compare with a model; one clock cycle for each turn of the loop."""

from typing import Any

import cocotb

from tests.support.benches.cocotb_bench import Bench


@cocotb.test()
async def tokens_are_counted_and_none_is_lost(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    count = 0
    for _ in range(2000):
        push = bench.random.random() < 0.5
        pop = bench.random.random() < 0.48
        clear = bench.random.random() < 0.005
        bench.set(push=push, pop=pop, clear=clear)
        await bench.settle()
        assert bench.get("available") == (count > 0)
        await bench.drive()
        count = 0 if clear else count + push - (pop and count > 0)


@cocotb.test()
async def push_and_pop_in_one_cycle_leave_the_count(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    bench.set(push=1)
    await bench.drive()
    bench.set(pop=1)
    for _ in range(10):
        await bench.settle()
        assert bench.get("available") == 1
        await bench.drive()
    bench.set(push=0)
    await bench.drive()
    bench.set(pop=0)
    await bench.settle()
    assert bench.get("available") == 0
