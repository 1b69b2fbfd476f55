import itertools
import random

import numpy as np
import pytest

from hw.accounting import Cause
from hw.config import HardwareConfig
from hw.load import LoadStage
from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Deps, Load, MemoryId
from isa.reference import Reference
from tests.support.axi_dram import AxiDram
from tests.support.hw_streams import put, run_benches
from tests.support.module_rig import WithMemory

SMALL = VTAConfig(log_block=2, log_inp_buff_size=8, log_wgt_buff_size=9, log_acc_buff_size=10, log_uop_buff_size=8)
NARROW = VTAConfig(
    log_inp_width=1,
    log_wgt_width=2,
    log_block_in=4,
    log_block_out=3,
    log_inp_buff_size=8,
    log_wgt_buff_size=12,
    log_acc_buff_size=10,
    log_uop_buff_size=8,
)
BASE = 4096 - 64
DRAM = 1 << 14


def random_loads(generator, config, count):
    loads = []
    for _ in range(count):
        memory = generator.choice([MemoryId.INP, MemoryId.WGT])
        pads = {name: generator.choice([0, 0, 0, 1, 2]) for name in ("x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1")}
        x_size, y_size = generator.randrange(0, 4), generator.randrange(0, 4)
        width = pads["x_pad_0"] + pads["x_pad_1"] + x_size
        height = pads["y_pad_0"] + pads["y_pad_1"] + y_size
        if width * height > config.depth(memory):
            continue
        loads.append(
            Load(
                memory=memory,
                sram_base=generator.randrange(config.depth(memory) - width * height + 1),
                dram_base=generator.randrange(40),
                x_size=x_size,
                y_size=y_size,
                x_stride=generator.randrange(0, 9),
                **pads,
                deps=Deps(pop_next=generator.random() < 0.3, push_next=generator.random() < 0.5),
            )
        )
    return loads


def scratchpads(config, loads, memory):
    """Return what the reference has in INP and WGT after the loads, as bytes of each element."""
    machine = Reference(config, np.frombuffer(bytes(memory), np.uint8)[BASE:].copy())
    for load in loads:
        machine.step(load)
    packed = []
    for values, width in ((machine.inp, config.inp_width), (machine.wgt, config.wgt_width)):
        flat = values.reshape(values.shape[0], -1)
        packed.append([sum((int(v) & ((1 << width) - 1)) << i * width for i, v in enumerate(row)) for row in flat])
    return packed


