import itertools
import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from hw.sim import compile_design
from hw.store import StoreStage
from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Deps, Store
from isa.machine.causes import Cause
from isa.machine.hardware_config import HardwareConfig
from isa.reference import Reference, pack
from tests.support.hw.high_cycles import cycles_high
from tests.support.hw.stage_rig import STORE, StageRig

SMALL = VTAConfig(log_block=3, log_inp_buff_size=8, log_wgt_buff_size=9, log_acc_buff_size=10, log_uop_buff_size=8)
WIDE = VTAConfig(log_block=4, log_inp_buff_size=8, log_wgt_buff_size=11, log_acc_buff_size=11, log_uop_buff_size=8)
NARROW = VTAConfig(
    log_inp_width=0,
    log_wgt_width=2,
    log_block_in=4,
    log_block_out=3,
    log_inp_buff_size=8,
    log_wgt_buff_size=12,
    log_acc_buff_size=10,
    log_uop_buff_size=8,
)
BASE = 4096 - 64
DRAM = 1 << 13


def random_stores(generator: random.Random, config: VTAConfig, count: int) -> Any:
    stores = []
    for _ in range(count):
        x_size, y_size = generator.randrange(0, 7), generator.randrange(0, 4)
        stores.append(
            Store(
                sram_base=generator.randrange(config.acc_depth - x_size * y_size + 1),
                dram_base=generator.randrange(60),
                x_size=x_size,
                y_size=y_size,
                x_stride=generator.randrange(0, 9),
                deps=Deps(pop_prev=generator.random() < 0.3, push_prev=generator.random() < 0.5),
            )
        )
    return stores


def machine_of(config: VTAConfig, memory: bytearray) -> Any:
    machine = Reference(config, np.frombuffer(bytes(memory), np.uint8)[BASE:].copy())
    machine.acc[:] = np.random.default_rng(1).integers(-(1 << 31), 1 << 31, machine.acc.shape)
    return machine


async def serve_tiles(ctx: Any, stage: StoreStage, tiles: list[int], *, seed: int, stall: float) -> None:
    """Answer each address with its tile, two cycles later at the earliest."""
    source = random.Random(seed)
    waiting: list[Any] = []
    while True:
        ctx.set(stage.tiles.address.ready, len(waiting) < 4 and source.random() >= stall)
        ctx.set(stage.tiles.data.valid, bool(waiting) and waiting[0][0] <= 0)
        if waiting:
            ctx.set(stage.tiles.data.payload, tiles[waiting[0][1]])
        port = stage.tiles
        asked, ready, address, valid, taken = (
            await ctx.tick().sample(
                port.address.valid, port.address.ready, port.address.payload, port.data.valid, port.data.ready
            )
        )[2:]
        if valid and taken:
            waiting.pop(0)
        waiting = [(due - 1, place) for due, place in waiting]
        if asked and ready:
            waiting.append((1, address))


@pytest.mark.parametrize(("latency", "stall"), [(1, 0.0), (30, 0.0), (4, 0.4)])
@pytest.mark.parametrize(
    ("config", "width"), [(SMALL, 64), (SMALL, 256), (WIDE, 64), (WIDE, 512), (NARROW, 64), (NARROW, 128)]
)
def test_memory_holds_what_the_reference_stores_and_no_other_byte_changes(
    config: VTAConfig, width: int, latency: int, stall: float
) -> None:
    generator = random.Random(f"{width} {latency}")
    hardware = HardwareConfig(data_width=width, max_burst_beats=4, write_bursts=8)
    stage = StoreStage(config, hardware)
    memory = bytearray(generator.randbytes(DRAM))
    stores = random_stores(generator, config, 40)
    machine = machine_of(config, memory)
    packed = pack(machine.acc, config.out_width).reshape(config.acc_depth, -1)
    tiles = [int.from_bytes(row.tobytes(), "little") for row in packed]
    for store in stores:
        machine.step(store)
    want = bytes(memory[:BASE]) + machine.memory.tobytes()

    async def serve(ctx: Any) -> None:
        await serve_tiles(ctx, stage, tiles, seed=6, stall=stall)

    rig = StageRig(stage, STORE, hardware, memory, base=BASE, latency=latency, stall=stall, seed=2)
    words = [encode(store, config) for store in stores]
    pushes = sum(store.deps.push_prev for store in stores)
    seen = rig.run(words, pushes=pushes, stall=stall, tokens=0.5, background=[serve])
    assert memory == want
    assert len(seen.pushes) == pushes


def timed_rig(*, latency: int) -> tuple[Any, ...]:
    """Return a rig of the wide configuration, and what serves tiles of zeros to it."""
    hardware = HardwareConfig()
    stage = StoreStage(WIDE, hardware)

    async def serve(ctx: Any) -> None:
        await serve_tiles(ctx, stage, [0] * WIDE.acc_depth, seed=1, stall=0.0)

    return StageRig(stage, STORE, hardware, bytearray(DRAM), latency=latency), serve


def run_timed(stores: list[Store], *, latency: int) -> Any:
    """Run stores that all push, with tokens and tiles at hand."""
    rig, serve = timed_rig(latency=latency)
    return rig.run([encode(store, WIDE) for store in stores], pushes=len(stores), background=[serve])


