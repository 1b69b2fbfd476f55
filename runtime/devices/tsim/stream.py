"""A launch's instruction words as the hardware's driver looks at them: what cannot be sent, what was executed, where
it stopped.

The hardware checks words when it comes to them, and not the addresses and indices in them (it cuts these to the width
that it has). The other engines look at all words first and at every access, so this one looks for the same before the
launch. Tests:
``tests/runtime/devices/tsim/test_stream.py``.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from isa.bounds import index_text, row_outside, sram_text
from isa.bulk import FieldTable, array_to_words, decode_all, decode_legal, encode_fields, modules_of, words_to_array
from isa.config import VTAConfig
from isa.encoding import DecodingError, decode, encode, layout_name
from isa.extents import (
    LoopColumns,
    TransferColumns,
    by_memory,
    dram_reach,
    loop_steps,
    moved_elements,
    tile_elements,
)
from isa.instructions import Deps, Finish, Load, MemoryId, Module, Store
from isa.tokens import TokenQueue, pops, pushes, token_order
from runtime.devices.device import ModuleHead
from runtime.memory.device_memory import FIRST_ADDRESS

__all__ = ["Fault", "Foreseen", "InstructionStream", "UopLoad"]

WordArray = npt.NDArray[np.uint64]
Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why instruction ``index`` cannot be executed."""

    index: int
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """How a launch is going to be: the ``places`` of the instructions that are executed, and the fault that ends it."""

    places: Column
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class UopLoad:
    """Load ``index`` of ``x_size`` micro-ops."""

    index: int
    sram_base: int
    dram_base: int
    x_size: int


