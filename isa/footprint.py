"""What an instruction touches: the exact elements of every scratchpad that it reads and writes, its DRAM bytes, and
what is out of bounds.

Tests: ``tests/isa/test_footprint.py``, ``tests/isa/check/test_checker.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from isa.alu_semantics import alu_semantics
from isa.bounds import index_text, row_outside, sram_text
from isa.check.findings import FindingKind
from isa.config import VTAConfig
from isa.extents import (
    dram_reach,
    factors_of,
    last_index,
    loop_steps,
    moved_elements,
    operands_of,
    row_starts,
    taps_of,
    tile_elements,
)
from isa.index_sets import Elements, affine_elements
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.known_uops import UopRange

__all__ = ["Footprint", "Footprints", "dram_hull", "dram_rows"]

Touched = tuple[MemoryId, Elements]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What an instruction reads and writes of INP, WGT and ACC; with ``problems``, nothing is said about that.

    It is not ``complete`` where micro-ops are unknown: then it may touch anything.
    """

    reads: tuple[Touched, ...] = ()
    writes: tuple[Touched, ...] = ()
    problems: tuple[tuple[FindingKind, str], ...] = ()
    complete: bool = True


_NOTHING = Footprint()

_KEPT = 4096
"""How many footprints are kept at most: the array in each may take 16 KiB."""


class Footprints:
    """Footprints of the instructions of one configuration; those of loops are kept, since programs repeat them.

    ``dram`` are the addresses of memory.
    """

    def __init__(self, config: VTAConfig, dram: range) -> None:
        self._config = config
        self._depth = {memory: config.depth(memory) for memory in MemoryId}
        self._bytes = {memory: config.elem_bytes(memory) for memory in MemoryId}
        self._dram = dram
        self._loops: dict[tuple[object, ...], Footprint] = {}

    def of(self, instruction: Instruction, uops: Callable[[int, int], UopRange]) -> Footprint:
        """Return the footprint of a legal instruction; ``uops`` reads a range of the micro-op buffer."""
        match instruction:
            case Gemm() | Alu():
                return self._of_loops(instruction, uops)
            case Load():
                return self._of_load(instruction)
            case Store():
                return self._of_store(instruction)
            case Finish():
                return _NOTHING
            case _:
                assert_never(instruction)

    def _of_load(self, load: Load) -> Footprint:
        if not moved_elements(load):
            return _NOTHING
        count = tile_elements(load)
        problems = self._transfer_problems(load, load.memory, count)
        if problems:
            return _out_of_bounds(*problems)
        if load.memory == MemoryId.UOP:
            return _NOTHING
        return Footprint(writes=((load.scratchpad, slice(load.sram_base, load.sram_base + count)),))

    def _of_store(self, store: Store) -> Footprint:
        if not moved_elements(store):
            return _NOTHING
        count = tile_elements(store)
        problems = self._transfer_problems(store, MemoryId.OUT, count)
        if problems:
            return _out_of_bounds(*problems)
        return Footprint(reads=((MemoryId.ACC, slice(store.sram_base, store.sram_base + count)),))

    def _transfer_problems(self, transfer: Load | Store, memory: MemoryId, count: int) -> list[str]:
        problems, depth = [], self._depth[memory]
        if transfer.sram_base + count > depth:
            problems.append(sram_text(memory.name, transfer.sram_base, count, depth))
        row = row_outside(transfer, self._bytes[memory], self._dram)
        return problems if row is None else [*problems, row]

    def _of_loops(self, loops: Gemm | Alu, uops: Callable[[int, int], UopRange]) -> Footprint:
        if not loop_steps(loops):
            return _NOTHING
        depth = self._depth[MemoryId.UOP]
        if loops.uop_end > depth:
            return _out_of_bounds(index_text("micro-op", loops.uop_end - 1, depth))
        found = uops(loops.uop_bgn, loops.uop_end)
        if found.problem is not None:
            return Footprint(problems=((found.kind, found.problem),), complete=False)
        key = (found.key, *_shape(loops))
        known = self._loops.get(key)
        if known is None:
            if len(self._loops) >= _KEPT:
                self._loops.clear()
            known = self._loops[key] = self._loop_footprint(loops, found)
        return known

    def _loop_footprint(self, loops: Gemm | Alu, uops: UopRange) -> Footprint:
        reads, problems = [], []
        for operand in operands_of(loops):
            places: tuple[int, ...] = getattr(uops, operand.field)
            if not places:
                continue
            depth = self._depth[operand.memory]
            outer, inner = factors_of(loops, operand.field)
            taps = taps_of(loops, operand, self._config)
            last = last_index(max(places), loops, outer=outer, inner=inner) + taps - 1
            if last >= depth:
                problems.append(index_text(operand.name, last, depth))
                continue
            steps = ((loops.iter_out, outer), (loops.iter_in, inner), (taps, 1))
            reads.append((operand.memory, affine_elements(places, steps)))
        if problems:
            return _out_of_bounds(*problems)
        return Footprint(() if _forgets(loops) else tuple(reads), tuple(reads[:1]), complete=uops.complete)


def dram_hull(access: Load | Store, elem_bytes: int) -> tuple[int, int]:
    """Return the first byte that a transfer with work touches, and one past the last."""
    return access.dram_base * elem_bytes, (access.dram_base + dram_reach(access)) * elem_bytes


def dram_rows(access: Load | Store, elem_bytes: int) -> list[tuple[int, int]]:
    """Return the byte ranges (begin, end) that a transfer with work touches; rows without a gap are one range."""
    if access.y_size == 1 or access.x_stride <= access.x_size:
        return [dram_hull(access, elem_bytes)]
    row = access.x_size * elem_bytes
    return [(start * elem_bytes, start * elem_bytes + row) for start in row_starts(access)]


def _out_of_bounds(*messages: str) -> Footprint:
    return Footprint(problems=tuple((FindingKind.BOUNDS, message) for message in messages))


def _forgets(loops: Gemm | Alu) -> bool:
    """Return whether the result does not depend on what was there: a reset, a product with 0, all bits shifted out."""
    match loops:
        case Gemm():
            return loops.reset
        case Alu():
            return loops.use_imm and loops.imm in alu_semantics(loops.alu_opcode).constant_for
        case _:
            assert_never(loops)


def _shape(loops: Gemm | Alu) -> tuple[object, ...]:
    """Return everything that decides which elements are touched, micro-ops aside."""
    operands = operands_of(loops)
    factors = [factor for operand in operands for factor in factors_of(loops, operand.field)]
    several = loops.depthwise if isinstance(loops, Gemm) else loops.fused
    flags = (len(operands), _forgets(loops), several)
    return (type(loops), *flags, loops.iter_out, loops.iter_in, *factors)
