"""What can be said about a program without running it: illegal words, bounds, tokens, deadlock, valid order.

Micro-ops are followed through their loads, so that the indices of every loop are known exactly, as long as the
micro-ops come from the program's own image. Imports ``isa.program``, ``isa.tokens``, ``isa.bulk``.
Tests: ``tests/isa/test_checker.py``.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from isa.bulk import encode_all
from isa.config import VTAConfig
from isa.encoding import DecodingError, EncodingError, decode_uop, encode
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store
from isa.program import Program
from isa.tokens import TokenQueue, pops, pushes, token_order

__all__ = ["Finding", "Severity", "check", "is_valid"]


class Severity(Enum):
    """How bad a finding is: an error makes the program invalid, a note does not."""

    ERROR = "error"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the checker has to say; ``index`` is the instruction's, or ``None`` for the whole program."""

    severity: Severity
    index: int | None
    message: str

    def __str__(self) -> str:
        """Return one line."""
        place = "" if self.index is None else f"instruction {self.index}: "
        return f"{self.severity.value}: {place}{self.message}"


def check(program: Program, *, memory_bytes: int = 1 << 32) -> list[Finding]:
    """Return everything that is wrong with ``program``, in order of the instructions, then notes on the whole.

    ``memory_bytes`` is the size of the DRAM that it will run in.
    """
    illegal = dict(_illegal(program))
    findings = []
    uops = _UopBuffer(program)
    for index, instruction in enumerate(program.instructions):
        messages = [illegal[index]] if index in illegal else _bounds(instruction, program.config, uops, memory_bytes)
        findings += [Finding(Severity.ERROR, index, message) for message in messages]
    if not illegal:
        findings += _order(program.instructions)
    return findings


def _illegal(program: Program) -> Iterator[tuple[int, str]]:
    """Return the place of every instruction that has no legal word, and why."""
    try:
        encode_all(program.instructions, program.config)
    except EncodingError:
        for index, instruction in enumerate(program.instructions):
            try:
                encode(instruction, program.config)
            except EncodingError as error:
                yield index, str(error)


def is_valid(program: Program, *, memory_bytes: int = 1 << 32) -> bool:
    """Return whether every engine gives what the reference gives: no finding is an error."""
    return all(finding.severity != Severity.ERROR for finding in check(program, memory_bytes=memory_bytes))


# --- bounds ----------------------------------------------------------------------------------------------------------


