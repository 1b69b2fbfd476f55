"""The orders in which modules may get through a program: an oracle for races that knows nothing of the checker.

Of two conflicting accesses that no token orders, one of the six greedy orders (always the first module of a permutation
that can go on) runs the later one first: the module of the earlier one only moves when everything else is stuck.
"""

import itertools
from collections import deque
from collections.abc import Iterator, Sequence

from isa.config import VTAConfig
from isa.encoding import decode_uop
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.program import Program
from isa.tokens import TokenQueue, pops, pushes
from tests.support.isa.alu_judge import is_constant

__all__ = ["brute_footprints", "greedy_orders", "has_reversed_conflict"]

Place = tuple[str, int]


def greedy_orders(instructions: Sequence[Instruction]) -> Iterator[list[int] | None]:
    """Yield, for each permutation of the modules, the order of execution, or None for a deadlock."""
    for priority in itertools.permutations(Module):
        yield _order(instructions, priority)


def _order(instructions: Sequence[Instruction], priority: Sequence[Module]) -> list[int] | None:
    queues = {module: deque(i for i, e in enumerate(instructions) if e.module == module) for module in Module}
    tokens = dict.fromkeys(TokenQueue, 0)
    order: list[int] = []
    while any(queues.values()):
        for module in priority:
            queue = queues[module]
            if queue and all(tokens[token] for token in pops(module, instructions[queue[0]].deps)):
                break
        else:
            return None
        index = queue.popleft()
        order.append(index)
        for token in pops(module, instructions[index].deps):
            tokens[token] -= 1
        for token in pushes(module, instructions[index].deps):
            tokens[token] += 1
    return order


def has_reversed_conflict(program: Program) -> bool:
    """Return whether some order runs two conflicting accesses in another order than the program has, or ends early.

    So does a program whose own order its tokens do not allow.
    """
    if not _allows_program_order(program.instructions):
        return True
    touched = list(brute_footprints(program))
    for order in greedy_orders(program.instructions):
        if order is None:
            return True
        seen: list[int] = []
        for index in order:
            if any(later > index and _conflict(touched[later], touched[index]) for later in seen):
                return True
            seen.append(index)
    return False


def _allows_program_order(instructions: Sequence[Instruction]) -> bool:
    tokens = dict.fromkeys(TokenQueue, 0)
    for instruction in instructions:
        for token in pops(instruction.module, instruction.deps):
            tokens[token] -= 1
        if min(tokens.values()) < 0:
            return False
        for token in pushes(instruction.module, instruction.deps):
            tokens[token] += 1
    return True


Touched = tuple[frozenset[Place], frozenset[Place]]


def _conflict(a: Touched, b: Touched) -> bool:
    return bool(a[1] & b[1] or a[0] & b[1] or a[1] & b[0])


def brute_footprints(program: Program) -> Iterator[Touched]:
    """Yield what each instruction reads and writes, element by element and DRAM byte by byte, stepping every loop."""
    config, uops = program.config, dict[int, int]()
    image = {program.uop_base // 4 + place: word for place, word in enumerate(program.uops)}
    for instruction in program.instructions:
        match instruction:
            case Load() | Store():
                yield _transfer(instruction, config, uops, image)
            case Gemm() | Alu():
                yield _loops(instruction, config, uops)
            case Finish():
                yield frozenset(), frozenset()


def _transfer(access: Load | Store, config: VTAConfig, uops: dict[int, int], image: dict[int, int]) -> Touched:
    if not access.x_size or not access.y_size:
        return frozenset(), frozenset()
    size = config.elem_bytes(access.memory)
    dram = {
        ("DRAM", (access.dram_base + y * access.x_stride + x) * size + byte)
        for y in range(access.y_size)
        for x in range(access.x_size)
        for byte in range(size)
    }
    width = access.x_pad_0 + access.x_size + access.x_pad_1
    count = width * (access.y_pad_0 + access.y_size + access.y_pad_1)
    memory = {MemoryId.ACC_8BIT: "ACC", MemoryId.OUT: "ACC"}.get(access.memory, access.memory.name)
    sram = {(memory, access.sram_base + place) for place in range(count)}
    if access.memory == MemoryId.UOP:
        uops.update({access.sram_base + x: image[access.dram_base + x] for x in range(access.x_size)})
    return (frozenset(dram), frozenset(sram)) if isinstance(access, Load) else (frozenset(sram), frozenset(dram))


def _loops(loops: Gemm | Alu, config: VTAConfig, uops: dict[int, int]) -> Touched:
    reads: set[Place] = set()
    writes: set[Place] = set()
    for i in range(loops.iter_out):
        for j in range(loops.iter_in):
            for place in range(loops.uop_bgn, loops.uop_end):
                uop = decode_uop(uops[place], config)
                dst = ("ACC", uop.dst + i * loops.dst_factor_out + j * loops.dst_factor_in)
                src = uop.src + i * loops.src_factor_out + j * loops.src_factor_in
                writes.add(dst)
                match loops:
                    case Gemm(reset=False):
                        wgt = uop.wgt + i * loops.wgt_factor_out + j * loops.wgt_factor_in
                        taps = config.depthwise_taps if loops.depthwise else 1
                        reads |= {dst, ("WGT", wgt), *(("INP", src + tap) for tap in range(taps))}
                    case Alu(use_imm=True) if is_constant(loops.alu_opcode, loops.imm):
                        pass  # whatever was there
                    case Alu(use_imm=True):
                        reads.add(dst)
                    case Alu():
                        reads |= {dst, *(("ACC", src + more) for more in range(1 + loops.fused))}
    return frozenset(reads), frozenset(writes)
