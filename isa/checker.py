"""What can be said about a program without running it: illegal words, bounds, tokens, deadlock, valid order.

Micro-ops are followed through their loads, so that the indices of every loop are known exactly, as long as the
micro-ops come from the program's own image. Imports ``isa.program``, ``isa.tokens``, ``isa.bulk``.
Tests: ``tests/isa/test_checker.py``.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from isa.bulk import decode_uop_fields, encode_all
from isa.config import VTAConfig
from isa.encoding import DecodingError, EncodingError, decode_uop, encode
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.layout import Field, Layout, uop_layout
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


def check(program: Program, *, memory_bytes: int = 1 << 32, first_address: int = 0) -> list[Finding]:
    """Return everything that is wrong with ``program``, in order of the instructions, then notes on the whole.

    The DRAM that it will run in has bytes ``first_address`` to ``memory_bytes - 1``.
    """
    illegal = dict(_illegal(program))
    dram = range(first_address, memory_bytes)
    findings = [Finding(Severity.ERROR, None, message) for message in _regions(program, dram)]
    uops = _UopBuffer(program)
    for index, instruction in enumerate(program.instructions):
        messages = [illegal[index]] if index in illegal else _bounds(instruction, program.config, uops, dram)
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


@dataclass(frozen=True, slots=True)
class _UopRange:
    """What a range of micro-ops says: what is wrong with it, or the largest index of each operand in those known."""

    problem: str | None
    largest: Mapping[str, int]


class _UopBuffer:
    """The micro-ops on chip as far as they are known: loaded from the program's own image."""

    _UNKNOWN, _NOT_LOADED = -1, -2

    def __init__(self, program: Program) -> None:
        self._program = program
        self._image = np.array(program.uops, np.int64)
        self._words = np.full(program.config.uop_depth, self._NOT_LOADED)
        self._ranges: dict[tuple[int, int], _UopRange] = {}

    def store(self, begin: int, end: int) -> None:
        """Follow a store to DRAM bytes ``begin`` to ``end - 1``: micro-ops there are unknown from now on."""
        first = max(0, (begin - self._program.uop_base) // 4)
        last = max(0, -(-(end - self._program.uop_base) // 4))
        self._image[first:last] = self._UNKNOWN

    def load(self, load: Load) -> None:
        """Follow a load of micro-ops; those from elsewhere in DRAM are unknown."""
        first = load.dram_base - self._program.uop_base // self._program.config.uop_elem_bytes
        target = self._words[load.sram_base : load.sram_base + load.x_size]
        places = np.arange(first, first + len(target))
        inside = (places >= 0) & (places < len(self._image))
        target[:] = self._UNKNOWN
        target[inside] = self._image[places[inside]]
        self._ranges.clear()

    def read(self, begin: int, end: int) -> _UopRange:
        """Return what is known about the micro-ops ``begin`` to ``end - 1``, which are within the buffer."""
        if (begin, end) not in self._ranges:
            self._ranges[begin, end] = self._read(begin, end)
        return self._ranges[begin, end]

    def _read(self, begin: int, end: int) -> _UopRange:
        config, words = self._program.config, self._words[begin:end]
        unused = sum(((1 << f.width) - 1) << at for f, at in _placed(uop_layout(config)) if f.unused)
        wrong = np.flatnonzero((words == self._NOT_LOADED) | ((words >= 0) & (words & unused != 0)))
        if wrong.size:
            return _UopRange(self._problem(begin + int(wrong[0])), {})
        known = decode_uop_fields(words[words >= 0].astype(np.uint32), config)
        return _UopRange(None, {name: int(column.max()) for name, column in known.items() if column.size})

    def _problem(self, place: int) -> str:
        """Say what is wrong with using the micro-op at ``place``."""
        word = int(self._words[place])
        if word == self._NOT_LOADED:
            return f"micro-op {place} is used but no instruction before loads it"
        try:
            decode_uop(word, self._program.config)
        except DecodingError as error:
            return f"micro-op {place}: {error}"
        raise AssertionError("bulk and scalar decoder judge every micro-op alike")


def _placed(layout: Layout) -> Iterator[tuple[Field, int]]:
    """Yield each field and its lowest bit."""
    return zip(layout.fields, layout.offsets, strict=True)


def _bounds(instruction: Instruction, config: VTAConfig, uops: _UopBuffer, dram: range) -> Iterator[str]:
    """Say which indices and addresses of a legal instruction are out of range."""
    match instruction:
        case Load(x_size=x_size, y_size=y_size) if x_size and y_size:
            width = instruction.x_pad_0 + x_size + instruction.x_pad_1
            height = instruction.y_pad_0 + y_size + instruction.y_pad_1
            yield from _sram_range(instruction.memory, instruction.sram_base, width * height, config)
            yield from _dram_range(instruction, config.elem_bytes(instruction.memory), dram)
            if instruction.memory == MemoryId.UOP:
                uops.load(instruction)
        case Store(x_size=x_size, y_size=y_size) if x_size and y_size:
            yield from _sram_range(MemoryId.OUT, instruction.sram_base, y_size * x_size, config)
            yield from _dram_range(instruction, config.out_elem_bytes, dram)
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


def _dram_range(access: Load | Store, elem_bytes: int, dram: range) -> Iterator[str]:
    begin, end = _dram_bytes(access, elem_bytes)
    yield from _outside(f"DRAM bytes {begin:#x} to {end - 1:#x} are", begin, end, dram)


def _outside(subject: str, begin: int, end: int, dram: range) -> Iterator[str]:
    if begin < dram.start:
        yield f"{subject} out of range, memory begins at {dram.start:#x}"
    elif end > dram.stop:
        yield f"{subject} out of range, memory ends at {dram.stop:#x}"


def _regions(program: Program, dram: range) -> Iterator[str]:
    """Say which parts of the program's memory image lie where there is no memory."""
    regions = [(f"memory segment {s.name}".rstrip(), s.address, s.nbytes) for s in program.memory.segments]
    regions += [(f"output {o.name}".rstrip(), o.address, o.nbytes) for o in program.memory.outputs]
    regions.append(("micro-op image", program.uop_base, program.uop_bytes))
    for name, address, nbytes in regions:
        if nbytes:
            end = address + nbytes
            yield from _outside(f"{name}: bytes {address:#x} to {end - 1:#x} are", address, end, dram)


def _loop_bounds(loops: Gemm | Alu, config: VTAConfig, uops: _UopBuffer) -> Iterator[str]:
    if loops.uop_end > config.uop_depth:
        yield f"micro-op index {loops.uop_end - 1} is out of range, the buffer has {config.uop_depth} elements"
        return
    found = uops.read(loops.uop_bgn, loops.uop_end)
    if found.problem is not None:
        yield found.problem
        return
    if not found.largest:
        return
    outer, inner = loops.iter_out - 1, loops.iter_in - 1
    dst = found.largest["dst"] + outer * loops.dst_factor_out + inner * loops.dst_factor_in
    yield from _index("accumulator", dst, config.acc_depth)
    src = found.largest["src"] + outer * loops.src_factor_out + inner * loops.src_factor_in
    match loops:
        case Gemm(reset=False):
            wgt = found.largest["wgt"] + outer * loops.wgt_factor_out + inner * loops.wgt_factor_in
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
