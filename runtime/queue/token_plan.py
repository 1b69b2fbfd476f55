"""Tokens from a plain instruction stream: which instructions of different modules have to wait for one another.

The stream says what happens when its instructions run one after the other. Two instructions of different modules must
keep that order only if one writes scratchpad elements that the other reads or writes. For each instruction, and each
neighbour of its module, that leaves one to wait for: the last of that neighbour's instructions that it conflicts with.
An instruction waits only if it needs a later one than those before it in its module did, so the k-th push of a queue
is the one that its k-th pop means.

Data that passes through DRAM within a launch (bytes that are loaded and stored) is ordered by ``serialise``.
Tests: ``tests/runtime/queue/test_token_plan.py``.
"""

from collections.abc import Sequence
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.footprint import Footprint, Footprints
from isa.instructions import Alu, Finish, Gemm, Load, MemoryId, Module, Store
from isa.known_uops import UopBuffer
from runtime.memory.device_memory import Allocation
from runtime.queue.instruction_queue import Entry, Token
from runtime.queue.launch import LaunchAddresses
from runtime.queue.serial import serialise

__all__ = ["passes_through_dram", "plan_tokens"]

Range = tuple[int, int]
"""First element, and the one after the last."""

_PUSH = {True: Token.PUSH_NEXT, False: Token.PUSH_PREV}
_POP = {True: Token.POP_PREV, False: Token.POP_NEXT}
_NEVER = -1
_ANYWHERE = range(1 << 63)
"""Whether transfers lie in memory was checked when they were asked for."""


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
    if passes_through_dram(work):
        return serialise(work)
    image = np.array(uops, np.uint32)
    planner = _Planner(work, image, addresses.uops // config.uop_elem_bytes, config)
    for index in range(len(work)):
        planner.plan(index)
    return work


def passes_through_dram(entries: Sequence[Entry]) -> bool:
    """Whether bytes of a buffer are loaded and stored, so that tokens alone do not order the entries."""
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


_PRODUCER = {MemoryId.INP: Module.LOAD, MemoryId.WGT: Module.LOAD, MemoryId.ACC: Module.COMPUTE}
"""Who writes each scratchpad. The module to the right of it consumes what is there, and never writes it."""


class _Planner:
    """Walks over the stream and remembers who touched each scratchpad element last."""

    def __init__(self, entries: list[Entry], image: npt.NDArray[np.uint32], image_base: int, config: VTAConfig) -> None:
        self._entries = entries
        self._image = image
        self._image_base = image_base
        self._uops = UopBuffer(config)
        self._footprints = Footprints(config, _ANYWHERE)
        # For each element, the last entry that wrote it and the last one of the consumer that read it. One number is
        # enough: entries of one module complete in order, so whoever waits for the last has waited for all of them.
        self._written = {memory: np.full(config.depth(memory), _NEVER) for memory in _PRODUCER}
        self._read = {memory: np.full(config.depth(memory), _NEVER) for memory in _PRODUCER}
        self._last = {Module.LOAD: _NEVER, Module.STORE: _NEVER}
        # The last entry of a module that another one has waited for: what came before it needs no token any more.
        self._granted: dict[tuple[Module, Module], int] = {}

    def plan(self, index: int) -> None:
        """Let entry ``index`` wait for what it needs."""
        instruction = self._entries[index].instruction
        match instruction:
            case Load(memory=MemoryId.UOP):
                # Micro-ops are loaded and used by one module, and nothing stores them: they need no tokens.
                begin = instruction.dram_base - self._image_base
                self._uops.put(instruction.sram_base, self._image[begin : begin + instruction.x_size])
            case Finish():
                # The launch is over when FINISH is; compute's own work is done before it anyway.
                for source, last in self._last.items():
                    self._wait(index, source, last)
            case Load() | Store() | Gemm() | Alu():
                self._order(index, instruction.module, self._footprints.of(instruction, self._uops.read))
            case _:
                assert_never(instruction)

    def _order(self, index: int, module: Module, footprint: Footprint) -> None:
        """Wait for the other module at each place, then remember having been there.

        What a module reads of its own (a sum reads its accumulator) its own order takes care of; noting it would hide
        the consumer's reads, for which a later write has to wait.
        """
        reads = [(memory, elements) for memory, elements in footprint.reads if _PRODUCER[memory] is not module]
        # One wait for each neighbour, for the last of all that is needed: an instruction has one flag for each queue.
        if reads:
            last = max(int(self._written[memory][elements].max()) for memory, elements in reads)
            self._wait(index, Module(module - 1), last)
        if footprint.writes:
            last = max(int(self._read[memory][elements].max()) for memory, elements in footprint.writes)
            self._wait(index, Module(module + 1), last)
        for memory, elements in reads:
            self._read[memory][elements] = index
        for memory, elements in footprint.writes:
            self._written[memory][elements] = index
        if module in self._last:
            self._last[module] = index

    def _wait(self, index: int, source: Module, last: int) -> None:
        """Let ``index`` wait for entry ``last`` of ``source``, unless its module did already.

        A token is a count, not a name: the k-th pop takes what the k-th push gave. Pushes are asked for in ascending
        order (``_granted`` only grows), and pops come in program order, so the k-th of both belong together.
        """
        target = self._entries[index].module
        if last <= self._granted.get((source, target), _NEVER):
            return
        self._granted[source, target] = last
        rightwards = source < target
        self._entries[last].tokens |= _PUSH[rightwards]
        self._entries[index].tokens |= _POP[rightwards]
