"""What scratchpads hold, against a walk over every element of every instruction."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isa.instructions import Alu, Gemm, Load, MemoryId, Store
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.trace import Recorded
from vta.inspect.trace.occupancy import occupancy


def touched(launch: Recorded) -> list[tuple[int, dict[MemoryId, set[int]], dict[MemoryId, set[int]]]]:
    """Return index, elements read and elements written of each instruction, by stepping through its loops."""
    buffer: dict[int, tuple[int, int, int]] = {}
    layout = launch.config
    found = []
    for index, instruction in enumerate(launch.instructions):
        reads: dict[MemoryId, set[int]] = {m: set() for m in MemoryId}
        writes: dict[MemoryId, set[int]] = {m: set() for m in MemoryId}
        match instruction:
            case Load(memory=MemoryId.UOP):
                for at, word in enumerate(launch.uops.get(index, np.zeros(0, np.uint32)).tolist()):
                    dst = word & (1 << layout.log_acc_depth) - 1
                    src = word >> layout.log_acc_depth & (1 << layout.log_inp_depth) - 1
                    wgt = word >> layout.log_acc_depth + layout.log_inp_depth
                    buffer[instruction.sram_base + at] = (dst, src, wgt)
            case Load() if instruction.x_size and instruction.y_size:
                memory = MemoryId.ACC if instruction.memory == MemoryId.ACC_8BIT else instruction.memory
                size = (instruction.x_pad_0 + instruction.x_size + instruction.x_pad_1) * (
                    instruction.y_pad_0 + instruction.y_size + instruction.y_pad_1
                )
                writes[memory] = set(range(instruction.sram_base, instruction.sram_base + size))
            case Store():
                base = instruction.sram_base
                reads[MemoryId.ACC] = set(range(base, base + instruction.x_size * instruction.y_size))
            case Gemm() | Alu():
                step(instruction, buffer, reads, writes)
        found.append((index, reads, writes))
    return found


def step(
    loops: Gemm | Alu,
    buffer: dict[int, tuple[int, int, int]],
    reads: dict[MemoryId, set[int]],
    writes: dict[MemoryId, set[int]],
) -> None:
    for outer in range(loops.iter_out):
        for inner in range(loops.iter_in):
            for at in range(loops.uop_bgn, loops.uop_end):
                dst, src, wgt = buffer[at]
                target = dst + outer * loops.dst_factor_out + inner * loops.dst_factor_in
                source = src + outer * loops.src_factor_out + inner * loops.src_factor_in
                writes[MemoryId.ACC].add(target)
                if isinstance(loops, Gemm) and loops.reset:
                    continue
                reads[MemoryId.ACC].add(target)
                if isinstance(loops, Gemm):
                    reads[MemoryId.INP].add(source)
                    reads[MemoryId.WGT].add(wgt + outer * loops.wgt_factor_out + inner * loops.wgt_factor_in)
                elif not loops.use_imm:
                    reads[MemoryId.ACC].add(source)


def expected(launch: Recorded) -> set[tuple[MemoryId, int, int, int, int]]:
    """Return (memory, element, writer, last reader, reads) of everything that elements held."""
    now: dict[tuple[MemoryId, int], list[int]] = {}
    found: set[tuple[MemoryId, int, int, int, int]] = set()
    for index, reads, writes in touched(launch):
        for memory, elements in reads.items():
            for element in elements:
                if (memory, element) in now:
                    now[memory, element][1] = index
                    now[memory, element][2] += 1
        for memory, elements in writes.items():
            for element in elements:
                if (memory, element) in now:
                    writer, last, count = now[memory, element]
                    found.add((memory, element, writer, last, count))
                now[memory, element] = [index, index, 0]
    return found | {(memory, element, writer, last, reads) for (memory, element), (writer, last, reads) in now.items()}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("config", ["default", "b2k16"])
def test_every_element_is_held_from_its_writer_to_its_last_reader(tmp_path: Path, seed: int, config: str) -> None:
    _, [launch] = record_programs(tmp_path / "t", "sim", some_program(seed, config))
    held = occupancy(launch)
    single = {
        (item.memory, element, item.writer, item.reader, item.reads)
        for item in held
        for element in range(item.first, item.last + 1)
    }
    assert single == expected(launch)
    assert sum(item.last - item.first + 1 for item in held) == len(single)
    for item in held:
        assert item.begin == launch.timeline.begun[item.writer]
        assert item.end == launch.timeline.ended[item.reader]


def test_neighbours_of_one_history_are_one_entry(tmp_path: Path) -> None:
    _, [launch] = record_programs(tmp_path / "t", "sim", some_program(0))
    held = sorted(occupancy(launch), key=lambda item: (item.memory, item.writer, item.reader, item.reads, item.first))
    assert held
    for a, b in itertools.pairwise(held):
        assert b != replace(a, first=a.last + 1, last=b.last)
