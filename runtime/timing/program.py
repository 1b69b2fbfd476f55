"""From instruction words to tasks: how long each takes by itself, what it touches, whose tokens it waits for.

Tests: tests/runtime/timing/test_program.py.
"""

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.extents import loop_steps, tile_elements
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.known_uops import UopBuffer
from isa.machine.hardware_config import HardwareConfig
from isa.tokens import TokenQueue, pops, pushes
from runtime.timing.task import NOTHING, Task, Unit

__all__ = ["RESET_LANES", "TimingError", "tasks_of"]

RESET_LANES = 4
"""Accumulators that are cleared in a cycle."""


class TimingError(VTAError, ValueError):
    """A program that never ends."""


def tasks_of(
    instructions: Sequence[Instruction],
    uops: npt.NDArray[np.uint32],
    uop_base: int,
    config: VTAConfig,
    hardware: HardwareConfig,
) -> list[Task]:
    """Return a task for each instruction.

    ``uops`` are the words of micro-ops that lie in memory from byte address ``uop_base`` on. Micro-ops that a program
    uses without loading them are taken as zero. ``TimingError`` says which instruction waits for a token that never
    comes.
    """
    maker = _Maker(uops, uop_base, config, hardware)
    waits = _waits(instructions)
    return [maker.task(each, *waits[place]) for place, each in enumerate(instructions)]


def _waits(instructions: Sequence[Instruction]) -> list[tuple[int, int]]:
    """Return the places of the instructions whose tokens each one takes, of the previous and of the next module."""
    left: dict[TokenQueue, deque[int]] = {queue: deque() for queue in TokenQueue}
    for place, each in enumerate(instructions):
        for queue in pushes(each.module, each.deps):
            left[queue].append(place)
    found = []
    for place, each in enumerate(instructions):
        givers = {True: NOTHING, False: NOTHING}
        for queue in pops(each.module, each.deps):
            if not left[queue]:
                raise TimingError(
                    f"instruction {place}: expected a token of queue {queue.value}, which no instruction gives any "
                    "more; the program never ends"
                )
            giver, _ = queue.ends
            givers[giver < each.module] = left[queue].popleft()
        found.append((givers[True], givers[False]))
    return found