@pytest.mark.parametrize("latency", [1, 40])
def test_the_push_comes_beats_latency_and_three_cycles_after_the_start(latency: int) -> None:
    seen = run_timed([Store(x_size=8, y_size=1, x_stride=8, deps=Deps(push_prev=True))], latency=latency)
    assert seen.pushes[0] - seen.starts[0] == 8 * 2 + latency + 3


def test_stores_do_not_wait_for_the_responses_of_those_before() -> None:
    store = Store(x_size=4, y_size=2, x_stride=5, deps=Deps(pop_prev=True, push_prev=True))
    seen = run_timed([store] * 4, latency=50)
    assert [after - before for before, after in itertools.pairwise(seen.pushes)] == [16] * 3


def test_a_store_without_work_pushes_behind_those_before_it() -> None:
    work = Store(x_size=2, y_size=1, x_stride=2, deps=Deps(push_prev=True))
    nothing = Store(x_size=0, y_size=1, deps=Deps(push_prev=True))
    seen = run_timed([work, nothing, nothing], latency=30)
    assert seen.pushes[1] == seen.pushes[0] + 1
    assert seen.pushes[2] == seen.pushes[0] + 2
    assert seen.starts[2] < seen.pushes[0]


def test_the_causes_of_waiting_are_told_apart() -> None:
    store = Store(x_size=1, y_size=1, deps=Deps(pop_prev=True, push_prev=True))
    rig, serve = timed_rig(latency=10)
    causes = rig.causes(encode(store, WIDE), background=[serve])
    assert set(causes) == {Cause.INSTRUCTION, Cause.TOKEN_PREV, Cause.WORK, Cause.HAZARD, Cause.MEMORY}
    assert causes[0] == causes[-1] == Cause.INSTRUCTION


@cache
def _limited() -> StoreStage:
    return StoreStage(SMALL, HardwareConfig(store_jobs=3, write_bursts=5, max_burst_beats=4))


def _offering(store: Store, *ready: str) -> Any:
    """Return the module with an instruction that is offered all the time, and with what else is ready."""
    design = compile_design(_limited())
    design.poke("insn__valid", 1)
    design.poke("insn__payload", encode(store, SMALL))
    for name in ready:
        design.poke(name, 1)
    return design


def test_as_many_stores_begin_as_are_asked_for_and_one_more_is_being_packed() -> None:
    store = Store(x_size=1, y_size=1)
    design = _offering(store, "mem__cmd__ready", "tiles__address__ready")
    assert cycles_high(design, "start", 30) == 4


def test_no_more_bursts_wait_for_their_responses_than_are_listed() -> None:
    """As many as the memory engine lets out, and two."""
    store = Store(x_size=16, y_size=4, x_stride=16, deps=Deps(push_prev=True))
    design = _offering(store, "mem__cmd__ready", "tiles__address__ready", "tiles__data__valid", "mem__data__ready")
    assert cycles_high(design, "mem__cmd__valid", 60) == 5 + 2
    design.poke("mem__done", 1)
    assert cycles_high(design, "mem__cmd__valid", 20) == 18  # two cycles without one between two stores
    assert not design.peek("idle")


def test_instructions_without_work_push_one_every_other_cycle() -> None:
    """Also while responses come for nothing, which are kept for the bursts that are asked for later."""
    design = _offering(Store(x_size=0, y_size=1, deps=Deps(push_prev=True)))
    design.step(2)
    for cycle in range(10):
        starts = cycle % 2
        assert (design.peek("start"), design.peek("s2g_push"), design.peek("completed")) == (
            starts,
            1 - starts,
            1 - starts,
        )
        assert not design.peek("mem__cmd__valid")
        design.step()


@pytest.mark.parametrize(("x_size", "y_size"), [(65535, 1), (65535, 2), (1, 65535)])
def test_the_longest_rows_and_the_most_are_stored_to_their_ends(x_size: int, y_size: int) -> None:
    store = Store(x_size=x_size, y_size=y_size, x_stride=65535, sram_base=3)
    design = _offering(store, "mem__cmd__ready", "tiles__address__ready", "mem__done")
    design.poke("out_base", 1 << 20)
    design.step(2)
    design.poke("insn__valid", 0)
    size = SMALL.out_elem_bytes
    rows = [(row * 65535 * size, (row * 65535 + x_size) * size) for row in range(y_size)]
    bursts = sum(-(-end // 32) - begin // 32 for begin, end in rows)
    design.step(bursts - 1)
    assert design.peek("mem__cmd__valid")
    beats, begin = divmod(design.peek("mem__cmd__payload"), 1 << 32)
    assert begin + 8 * beats == ((1 << 20) + rows[-1][1]) % (1 << 32)
    design.step()
    assert not design.peek("mem__cmd__valid")
    design = _offering(store, "mem__cmd__ready", "tiles__address__ready", "mem__done")
    design.step(1 + x_size * y_size)
    assert design.peek("tiles__address__valid")
    assert design.peek("tiles__address__payload") == (3 + x_size * y_size - 1) % SMALL.acc_depth