class _UopBuffer:
    """The micro-ops on chip as far as they are known: loaded from the program's own image."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._image: list[int | None] = list(program.uops)
        self._words: dict[int, int | None] = {}

    def store(self, begin: int, end: int) -> None:
        """Follow a store to DRAM bytes ``begin`` to ``end - 1``: micro-ops there are unknown from now on."""
        first = max(0, (begin - self._program.uop_base) // 4)
        last = min(len(self._image), -(-(end - self._program.uop_base) // 4))
        for place in range(first, last):
            self._image[place] = None

    def load(self, load: Load) -> None:
        """Follow a load of micro-ops; those from elsewhere in DRAM are unknown."""
        first = load.dram_base - self._program.uop_base // self._program.config.uop_elem_bytes
        for place in range(load.x_size):
            inside = 0 <= first + place < len(self._image)
            self._words[load.sram_base + place] = self._image[first + place] if inside else None

    def problems(self, begin: int, end: int) -> Iterator[str]:
        """Say what is wrong with using the micro-ops ``begin`` to ``end - 1``."""
        for place in range(begin, end):
            if place not in self._words:
                yield f"micro-op {place} is used but no instruction before loads it"
                return
            word = self._words[place]
            if word is not None:
                try:
                    decode_uop(word, self._program.config)
                except DecodingError as error:
                    yield f"micro-op {place}: {error}"
                    return

    def known(self, begin: int, end: int) -> list[MicroOp]:
        """Return those of the micro-ops ``begin`` to ``end - 1`` that are known."""
        words = (self._words.get(place) for place in range(begin, end))
        return [decode_uop(word, self._program.config) for word in words if word is not None]


def _bounds(instruction: Instruction, config: VTAConfig, uops: _UopBuffer, memory_bytes: int) -> Iterator[str]:
    """Say which indices and addresses of a legal instruction are out of range."""
    match instruction:
        case Load(x_size=x_size, y_size=y_size) if x_size and y_size:
            width = instruction.x_pad_0 + x_size + instruction.x_pad_1
            height = instruction.y_pad_0 + y_size + instruction.y_pad_1
            yield from _sram_range(instruction.memory, instruction.sram_base, width * height, config)
            yield from _dram_range(instruction, config.elem_bytes(instruction.memory), memory_bytes)
            if instruction.memory == MemoryId.UOP:
                uops.load(instruction)
        case Store(x_size=x_size, y_size=y_size) if x_size and y_size:
            yield from _sram_range(MemoryId.OUT, instruction.sram_base, y_size * x_size, config)
            yield from _dram_range(instruction, config.out_elem_bytes, memory_bytes)
            uops.store(*_dram_bytes(instruction, config.out_elem_bytes))
        case Gemm() | Alu() if instruction.iter_out and instruction.iter_in:
            if instruction.uop_bgn < instruction.uop_end:
                yield from _loop_bounds(instruction, config, uops)
        case _:
            return


def _sram_range(memory: MemoryId, base: int, count: int, config: VTAConfig) -> Iterator[str]:
    depth = config.depth(memory)
    if base + count > depth:
        yield f"{memory.name} elements {base} to {base + count - 1} are out of range, the buffer has {depth} elements"


def _dram_bytes(access: Load | Store, elem_bytes: int) -> tuple[int, int]:
    """Return the first byte that is accessed, and one past the last."""
    stride = 0 if access.memory == MemoryId.UOP else access.x_stride
    end = access.dram_base + (access.y_size - 1) * stride + access.x_size
    return access.dram_base * elem_bytes, end * elem_bytes


def _dram_range(access: Load | Store, elem_bytes: int, memory_bytes: int) -> Iterator[str]:
    begin, end = _dram_bytes(access, elem_bytes)
    if end > memory_bytes:
        yield f"DRAM bytes {begin:#x} to {end - 1:#x} are out of range, memory ends at {memory_bytes:#x}"


def _loop_bounds(loops: Gemm | Alu, config: VTAConfig, uops: _UopBuffer) -> Iterator[str]:
    if loops.uop_end > config.uop_depth:
        yield f"micro-op index {loops.uop_end - 1} is out of range, the buffer has {config.uop_depth} elements"
        return
    problems = list(uops.problems(loops.uop_bgn, loops.uop_end))
    if problems:
        yield from problems
        return
    known = uops.known(loops.uop_bgn, loops.uop_end)
    if not known:
        return
    outer, inner = loops.iter_out - 1, loops.iter_in - 1
    dst = max(uop.dst for uop in known) + outer * loops.dst_factor_out + inner * loops.dst_factor_in
    yield from _index("accumulator", dst, config.acc_depth)
    src = max(uop.src for uop in known) + outer * loops.src_factor_out + inner * loops.src_factor_in
    match loops:
        case Gemm(reset=False):
            wgt = max(uop.wgt for uop in known) + outer * loops.wgt_factor_out + inner * loops.wgt_factor_in
            yield from _index("input", src, config.inp_depth)
            yield from _index("weight", wgt, config.wgt_depth)
        case Alu(use_imm=False):
            yield from _index("accumulator", src, config.acc_depth)


def _index(name: str, largest: int, depth: int) -> Iterator[str]:
    if largest >= depth:
        yield f"{name} index {largest} is out of range, the buffer has {depth} elements"


# --- order -----------------------------------------------------------------------------------------------------------


def _order(instructions: Sequence[Instruction]) -> Iterator[Finding]:
    """Say what is wrong with FINISH and with the tokens."""
    finishes = [index for index, entry in enumerate(instructions) if isinstance(entry, Finish)]
    if not finishes:
        yield Finding(Severity.ERROR, None, "the program has no FINISH, so it never ends")
    for index in finishes:
        if index != len(instructions) - 1:
            yield Finding(Severity.ERROR, index, "FINISH must be the last instruction")
    order = token_order(instructions)
    if order.deadlock is not None:
        yield Finding(Severity.ERROR, order.deadlock.heads[0].index, str(order.deadlock))
        return
    yield from _early_pops(instructions)
    yield from _leftover(order.leftover)


def _early_pops(instructions: Sequence[Instruction]) -> Iterator[Finding]:
    """Name each pop whose push comes later in the program, so that program order is not an order of execution."""
    pushed: dict[TokenQueue, deque[int]] = {queue: deque() for queue in TokenQueue}
    popped: dict[TokenQueue, deque[int]] = {queue: deque() for queue in TokenQueue}
    for index, instruction in enumerate(instructions):
        for queue in pops(instruction.module, instruction.deps):
            popped[queue].append(index)
        for queue in pushes(instruction.module, instruction.deps):
            pushed[queue].append(index)
    early = []
    for queue in TokenQueue:
        for pop, push in zip(popped[queue], pushed[queue], strict=False):
            if push >= pop:
                early.append((pop, push, queue))
    for pop, push, queue in sorted(early, key=lambda entry: entry[:2]):
        message = f"takes a token from {queue.value} that instruction {push} gives, which is not before it"
        yield Finding(Severity.ERROR, pop, message)


def _leftover(leftover: Mapping[TokenQueue, int]) -> Iterator[Finding]:
    left = [f"{count} in {queue.value}" for queue, count in leftover.items() if count]
    if left:
        yield Finding(Severity.NOTE, None, f"tokens are left over at FINISH: {', '.join(left)}")