@pytest.mark.parametrize(("latency", "stall"), [(1, 0.0), (30, 0.0), (4, 0.4)])
@pytest.mark.parametrize(("config", "width"), [(SMALL, 64), (SMALL, 256), (NARROW, 64), (NARROW, 512)])
def test_scratchpads_hold_what_the_reference_loads(config, width, latency, stall):
    generator = random.Random(f"{width} {latency}")
    hardware = HardwareConfig(data_width=width, max_burst_beats=4)
    stage = LoadStage(config, hardware)
    memory = bytearray(generator.randbytes(DRAM))
    dram = AxiDram(memory, latency=latency, stall=stall, seed=2)
    loads = random_loads(generator, config, 40)
    # A write of every element first: the hardware's memories are not cleared in a launch.
    clear = [
        Load(memory=kind, x_size=1, y_size=1, x_pad_1=7, y_pad_1=config.depth(kind) // 8 - 1)
        for kind in (MemoryId.INP, MemoryId.WGT)
    ]
    loads = [*clear, *loads]
    want = scratchpads(config, loads, memory)
    pushes = []

    async def feed(ctx):
        ctx.set(stage.inp_base, BASE)
        ctx.set(stage.wgt_base, BASE)
        await put(ctx, stage.insn, [encode(load, config) for load in loads], seed=4, stall=stall)

    async def tokens(ctx):
        source = random.Random(5)
        while True:
            ctx.set(stage.g2l_available, source.random() < 0.5)
            await ctx.tick()

    async def finish(ctx):
        await ctx.tick()
        while len(pushes) < sum(load.deps.push_next for load in loads) or not ctx.get(stage.idle):
            (push,) = (await ctx.tick().sample(stage.l2g_push))[2:]
            if push:
                pushes.append(1)
        for port, elements in ((stage.inp_read, want[0]), (stage.wgt_read, want[1])):
            ctx.set(port.enable, 1)
            for address, element in enumerate(elements):
                ctx.set(port.address, address)
                await ctx.tick()
                assert ctx.get(port.data) == element, f"element {address}"

    rig = WithMemory(stage, hardware)
    run_benches(rig, feed, finish, background=(dram.bench(rig.axi), tokens))


def run_timed(loads, *, latency):
    """Run unpadded loads with tokens at hand; return the cycles of starts, writes and pushes."""
    hardware = HardwareConfig()
    stage = LoadStage(SMALL, hardware)
    dram = AxiDram(bytearray(DRAM), latency=latency)
    rig = WithMemory(stage, hardware)
    seen = {"start": [], "work": [], "push": []}

    async def feed(ctx):
        ctx.set(stage.g2l_available, 1)
        await put(ctx, stage.insn, [encode(load, SMALL) for load in loads])

    async def watch(ctx):
        cycle = 0
        while len(seen["push"]) < len(loads):
            start, cause, push = (await ctx.tick().sample(stage.start, stage.cause, stage.l2g_push))[2:]
            for name, happened in (("start", start), ("work", cause == Cause.WORK and not start), ("push", push)):
                if happened:
                    seen[name].append(cycle)
            cycle += 1

    run_benches(rig, feed, watch, background=(dram.bench(rig.axi),))
    return seen


@pytest.mark.parametrize("latency", [1, 32])
def test_the_push_comes_beats_latency_and_one_cycle_after_the_start(latency):
    load = Load(memory=MemoryId.WGT, x_size=4, y_size=1, x_stride=4, deps=Deps(push_next=True))
    seen = run_timed([load], latency=latency)
    beats = 4 * SMALL.wgt_elem_bytes // 8
    assert seen["push"][0] - seen["start"][0] == beats + latency + 1


def test_loads_that_follow_each_other_leave_no_gap_between_their_data():
    load = Load(memory=MemoryId.WGT, x_size=4, y_size=2, x_stride=16, deps=Deps(pop_next=True, push_next=True))
    seen = run_timed([load] * 4, latency=20)
    beats = 8 * SMALL.wgt_elem_bytes // 8
    pushes = seen["push"]
    assert [after - before for before, after in itertools.pairwise(pushes)] == [beats] * 3


def test_the_causes_of_waiting_are_told_apart():
    hardware = HardwareConfig()
    stage = LoadStage(SMALL, hardware)
    dram = AxiDram(bytearray(DRAM), latency=10)
    rig = WithMemory(stage, hardware)
    load = Load(memory=MemoryId.INP, x_size=1, y_size=1, deps=Deps(pop_next=True, push_next=True))
    causes = []

    async def feed(ctx):
        await ctx.tick().repeat(3)
        ctx.set(stage.insn.payload, encode(load, SMALL))
        ctx.set(stage.insn.valid, 1)
        await ctx.tick().repeat(4)
        ctx.set(stage.g2l_available, 1)
        await ctx.tick()
        ctx.set(stage.insn.valid, 0)
        await ctx.tick().repeat(20)

    async def watch(ctx):
        for _ in range(25):
            (cause,) = (await ctx.tick().sample(stage.cause))[2:]
            causes.append(Cause(cause))

    run_benches(rig, feed, watch, background=(dram.bench(rig.axi),))
    changes = [cause for place, cause in enumerate(causes) if place == 0 or causes[place - 1] != cause]
    assert changes == [
        Cause.INSTRUCTION,
        Cause.TOKEN_NEXT,
        Cause.WORK,
        Cause.MEMORY,
        Cause.WORK,
        Cause.INSTRUCTION,
    ]