class InstructionStream:
    """The words of a launch, shape (n, 2); those from the first illegal one on are not looked at.

    With ``skip``, instructions other than loads of micro-ops keep their tokens and lose their work. ``tables`` are the
    fields of the words, ``work`` those of what is to be done.
    """

    def __init__(self, array: WordArray, config: VTAConfig, *, skip: bool = False) -> None:
        self.config = config
        self.array = array
        self.legal, self.tables = decode_legal(array, config)
        self.skip = skip
        self._range: tuple[int, Mapping[Module, Fault]] | None = None
        self.work = _without_work(self.tables) if skip else self.tables

    def __len__(self) -> int:
        return len(self.array)

    def word(self, index: int) -> int:
        """Return one word."""
        [word] = array_to_words(self.array[index : index + 1])
        return word

    def words_to_run(self, places: Column) -> WordArray:
        """Return the words at ``places``, as they are to be executed, with FINISH after them if the last one is not."""
        words = encode_fields(self.work, self.config)[places] if self.skip else self.array[places]
        if len(places) < len(self):
            words = np.concatenate([words, words_to_array([encode(Finish(), self.config)])])
        return words

    def stores_over(self, begin: int, end: int) -> bool:
        """Return whether a store may write bytes ``begin`` to ``end - 1`` of DRAM."""
        lows, highs = self._stored
        return bool(((lows < end) & (highs > begin)).any())

    @cached_property
    def _stored(self) -> tuple[Column, Column]:
        """The first byte that each store with work writes, and the one after the last."""
        table = self.work.get("STORE")
        if table is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        transfers, size = TransferColumns.of(table.columns), self.config.elem_bytes(MemoryId.OUT)
        works = moved_elements(transfers) != 0
        low, high = transfers.dram_base * size, (transfers.dram_base + dram_reach(transfers)) * size
        return low[works], high[works]

    @property
    def stored_ranges(self) -> list[tuple[int, int]]:
        """The bytes of DRAM from the first to behind the last that each store with work writes."""
        lows, highs = self._stored
        return list(zip(lows.tolist(), highs.tolist(), strict=True))

    @cached_property
    def loaded_ranges(self) -> list[tuple[int, int]]:
        """The bytes of DRAM from the first to behind the last that each load with work reads."""
        table = self.work.get("LOAD")
        if table is None:
            return []
        transfers = TransferColumns.of(table.columns)
        size = by_memory(transfers.memory, self.config.elem_bytes)
        works = moved_elements(transfers) != 0
        low, high = transfers.dram_base * size, (transfers.dram_base + dram_reach(transfers)) * size
        return list(zip(low[works].tolist(), high[works].tolist(), strict=True))

    @cached_property
    def uop_loads(self) -> list[UopLoad]:
        """The loads of micro-ops that do anything, in order."""
        table = self.work.get("LOAD")
        if table is None:
            return []
        columns = table.columns
        chosen = (columns["memory"] == MemoryId.UOP) & (columns["x_size"] != 0)
        picked = [table.index, columns["sram_base"], columns["dram_base"], columns["x_size"]]
        return [UopLoad(*row) for row in zip(*(column[chosen].tolist() for column in picked), strict=True)]

    @property
    def stores_own_uops(self) -> bool:
        """Whether a store may write what a load of micro-ops reads."""
        loads = self.uop_loads
        if not loads:
            return False
        begin = min(load.dram_base for load in loads)
        end = max(load.dram_base + load.x_size for load in loads)
        return self.stores_over(begin * self.config.uop_elem_bytes, end * self.config.uop_elem_bytes)

    # --- what cannot be executed -------------------------------------------------------------------------------------

    def refusal(self) -> Fault | None:
        """Return why the launch cannot even begin: an illegal word, or FINISH not at the end and only there."""
        finishes = self.tables["FINISH"].index if "FINISH" in self.tables else np.zeros(0, np.int64)
        last = len(self) - 1
        if finishes.size and finishes[0] < last:
            text = f"FINISH must be the last instruction of a launch, and this one has {len(self)}"
            return Fault(int(finishes[0]), text)
        if self.legal < len(self):
            return Fault(self.legal, _refusal(self.word(self.legal), self.config))
        if finishes.size:
            return None
        kind = layout_name(decode(self.word(last), self.config))
        return Fault(last, f"the last instruction of a launch must be FINISH, not {kind}")

    def out_of_range(self, dram_end: int) -> Mapping[Module, Fault]:
        """Return each module's first transfer or micro-op range that is outside of a scratchpad or of DRAM."""
        if self._range is None or self._range[0] != dram_end:
            faults = [*self._transfer_faults(dram_end), *self._uop_faults()]
            faults.sort(key=lambda fault: -fault.index)
            self._range = dram_end, {Module(int(self.modules[fault.index])): fault for fault in faults}
        return self._range[1]

    def up_to_first(self, faults: Collection[Fault]) -> "Foreseen":
        """Return what is executed before the first of ``faults``: modules go on as their tokens come.

        None of them is reached where the modules stop for lack of tokens before it.
        """
        order = token_order(decode_all(self.array, self.config)).executed
        by_index = {fault.index: fault for fault in faults}
        for count, index in enumerate(order):
            if index in by_index:
                return Foreseen(np.array(order[:count], np.int64), by_index[index])
        return self.whole

    @property
    def whole(self) -> "Foreseen":
        """Everything, with no fault."""
        return Foreseen(np.arange(len(self)), None)

    def _transfer_faults(self, dram_end: int) -> Iterator[Fault]:
        for table in (self.work[name] for name in ("LOAD", "STORE") if name in self.work):
            transfers = TransferColumns.of(table.columns)
            size = by_memory(transfers.memory, self.config.elem_bytes)
            depth = by_memory(transfers.memory, self.config.depth)
            first, last = transfers.dram_base * size, (transfers.dram_base + dram_reach(transfers)) * size
            off_chip = (first < FIRST_ADDRESS) | (last > dram_end)
            too_many = transfers.sram_base + tile_elements(transfers) > depth
            bad = (moved_elements(transfers) != 0) & (off_chip | too_many)
            for index in self._first_of_each_module(table.index[bad]):
                transfer = decode(self.word(index), self.config)
                assert isinstance(transfer, Load | Store)
                yield Fault(index, self._range_text(transfer, range(FIRST_ADDRESS, dram_end)))

    def _first_of_each_module(self, indices: Column) -> list[int]:
        _, firsts = np.unique(self.modules[indices], return_index=True)
        first: list[int] = indices[firsts].tolist()
        return first

    def _range_text(self, transfer: Load | Store, dram: range) -> str:
        """Return why a transfer that is out of range is."""
        memory, count = transfer.memory, tile_elements(transfer)
        depth = self.config.depth(memory)
        if transfer.sram_base + count > depth:
            return sram_text(memory.name, transfer.sram_base, count, depth)
        text = row_outside(transfer, self.config.elem_bytes(memory), dram)
        assert text is not None, "what is in no scratchpad's way is out of DRAM"
        return text

    def _uop_faults(self) -> Iterator[Fault]:
        for table in (self.work[name] for name in ("GEMM", "ALU") if name in self.work):
            loops = LoopColumns.of(table.columns)
            bad = np.flatnonzero((loop_steps(loops) != 0) & (loops.uop_end > self.config.uop_depth))
            if bad.size:
                text = index_text("micro-op", int(loops.uop_end[bad[0]]) - 1, self.config.uop_depth)
                yield Fault(int(table.index[bad[0]]), text)

    # --- where a launch stopped --------------------------------------------------------------------------------------

    @cached_property
    def modules(self) -> Column:
        """The ``Module`` of each legal instruction."""
        return modules_of(self.tables, self.legal)

    def started(self, counts: Mapping[Module, int]) -> Mask:
        """Return which instructions were started, given how many each module did (each does its own in order)."""
        flags = np.zeros(len(self), np.bool_)
        for module, count in counts.items():
            flags[np.flatnonzero(self.modules == module)[:count]] = True
        return flags

    def heads(self, counts: Mapping[Module, int], *, fetched: int) -> list[ModuleHead]:
        """Return the next instruction of every module and the tokens that it lacks.

        ``fetched`` instructions have been dispatched; a head beyond them waits for no token.
        """
        tokens = dict.fromkeys(TokenQueue, 0)
        for index in np.flatnonzero(self.started(counts)).tolist():
            module, deps = self._deps(index)
            for queue in pops(module, deps):
                tokens[queue] -= 1
            for queue in pushes(module, deps):
                tokens[queue] += 1
        heads = []
        for module in Module:
            waiting = np.flatnonzero(self.modules == module)[counts[module] :]
            if not waiting.size:
                heads.append(ModuleHead(module, None))
                continue
            index = int(waiting[0])
            lacking = [queue for queue in pops(*self._deps(index)) if not tokens[queue]] if index < fetched else []
            heads.append(ModuleHead(module, index, tuple(queue.ends for queue in lacking)))
        return heads

    def _deps(self, index: int) -> tuple[Module, Deps]:
        instruction = decode(self.word(index), self.config)
        return instruction.module, instruction.deps


def _without_work(tables: Mapping[str, FieldTable]) -> Mapping[str, FieldTable]:
    """Return the tables with sizes and iterations of zero, loads of micro-ops aside."""
    changed = dict(tables)
    for name, key in (("LOAD", "x_size"), ("STORE", "x_size"), ("GEMM", "iter_out"), ("ALU", "iter_out")):
        if name not in tables:
            continue
        columns = tables[name].columns
        kept = columns["memory"] == MemoryId.UOP if name == "LOAD" else np.zeros(columns[key].shape, np.bool_)
        changed[name] = replace(tables[name], columns={**columns, key: np.where(kept, columns[key], 0)})
    return changed


def _refusal(word: int, config: VTAConfig) -> str:
    try:
        decode(word, config)
    except DecodingError as error:
        return str(error)
    raise AssertionError("bulk and scalar decoder judge every word alike")
