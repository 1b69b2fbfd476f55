"""Tokens from a plain instruction stream: which instructions of different modules have to wait for one another.

The stream says what happens when its instructions run one after the other. Two instructions of different modules must
keep that order only if one writes scratchpad elements that the other reads or writes. For each instruction, and each
neighbour of its module, that leaves one to wait for: the last of that neighbour's instructions that it conflicts with.
An instruction waits only if it needs a later one than those before it in its module did, so the k-th push of a queue
is the one that its k-th pop means.

Data that passes through DRAM within a launch (bytes that are loaded and stored) is ordered by ``serialise``.
Tests: ``tests/runtime/queue/test_token_plan.py``.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from isa.bulk import decode_uop_fields
from isa.config import VTAConfig
from isa.instructions import Alu, Finish, Gemm, Load, MemoryId, Module, Store
from runtime.memory.device_memory import Allocation
from runtime.queue.instruction_queue import Entry, Token
from runtime.queue.launch import LaunchAddresses
from runtime.queue.serial import serialise

__all__ = ["plan_tokens"]

Range = tuple[int, int]
"""First element, and the one after the last."""

_PUSH = {True: Token.PUSH_NEXT, False: Token.PUSH_PREV}
_POP = {True: Token.POP_PREV, False: Token.POP_NEXT}
_NEVER = -1


def plan_tokens(
    entries: Sequence[Entry], uops: Sequence[int], addresses: LaunchAddresses, config: VTAConfig
) -> list[Entry]:
    """Return new entries for the instructions of ``entries`` that do something, with the tokens that they need.

    ``uops`` is the launch's micro-op image, which lies where ``addresses`` says. Tokens that the entries had are
    forgotten. FINISH waits for the last load and the last store.
    """
    work = [
        Entry(entry.instruction, origin=entry.origin, target=entry.target)
        for entry in entries
        if not entry.instruction.is_nop
    ]
    if _passes_through_dram(work):
        return serialise(work)
    planner = _Planner(work, _MicroOps(uops, addresses.uops // config.uop_elem_bytes, config), config)
    for index in range(len(work)):
        planner.plan(index)
    return work


def _passes_through_dram(entries: Sequence[Entry]) -> bool:
    """Whether bytes of a buffer are loaded and stored."""
    loads: dict[Allocation, list[Range]] = {}
    stores: dict[Allocation, list[Range]] = {}
    for entry in entries:
        if entry.target is None:
            continue
        target, found = entry.target, stores if isinstance(entry.instruction, Store) else loads
        begin = target.offset * target.element_bytes
        found.setdefault(target.buffer, []).append((begin, begin + target.reach * target.element_bytes))
    return any(_meet(loads[buffer], stores[buffer]) for buffer in loads.keys() & stores.keys())


def _meet(some: list[Range], others: list[Range]) -> bool:
    """Whether a range of ``some`` has a byte in common with one of ``others``."""
    ranges = sorted([(*place, 0) for place in some] + [(*place, 1) for place in others])
    ends = [0, 0]
    for begin, end, kind in ranges:
        if begin < ends[1 - kind]:
            return True
        ends[kind] = max(ends[kind], end)
    return False


class _MicroOps:
    """The micro-ops on chip, as the loads of a launch bring them, and the ranges of their operands."""

    def __init__(self, image: Sequence[int], address: int, config: VTAConfig) -> None:
        self._image = np.array(image, np.uint32)
        self._address = address
        self._words = np.zeros(config.uop_depth, np.uint32)
        self._config = config
        self._known: dict[Range, dict[str, Range]] = {}

    def load(self, load: Load) -> None:
        """Take in a load of micro-ops."""
        begin = load.dram_base - self._address
        self._words[load.sram_base : load.sram_base + load.x_size] = self._image[begin : begin + load.x_size]
        self._known.clear()

    def operand(self, name: str, instruction: Gemm | Alu) -> Range:
        """Return the elements that operand ``name`` of an instruction lies in."""
        key = (instruction.uop_bgn, instruction.uop_end)
        if key not in self._known:
            fields = decode_uop_fields(self._words[slice(*key)], self._config)
            self._known[key] = {field: (int(column.min()), int(column.max()) + 1) for field, column in fields.items()}
        low, high = self._known[key][name]
        steps = ((instruction.iter_out, f"{name}_factor_out"), (instruction.iter_in, f"{name}_factor_in"))
        return low, high + sum((count - 1) * int(getattr(instruction, factor)) for count, factor in steps)


class _Planner:
    """Walks over the stream and remembers who touched each scratchpad element last."""

    def __init__(self, entries: list[Entry], micro_ops: _MicroOps, config: VTAConfig) -> None:
        self._entries = entries
        self._micro_ops = micro_ops
        depths = {MemoryId.INP: config.inp_depth, MemoryId.WGT: config.wgt_depth, MemoryId.ACC: config.acc_depth}
        # INP and WGT pass from load to compute, ACC from compute to store.
        self._written = {memory: np.full(depth, _NEVER) for memory, depth in depths.items()}
        self._read = {memory: np.full(depth, _NEVER) for memory, depth in depths.items()}
        self._last = {Module.LOAD: _NEVER, Module.STORE: _NEVER}
        self._granted: dict[tuple[Module, Module], int] = {}

    def plan(self, index: int) -> None:
        """Let entry ``index`` wait for what it needs."""
        instruction = self._entries[index].instruction
        match instruction:
            case Load(memory=MemoryId.UOP):
                self._micro_ops.load(instruction)
            case Load(memory=MemoryId.INP | MemoryId.WGT):
                self._consume(index, Module.COMPUTE, self._read, [(instruction.memory, _loaded(instruction))])
                self._mark(index, self._written, [(instruction.memory, _loaded(instruction))])
                self._last[Module.LOAD] = index
            case Load():
                self._compute(index, [(MemoryId.ACC, _loaded(instruction))])
            case Gemm() | Alu():
                self._operate(index, instruction)
            case Store():
                places = [(MemoryId.ACC, _stored(instruction))]
                self._consume(index, Module.COMPUTE, self._written, places)
                self._mark(index, self._read, places)
                self._last[Module.STORE] = index
            case Finish():
                for source, last in self._last.items():
                    self._wait(index, source, last)

    def _operate(self, index: int, instruction: Gemm | Alu) -> None:
        if not (instruction.iter_out and instruction.iter_in and instruction.uop_end > instruction.uop_bgn):
            return
        if isinstance(instruction, Gemm) and not instruction.reset:
            operands = [
                (MemoryId.INP, self._micro_ops.operand("src", instruction)),
                (MemoryId.WGT, self._micro_ops.operand("wgt", instruction)),
            ]
            self._consume(index, Module.LOAD, self._written, operands)
            self._mark(index, self._read, operands)
        self._compute(index, [(MemoryId.ACC, self._micro_ops.operand("dst", instruction))])

    def _compute(self, index: int, places: Sequence[tuple[MemoryId, Range]]) -> None:
        """Compute writes accumulators, which stores before it must have read."""
        self._consume(index, Module.STORE, self._read, places)
        self._mark(index, self._written, places)

    def _consume(
        self,
        index: int,
        source: Module,
        table: dict[MemoryId, npt.NDArray[np.int64]],
        places: Iterable[tuple[MemoryId, Range]],
    ) -> None:
        """Wait for the last one of ``source`` that ``table`` knows at ``places``."""
        last = max(int(table[memory][slice(*place)].max(initial=_NEVER)) for memory, place in places)
        self._wait(index, source, last)

    def _mark(
        self, index: int, table: dict[MemoryId, npt.NDArray[np.int64]], places: Iterable[tuple[MemoryId, Range]]
    ) -> None:
        for memory, place in places:
            table[memory][slice(*place)] = index

    def _wait(self, index: int, source: Module, last: int) -> None:
        """Let ``index`` wait for entry ``last`` of ``source``, unless its module did already."""
        target = self._entries[index].module
        if last <= self._granted.get((source, target), _NEVER):
            return
        self._granted[source, target] = last
        rightwards = source < target
        self._entries[last].tokens |= _PUSH[rightwards]
        self._entries[index].tokens |= _POP[rightwards]


def _loaded(load: Load) -> Range:
    rows = load.y_pad_0 + load.y_size + load.y_pad_1
    return load.sram_base, load.sram_base + rows * (load.x_pad_0 + load.x_size + load.x_pad_1)


def _stored(store: Store) -> Range:
    return store.sram_base, store.sram_base + store.y_size * store.x_size
