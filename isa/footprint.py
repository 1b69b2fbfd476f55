"""What an instruction touches: the exact elements of every scratchpad that it reads and writes, its DRAM bytes, and
what is out of bounds.

Tests: ``tests/isa/test_footprint.py``, ``tests/isa/check/test_checker.py``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from isa.check.findings import Kind
from isa.config import VTAConfig
from isa.index_sets import Elements, affine_elements
from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.known_uops import UopRange

__all__ = ["Footprint", "Footprints", "dram_hull", "dram_rows", "outside_text"]

Touched = tuple[MemoryId, Elements]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What an instruction reads and writes of INP, WGT and ACC; with ``problems``, nothing is said about that.

    It is not ``complete`` where micro-ops are unknown: then it may touch anything.
    """

    reads: tuple[Touched, ...] = ()
    writes: tuple[Touched, ...] = ()
    problems: tuple[tuple[Kind, str], ...] = ()
    complete: bool = True


_NOTHING = Footprint()

_ACC_WIDTH = 32
"""Bits of an accumulator number, in every configuration."""

_KEPT = 4096
"""Footprints that are kept at most: an array in each may have 16 KiB."""


class Footprints:
    """Footprints of the instructions of one configuration; those of loops are kept, since programs repeat them.

    ``dram`` are the addresses that there are.
    """

    def __init__(self, config: VTAConfig, dram: range) -> None:
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

    def _of_load(self, load: Load) -> Footprint:
        if not load.x_size or not load.y_size:
            return _NOTHING
        width = load.x_pad_0 + load.x_size + load.x_pad_1
        height = load.y_pad_0 + load.y_size + load.y_pad_1
        problems = (
            *self._sram_range(load.memory, load.sram_base, width * height),
            *self._dram_range(load),
        )
        if problems:
            return _out_of_bounds(*problems)
        if load.memory == MemoryId.UOP:
            return _NOTHING
        memory = MemoryId.ACC if load.memory == MemoryId.ACC_8BIT else load.memory
        return Footprint(writes=((memory, slice(load.sram_base, load.sram_base + width * height)),))

    def _of_store(self, store: Store) -> Footprint:
        if not store.x_size or not store.y_size:
            return _NOTHING
        count = store.y_size * store.x_size
        problems = (
            *self._sram_range(MemoryId.OUT, store.sram_base, count),
            *self._dram_range(store),
        )
        if problems:
            return _out_of_bounds(*problems)
        return Footprint(reads=((MemoryId.ACC, slice(store.sram_base, store.sram_base + count)),))

    def _sram_range(self, memory: MemoryId, base: int, count: int) -> Iterator[str]:
        end, depth = base + count, self._depth[memory]
        if end > depth:
            yield f"{memory.name} elements {base} to {end - 1} are out of range, the buffer has {depth} elements"

    def _dram_range(self, access: Load | Store) -> Iterator[str]:
        begin, end = dram_hull(access, self._bytes[access.memory])
        yield from outside_text(f"DRAM bytes {begin:#x} to {end - 1:#x} are", begin, end, self._dram)

    def _of_loops(self, loops: Gemm | Alu, uops: Callable[[int, int], UopRange]) -> Footprint:
        if not loops.iter_out or not loops.iter_in or loops.uop_bgn >= loops.uop_end:
            return _NOTHING
        depth = self._depth[MemoryId.UOP]
        if loops.uop_end > depth:
            return _out_of_bounds(
                f"micro-op index {loops.uop_end - 1} is out of range, the buffer has {depth} elements"
            )
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
        for name, memory, fields, outer, inner in _operands(loops, uops):
            depth = self._depth[memory]
            if not fields:
                continue
            largest = max(fields) + (loops.iter_out - 1) * outer + (loops.iter_in - 1) * inner
            if largest >= depth:
                problems.append(f"{name} index {largest} is out of range, the buffer has {depth} elements")
                continue
            reads.append((memory, affine_elements(fields, ((loops.iter_out, outer), (loops.iter_in, inner)))))
        if problems:
            return _out_of_bounds(*problems)
        return Footprint(() if _forgets(loops) else tuple(reads), tuple(reads[:1]), complete=uops.complete)


def dram_hull(access: Load | Store, elem_bytes: int) -> tuple[int, int]:
    """Return the first byte that a transfer with work touches, and one past the last."""
    rows = 0 if access.memory == MemoryId.UOP else (access.y_size - 1) * access.x_stride
    return access.dram_base * elem_bytes, (access.dram_base + rows + access.x_size) * elem_bytes


def dram_rows(access: Load | Store, elem_bytes: int) -> list[tuple[int, int]]:
    """Return the byte ranges (begin, end) that a transfer with work touches; rows without a gap are one range."""
    base, row = access.dram_base * elem_bytes, access.x_size * elem_bytes
    if access.memory == MemoryId.UOP or access.y_size == 1:
        return [(base, base + row)]
    stride = access.x_stride * elem_bytes
    if stride <= row:
        return [(base, base + (access.y_size - 1) * stride + row)]
    return [(begin, begin + row) for begin in range(base, base + access.y_size * stride, stride)]


def outside_text(subject: str, begin: int, end: int, dram: range) -> Iterator[str]:
    """Say, if it is so, that bytes ``begin`` to ``end - 1`` lie where there is no memory."""
    if begin < dram.start:
        yield f"{subject} out of range, memory begins at {dram.start:#x}"
    elif end > dram.stop:
        yield f"{subject} out of range, memory ends at {dram.stop:#x}"


def _out_of_bounds(*messages: str) -> Footprint:
    return Footprint(problems=tuple((Kind.BOUNDS, message) for message in messages))


def _operands(loops: Gemm | Alu, uops: UopRange) -> Iterator[tuple[str, MemoryId, tuple[int, ...], int, int]]:
    """Yield name, memory, micro-op fields, outer and inner factor of each operand in use, the destination first."""
    yield "accumulator", MemoryId.ACC, uops.dst, loops.dst_factor_out, loops.dst_factor_in
    match loops:
        case Gemm(reset=False):
            yield "input", MemoryId.INP, uops.src, loops.src_factor_out, loops.src_factor_in
            yield "weight", MemoryId.WGT, uops.wgt, loops.wgt_factor_out, loops.wgt_factor_in
        case Alu(use_imm=False):
            yield "accumulator", MemoryId.ACC, uops.src, loops.src_factor_out, loops.src_factor_in


def _forgets(loops: Gemm | Alu) -> bool:
    """Return whether the result says nothing of what was there: a reset, a product with 0, a shift of all bits out."""
    match loops:
        case Gemm():
            return loops.reset
        case Alu(alu_opcode=AluOpcode.MUL, use_imm=True):
            return loops.imm == 0
        case Alu(alu_opcode=AluOpcode.SHR, use_imm=True):
            return loops.imm <= -_ACC_WIDTH
        case _:
            return False


def _shape(loops: Gemm | Alu) -> tuple[object, ...]:
    """Return everything that decides which elements are touched, micro-ops aside."""
    factors = (loops.iter_out, loops.iter_in, loops.dst_factor_out, loops.dst_factor_in)
    match loops:
        case Gemm(reset=True):
            return ("reset", *factors)
        case Gemm():
            rest = (loops.src_factor_out, loops.src_factor_in, loops.wgt_factor_out, loops.wgt_factor_in)
            return ("gemm", *factors, *rest)
        case Alu(use_imm=True):
            return ("imm", _forgets(loops), *factors)
        case Alu():
            return ("alu", *factors, loops.src_factor_out, loops.src_factor_in)
