import itertools
import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from hw.load import LoadStage
from hw.sim import compile_design
from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Deps, Load, MemoryId
from isa.machine.causes import Cause
from isa.machine.hardware_config import HardwareConfig
from isa.reference import Reference
from tests.support.hw.high_cycles import cycles_high
from tests.support.hw.stage_rig import LOAD, StageRig

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


def random_loads(generator: random.Random, config: VTAConfig, count: int) -> Any:
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


def scratchpads(config: VTAConfig, loads: list[Load], memory: bytearray) -> Any:
    """Return what the reference has in INP and WGT after the loads, as bytes of each element."""
    machine = Reference(config, np.frombuffer(bytes(memory), np.uint8)[BASE:].copy())
    for load in loads:
        machine.step(load)
    packed = []
    for values, width in ((machine.inp, config.inp_width), (machine.wgt, config.wgt_width)):
        flat = values.reshape(values.shape[0], -1)
        packed.append([sum((int(v) & ((1 << width) - 1)) << i * width for i, v in enumerate(row)) for row in flat])
    return packed


def clearing(config: VTAConfig) -> list[Any]:
    """Return loads that write every element: the hardware's memories are not cleared in a launch."""
    return [
        Load(memory=kind, x_size=1, y_size=1, x_pad_1=7, y_pad_1=config.depth(kind) // 8 - 1)
        for kind in (MemoryId.INP, MemoryId.WGT)
    ]


@pytest.mark.parametrize(("latency", "stall"), [(1, 0.0), (30, 0.0), (4, 0.4)])
@pytest.mark.parametrize(("config", "width"), [(SMALL, 64), (SMALL, 256), (NARROW, 64), (NARROW, 512)])
def test_scratchpads_hold_what_the_reference_loads(config: VTAConfig, width: int, latency: int, stall: float) -> None:
    generator = random.Random(f"{width} {latency}")
    hardware = HardwareConfig(data_width=width, max_burst_beats=4)
    stage = LoadStage(config, hardware)
    memory = bytearray(generator.randbytes(DRAM))
    loads = [*clearing(config), *random_loads(generator, config, 40)]
    want = scratchpads(config, loads, memory)

    async def compare(ctx: Any) -> None:
        for port, elements in ((stage.inp_read, want[0]), (stage.wgt_read, want[1])):
            ctx.set(port.enable, 1)
            for address, element in enumerate(elements):
                ctx.set(port.address, address)
                await ctx.tick()
                assert ctx.get(port.data) == element, f"element {address}"

    rig = StageRig(stage, LOAD, hardware, memory, base=BASE, latency=latency, stall=stall, seed=2)
    words = [encode(load, config) for load in loads]
    pushes = sum(load.deps.push_next for load in loads)
    seen = rig.run(words, pushes=pushes, stall=stall, tokens=0.5, then=compare)
    assert len(seen.pushes) == pushes


def run_timed(loads: list[Load], *, latency: int) -> Any:
    """Run loads that all push, with tokens at hand."""
    hardware = HardwareConfig()
    rig = StageRig(LoadStage(SMALL, hardware), LOAD, hardware, bytearray(DRAM), latency=latency)
    return rig.run([encode(load, SMALL) for load in loads], pushes=len(loads))


@pytest.mark.parametrize("latency", [2, 32])  # at 1, beats come before they are awaited: no link is in front
def test_the_push_comes_beats_and_latency_after_the_start(latency: int) -> None:
    load = Load(memory=MemoryId.WGT, x_size=4, y_size=1, x_stride=4, deps=Deps(push_next=True))
    seen = run_timed([load], latency=latency)
    beats = 4 * SMALL.wgt_elem_bytes // 8
    assert seen.pushes[0] - seen.starts[0] == beats + latency


def test_loads_that_follow_each_other_leave_no_gap_between_their_data() -> None:
    load = Load(memory=MemoryId.WGT, x_size=4, y_size=2, x_stride=16, deps=Deps(pop_next=True, push_next=True))
    seen = run_timed([load] * 4, latency=20)
    beats = 8 * SMALL.wgt_elem_bytes // 8
    assert [after - before for before, after in itertools.pairwise(seen.pushes)] == [beats] * 3


def test_zeros_of_one_memory_are_written_beside_the_data_of_the_other_and_pushes_stay_in_order() -> None:
    push = Deps(push_next=True)
    inputs = Load(memory=MemoryId.INP, x_size=1, y_size=1, x_pad_0=7, y_pad_0=7, deps=push)
    weights = Load(memory=MemoryId.WGT, sram_base=0, x_size=24, y_size=1, deps=push)
    zeros, beats = 8 * 8 - 1, 24 * SMALL.wgt_elem_bytes // 8
    for order in ([inputs, weights], [weights, inputs]):
        seen = run_timed(order, latency=1)
        assert len(seen.pushes) == 2
        assert seen.pushes[1] - seen.starts[0] < max(zeros, beats) + 12


def test_the_causes_of_waiting_are_told_apart() -> None:
    hardware = HardwareConfig()
    load = Load(memory=MemoryId.INP, x_size=1, y_size=1, deps=Deps(pop_next=True, push_next=True))
    rig = StageRig(LoadStage(SMALL, hardware), LOAD, hardware, bytearray(DRAM), latency=10)
    causes = rig.causes(encode(load, SMALL))
    changes = [cause for place, cause in enumerate(causes) if place == 0 or causes[place - 1] != cause]
    assert changes == [
        Cause.INSTRUCTION,
        Cause.TOKEN_NEXT,
        Cause.WORK,
        Cause.MEMORY,
        Cause.WORK,
        Cause.INSTRUCTION,
    ]


@cache
def _stage() -> LoadStage:
    return LoadStage(SMALL, HardwareConfig(load_jobs=3))


def _offering(load: Load) -> Any:
    """Return the module with an instruction that is offered all the time, and a memory that takes every command."""
    design = compile_design(_stage())
    design.poke("insn__valid", 1)
    design.poke("insn__payload", encode(load, SMALL))
    design.poke("mem__cmd__ready", 1)
    return design


BYTES = {MemoryId.INP: SMALL.inp_elem_bytes, MemoryId.WGT: SMALL.wgt_elem_bytes}


@pytest.mark.parametrize("memory", BYTES)
def test_as_many_instructions_wait_for_their_data_as_are_asked_for(memory: MemoryId) -> None:
    design = _offering(Load(memory=memory, x_size=2, y_size=1, deps=Deps(push_next=True)))
    assert cycles_high(design, "start", 20) == 3
    design.poke("insn__valid", 0)
    assert not design.peek("idle")
    design.poke("mem__data__valid", 1)
    assert cycles_high(design, "l2g_push", 40) == 3
    assert (design.peek("mem__data__ready"), design.peek("idle"), design.peek("cause")) == (0, 1, Cause.INSTRUCTION)


@pytest.mark.parametrize("memory", BYTES)
def test_the_longest_rows_are_asked_for_to_their_ends(memory: MemoryId) -> None:
    design = _offering(Load(memory=memory, x_size=65535, x_stride=65535, y_size=2))
    bases = {MemoryId.INP: 1 << 20, MemoryId.WGT: 1 << 21}
    for name, base in zip(("inp_base", "wgt_base"), bases.values(), strict=True):
        design.poke(name, base)
    design.step()
    design.poke("insn__valid", 0)
    asked: list[tuple[int, int]] = []
    row = 65535 * BYTES[memory]
    for _ in range(2 * row // 512 + 20):
        if design.peek("mem__cmd__valid"):
            beats, begin = divmod(design.peek("mem__cmd__payload"), 1 << 32)
            asked.append((begin - bases[memory], begin - bases[memory] + 8 * beats))
        design.step()
    gaps = [(end, begin) for (_, end), (begin, _) in itertools.pairwise(asked) if begin != end]
    assert (asked[0][0], asked[-1][1]) == (0, -(-2 * row // 8) * 8)
    assert gaps == ([(-(-row // 8) * 8, row // 8 * 8)] if row % 8 else [])  # both rows take the beat that they share