class _Maker:
    """Walks over a program and knows the micro-ops that are on the chip."""

    def __init__(
        self, uops: npt.NDArray[np.uint32], uop_base: int, config: VTAConfig, hardware: HardwareConfig
    ) -> None:
        self._image, self._base = uops, uop_base // config.uop_elem_bytes
        self._config, self._hardware = config, hardware
        self._uops = UopBuffer(config)
        self._moved: dict[tuple[int, ...], tuple[int, int]] = {}
        self._spans: dict[tuple[object, ...], tuple[int, int, int]] = {}

    def task(self, instruction: Instruction, prev: int, following: int) -> Task:
        """Return the task of the next instruction, which waits for ``prev`` and ``following``."""
        match instruction:
            case Load(memory=MemoryId.UOP):
                return self._uop_load(instruction, prev, following)
            case Load():
                return self._load(instruction, prev, following)
            case Store():
                cycles, bursts = self._transfer(instruction, MemoryId.OUT)
                return Task(
                    Unit.STORE, cycles, bursts, 0, prev, following,
                    low=instruction.sram_base, high=instruction.sram_base + tile_elements(instruction) - 1,
                )  # fmt: skip
            case Gemm() | Alu():
                return self._loops(instruction, prev, following)
            case Finish():
                return Task(Unit.FINISH, 0, 0, 0, prev, following)
            case _:
                assert_never(instruction)

    def _uop_load(self, load: Load, prev: int, following: int) -> Task:
        begin = load.dram_base - self._base
        words = self._image[max(begin, 0) : begin + load.x_size]
        if begin >= 0 and len(words) == load.x_size:
            self._uops.put(load.sram_base, words)
        cycles, bursts = self._transfer(load, MemoryId.UOP)
        return Task(
            Unit.UOP, cycles, bursts, 0, prev, following, uop_bgn=load.sram_base, uop_end=load.sram_base + load.x_size
        )

    def _load(self, load: Load, prev: int, following: int) -> Task:
        cycles, bursts = self._transfer(load, load.memory)
        elements = tile_elements(load) if cycles else 0
        zeros = max(0, elements - load.x_size * load.y_size)
        if load.memory in (MemoryId.INP, MemoryId.WGT):
            return Task(Unit.LOAD, cycles, bursts, zeros, prev, following, kind=int(load.memory is MemoryId.WGT))
        return Task(
            Unit.ACC, cycles, bursts, zeros, prev, following, low=load.sram_base, high=load.sram_base + elements - 1
        )

    def _transfer(self, transfer: Load | Store, memory: MemoryId) -> tuple[int, int]:
        """Return the cycles that the data take of the bus, and the bursts.

        A beat takes as many cycles as elements begin in it, because one element a cycle is written or read.
        """
        unit, beat = self._config.elem_bytes(memory), self._hardware.beat_bytes
        line = beat * self._hardware.burst_beats
        key = (unit, transfer.dram_base * unit % line, transfer.x_size, transfer.y_size, transfer.x_stride)
        known = self._moved.get(key)
        if known is None:
            each = unit if memory is not MemoryId.UOP else 2 * unit
            rows = [
                self._row(key[1] + row * transfer.x_stride * unit, transfer.x_size * unit, each)
                for row in range(transfer.y_size if transfer.x_size else 0)
            ]
            known = self._moved[key] = (sum(row[0] for row in rows), sum(row[1] for row in rows))
        return known

    def _row(self, address: int, size: int, each: int) -> tuple[int, int]:
        beat = self._hardware.beat_bytes
        line = beat * self._hardware.burst_beats
        beats = (address + size - 1) // beat - address // beat + 1
        return max(beats, ceil(size / each)), (address + size - 1) // line - address // line + 1

    def _loops(self, loops: Gemm | Alu, prev: int, following: int) -> Task:
        steps = loop_steps(loops)
        low, high, run = self._span(loops) if steps else (0, NOTHING, 0)
        if steps and isinstance(loops, Alu) and loops.fused:
            steps += _pairs(loops, self._uops.read(loops.uop_bgn, loops.uop_end).src)
        unit = Unit.ALU if isinstance(loops, Alu) else Unit.RESET if loops.reset else Unit.GEMM
        if steps and isinstance(loops, Gemm) and loops.reset:
            steps = _groups(loops, self._uops.read(loops.uop_bgn, loops.uop_end).dst)
        return Task(
            unit, steps, 0, 0, prev, following, low, high, loops.uop_bgn, loops.uop_end,
            bits=1 + (max(loops.iter_out, loops.iter_in) - 1).bit_length() if steps else 0, run=run,
        )  # fmt: skip

    def _span(self, loops: Gemm | Alu) -> tuple[int, int, int]:
        """Return the first and the last accumulator of an instruction, and how many it uses in a row."""
        uops = self._uops.read(loops.uop_bgn, loops.uop_end)
        counts = (loops.iter_out, loops.iter_in)
        factors = [(uops.dst, loops.dst_factor_out, loops.dst_factor_in)]
        if isinstance(loops, Alu) and not loops.use_imm:
            factors.append((uops.src, loops.src_factor_out, loops.src_factor_in))
            if loops.fused:
                factors.append((tuple(src + 1 for src in uops.src), loops.src_factor_out, loops.src_factor_in))
        key = (uops.key, counts, *(each[1:] for each in factors))
        known = self._spans.get(key)
        if known is None:
            ends = [
                (min(index, default=0), max(index, default=0) + (counts[0] - 1) * out + (counts[1] - 1) * inner)
                for index, out, inner in factors
            ]
            run = _run(uops.dst, (counts[1], loops.dst_factor_in), (counts[0], loops.dst_factor_out))
            known = self._spans[key] = (min(low for low, _ in ends), max(high for _, high in ends), run)
        return known


def _pairs(loops: Alu, src: Sequence[int]) -> int:
    """Return how often a fused step has other operands than the one before it; micro-ops have ``src``."""
    inside = sum(one != other for one, other in pairwise(src))
    back = src[0] - src[-1]
    again = back + loops.src_factor_in != 0
    outside = back + loops.src_factor_out - (loops.iter_in - 1) * loops.src_factor_in != 0
    passes = loops.iter_out * loops.iter_in
    return 1 + passes * inside + (passes - loops.iter_out) * again + (loops.iter_out - 1) * outside


def _groups(reset: Gemm, dst: Sequence[int]) -> int:
    """Return the cycles in which accumulators are cleared: up to four neighbours of one loop at a time.

    It is the first loop of those over micro-ops (if they are at equal distances), inner and outer one that has four
    turns and an odd step; without one, they are cleared one by one.
    """
    step = dst[1] - dst[0] if len(dst) > 1 else 0
    if any(two - one != step for one, two in pairwise(dst)):
        return len(dst) * reset.iter_in * reset.iter_out
    counts = [(len(dst), step), (reset.iter_in, reset.dst_factor_in), (reset.iter_out, reset.dst_factor_out)]
    first = next((count for count, step in counts if count >= RESET_LANES and step % 2), 1)
    return len(dst) * reset.iter_in * reset.iter_out // first * -(-first // RESET_LANES)


def _run(dst: Sequence[int], *outer: tuple[int, int]) -> int:
    """Return how many neighbours the destinations of micro-ops are in loops of ``(count, step)``, inner one first."""
    run = next((place for place, each in enumerate(dst) if each != dst[0] + place), len(dst))
    if run < len(dst):
        return run
    for count, step in outer:
        if count > 1 and step != run:
            return run
        run *= count
    return run
