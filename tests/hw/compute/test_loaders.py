# amaranth: UnusedElaboratable=no
"""Loads of micro-ops and accumulators, each alone, with memory and write ports that stall at random."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from hw.accumulator import bank_bits
from hw.compute.acc_loader import AccLoader
from hw.compute.uop_loader import UopLoader, beats_may_wait
from hw.compute.uop_memory import UopMemory
from hw.sim import compile_design
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from hw.sim.run.design import CompiledDesign
from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Load, MemoryId
from isa.machine.hardware_config import HardwareConfig
from isa.reference import Reference, pack
from tests.support.hw.accumulator_places import bank
from tests.support.hw.accumulator_places import place as place_of_tile
from tests.support.hw.compute_rig import COMPUTE_CONFIGS, MemoryPort, Stalls
from tests.support.turns import few

MEMORY = np.random.default_rng(0).bytes(1 << 15)


def _uop_loads(rng: np.random.Generator, config: VTAConfig) -> Iterator[Any]:
    for _ in range(12):
        count = int(rng.integers(1, 20))
        base = int(rng.integers(config.uop_depth - count + 1))
        yield Load(memory=MemoryId.UOP, sram_base=base, dram_base=int(rng.integers(4000)), y_size=1, x_size=count)


def _acc_loads(rng: np.random.Generator, config: VTAConfig) -> Iterator[Any]:
    memories = [MemoryId.ACC, MemoryId.ACC_8BIT] if config.inp_width == 8 else [MemoryId.ACC]
    for _ in range(14):
        x_size, y_size = (int(n) for n in rng.integers(1, 4, 2))
        pads = [int(n) * (rng.random() < 0.5) for n in rng.integers(0, 3, 4)]
        count = (x_size + pads[0] + pads[1]) * (y_size + pads[2] + pads[3])
        if count > config.acc_depth:
            pads, count = [0] * 4, x_size * y_size
        if count > config.acc_depth:
            x_size, y_size, count = 1, 1, 1
        yield Load(
            memory=memories[int(rng.integers(len(memories)))],
            sram_base=int(rng.integers(config.acc_depth - count + 1)),
            dram_base=int(rng.integers(200)),
            x_size=x_size,
            y_size=y_size,
            x_stride=int(rng.integers(9)),
            x_pad_0=pads[0],
            x_pad_1=pads[1],
            y_pad_0=pads[2],
            y_pad_1=pads[3],
        )


def _tiles(load: Load) -> Any:
    return (load.x_pad_0 + load.x_size + load.x_pad_1) * (load.y_pad_0 + load.y_size + load.y_pad_1)


def _run(
    design: CompiledDesign,
    loads: list[Load],
    config: VTAConfig,
    stalls: Stalls,
    rng: np.random.Generator,
    take: Callable[..., Any],
    *,
    beat_bytes: int = 8,
) -> tuple[Any, ...]:
    """Feed jobs; ``take()`` looks at the write of a cycle. Return the tags of completions, in order, and the cycles."""
    port = MemoryPort(design, "dma", MEMORY, beat_bytes)
    jobs = deque((encode(load, config) | index << 128) for index, load in enumerate(loads))
    due = np.cumsum([_tiles(load) for load in loads]).tolist()
    tags: list[int] = []
    cycle, writes = 0, 0
    while len(tags) < len(loads):
        assert cycle < 20_000
        design.poke("job__valid", int(bool(jobs)))
        if jobs:
            design.poke("job__payload", jobs[0])
        port.drive(rng, stalls, cycle)
        writes += take()
        if jobs and design.peek("job__ready"):
            jobs.popleft()
        port.sample(stalls, cycle)
        done = design.peek("done")
        if done >> 4:
            assert due[len(tags)] <= writes <= due[len(tags)] + 1
            tags.append(done & 15)
        design.step()
        cycle += 1
    return tags, cycle


@pytest.mark.parametrize("data_width", [64, 256])
@pytest.mark.parametrize("stalls", [Stalls(), Stalls(memory=50, latency=20)])
def test_micro_ops_are_copied_flat(data_width: int, stalls: Stalls) -> None:
    config = COMPUTE_CONFIGS["block4"]
    hardware = HardwareConfig(data_width=data_width)
    rng = np.random.default_rng(data_width)
    design = compile_design(UopLoader(config, hardware))
    loads = list(_uop_loads(rng, config))
    reference = Reference(config, np.frombuffer(MEMORY, np.uint8).copy())
    contents = reference.uop.copy()
    waited = False

    def take() -> Any:
        nonlocal waited
        waited |= design.peek("dma__data__valid") > design.peek("dma__data__ready")
        enabled, address, pair = (design.peek(f"write_{name}") for name in ("enable", "address", "data"))
        for place in range(2):
            if enabled >> place & 1:
                contents[(address + place) % config.uop_depth] = pair >> 32 * place & 0xFFFFFFFF
        return enabled.bit_count()

    tags, _ = _run(design, loads, config, stalls, rng, take, beat_bytes=data_width // 8)
    for load in loads:
        reference.step(load)
    assert tags == list(range(len(loads)))
    np.testing.assert_array_equal(contents, reference.uop)
    assert waited == beats_may_wait(hardware)


def test_a_load_of_micro_ops_takes_one_cycle_for_two() -> None:
    config = COMPUTE_CONFIGS["block4"]
    design = compile_design(UopLoader(config, HardwareConfig()))
    load = Load(memory=MemoryId.UOP, y_size=1, x_size=8)
    rng = np.random.default_rng(1)
    cycles = {
        count: _run(
            design,
            [replace(load, x_size=count)] * 6,
            config,
            Stalls(),
            rng,
            lambda: design.peek("write_enable").bit_count(),
        )[1]
        for count in (16, 32)
    }
    assert cycles[32] - cycles[16] == 6 * 16 // 2


@pytest.mark.parametrize("width", [1, 3])
def test_every_reader_of_the_micro_op_memory_sees_the_pairs_that_are_written(width: int) -> None:
    depth = 1 << width
    design = compile_design(UopMemory(address_width=width, readers=2))
    rng = np.random.default_rng(width)
    contents = [0] * depth
    for number in range(60):
        enable, address = int(rng.integers(4)), number % depth
        first, second = (int(value) for value in rng.integers(1 << 32, size=2))
        design.poke("write_enable", enable)
        design.poke("write_address", address)
        design.poke("write_data", first | second << 32)
        at = [int(place) for place in rng.integers(depth, size=2)]
        expected = [contents[place] for place in at]
        design.poke("read_enable", 3)
        design.poke("read_address", at[0] | at[1] << width)
        for place, value in enumerate((first, second)):
            if enable >> place & 1:
                contents[(address + place) % depth] = value
        design.step()
        assert design.peek("read_data") == expected[0] | expected[1] << 32
        design.poke("read_enable", 0)
        design.poke("read_address", (at[0] ^ 1) | (at[1] ^ 1) << width)
        design.poke("write_enable", 0)
        design.step()
        assert design.peek("read_data") == expected[0] | expected[1] << 32


@pytest.mark.parametrize(
    ("address_width", "readers", "text"),
    [
        (0, 1, r"^UopMemory needs addresses of at least one bit, not 0$"),
        (3, 0, r"^UopMemory needs at least one reader, not 0$"),
    ],
)
def test_the_micro_op_memory_has_two_places_and_a_reader(address_width: int, readers: int, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        UopMemory(address_width=address_width, readers=readers)


@pytest.mark.parametrize("name", few(COMPUTE_CONFIGS))
@pytest.mark.parametrize("data_width", [64, 512])
@pytest.mark.parametrize("refuse", [0, 60])
def test_accumulators_are_loaded_with_their_zeros(name: str, data_width: int, refuse: int) -> None:
    config = COMPUTE_CONFIGS[name]
    hardware = HardwareConfig(data_width=data_width)
    rng = np.random.default_rng(data_width + refuse)
    design = compile_design(AccLoader(config, hardware))
    loads = list(_acc_loads(rng, config))
    reference = Reference(config, np.frombuffer(MEMORY, np.uint8).copy())
    contents = [0] * config.acc_depth

    def take() -> Any:
        taken, banks = design.peek("taken"), 1 << bank_bits(config.log_acc_depth)
        design.poke("taken", sum(int(rng.integers(100) < refuse) << index for index in range(banks)))
        address = design.peek("address")
        assert design.peek("banks") in (0, 1 << bank(address, config.log_acc_depth))
        assert design.peek("tile_banks") in (0, design.peek("banks"))
        if not design.peek("banks") & ~taken:
            return False
        data = design.peek("data") if design.peek("tile_banks") else 0
        contents[place_of_tile(address, config.log_acc_depth)] = data
        return True

    tags, _ = _run(
        design,
        loads,
        config,
        Stalls(memory=refuse // 2, latency=1 + refuse // 4),
        rng,
        take,
        beat_bytes=data_width // 8,
    )
    for load in loads:
        reference.step(load)
    packed = pack(reference.acc, config.acc_width).reshape(config.acc_depth, -1)
    assert tags == list(range(len(loads)))
    assert contents == [int.from_bytes(row.tobytes(), "little") for row in packed]


@cache
def _loader(narrow: bool) -> tuple[Any, CompiledDesign]:
    """Return a loader of micro-ops, or one of accumulators, and its configuration."""
    config = COMPUTE_CONFIGS["block4"]
    hardware = HardwareConfig(max_burst_beats=8)
    return config, compile_design(UopLoader(config, hardware) if narrow else AccLoader(config, hardware))


def _job(loader: tuple[Any, CompiledDesign], load: Load) -> CompiledDesign:
    """Return the design with a job that is offered all the time, and a memory that takes every command."""
    config, design = loader
    design.reset()
    design.poke("job__valid", 1)
    design.poke("job__payload", encode(load, config))
    design.poke("dma__cmd__ready", 1)
    design.poke("base", 1 << 20)
    return design


LOADS = {memory: Load(memory=memory, x_size=1, y_size=1) for memory in (MemoryId.UOP, MemoryId.ACC, MemoryId.ACC_8BIT)}


@pytest.mark.parametrize("memory", LOADS)
def test_four_jobs_are_asked_for_while_one_waits_for_its_data(memory: MemoryId) -> None:
    design = _job(_loader(memory == MemoryId.UOP), LOADS[memory])
    taken = 0
    for _ in range(30):
        taken += design.peek("job__ready")
        design.step()
    assert taken == 4 + 1


@pytest.mark.parametrize("memory", LOADS)
@pytest.mark.parametrize(("x_size", "y_size"), [(65535, 1), (5, 3), (1, 65535)])
def test_rows_are_asked_for_to_their_ends(memory: MemoryId, x_size: int, y_size: int) -> None:
    """From where the job says, and as far apart: to the last byte of the last row."""
    config, _ = loader = _loader(memory == MemoryId.UOP)
    size = {MemoryId.UOP: 4, MemoryId.ACC: config.acc_elem_bytes, MemoryId.ACC_8BIT: config.acc_elem_bytes // 4}[memory]
    if memory == MemoryId.UOP:
        y_size = 1
    design = _job(loader, replace(LOADS[memory], dram_base=3, x_size=x_size, y_size=y_size, x_stride=7))
    design.step()
    design.poke("job__valid", 0)
    rows = [(row * 7 * size + 3 * size, (row * 7 + x_size + 3) * size) for row in range(y_size)]
    design.step()  # the request is in its register
    design.step(sum(-(-end // 64) - begin // 64 for begin, end in rows) - 1)
    assert design.peek("dma__cmd__valid")
    beats, begin = divmod(design.peek("dma__cmd__payload"), 1 << 32)
    end = (1 << 20) + rows[-1][1]
    assert begin + 8 * beats == end + -end % 8
    design.step()
    assert not design.peek("dma__cmd__valid")


@pytest.mark.parametrize(("base", "count"), [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (0, 3)])
def test_a_pair_is_written_but_for_what_is_not_of_the_job(base: int, count: int) -> None:
    """A beat has two micro-ops; of a job that begins or ends within one the other is left out."""
    design = _job(_loader(True), replace(LOADS[MemoryId.UOP], sram_base=6, dram_base=base, x_size=count))
    design.step()
    design.poke("job__valid", 0)
    design.poke("dma__data__valid", 1)
    design.poke("dma__data__payload", 7 | 9 << 32)
    seen = []
    for _ in range(8):
        enable, address, done = design.peek("write_enable"), design.peek("write_address"), design.peek("done") >> 4
        if enable:
            assert design.peek("working")
            seen += [(address + place, (7, 9)[place], bool(done)) for place in range(2) if enable >> place & 1]
        else:
            assert (done, design.peek("working")) == (0, 0)
        design.step()
    pairs = (base + count + 1) // 2
    assert seen == [(6 + i, (7, 9)[(base + i) % 2], (base + i) // 2 == pairs - 1) for i in range(count)]


def test_a_micro_op_memory_with_one_reader_is_one() -> None:
    netlist = build_netlist(UopMemory(address_width=4, readers=1))
    assert sum(isinstance(cell, n.MemoryCell) for cell in netlist.cells) == 2  # for even places and for odd ones


@pytest.mark.parametrize(("memory", "each"), [(MemoryId.ACC, 2), (MemoryId.ACC_8BIT, 1)])
@pytest.mark.parametrize("pads", [0, 2])
def test_a_load_of_accumulators_takes_a_cycle_for_each_beat_or_tile_and_each_tile_of_zeros(
    memory: MemoryId, each: int, pads: int
) -> None:
    """Of two rows: tiles of two beats, or two to a beat; with two zeros on both sides."""
    config, _ = _loader(False)
    design = compile_design(AccLoader(config, HardwareConfig()))
    cycles = []
    for count in (8, 16):
        load = Load(memory=memory, x_size=count, y_size=2, x_stride=count, x_pad_0=pads, x_pad_1=pads)
        taken = partial(_count_tiles, design)
        cycles.append(_run(design, [load] * 6, config, Stalls(), np.random.default_rng(1), taken)[1])
    assert cycles == [6 * (2 * count * each + 2 * 2 * pads) + 4 for count in (8, 16)]


def _count_tiles(design: CompiledDesign) -> Any:
    return int(design.peek("banks") != 0)
