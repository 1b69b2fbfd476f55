"""A launch's instruction words as the hardware's driver looks at them: what cannot be sent, what was executed, where
it stopped.

The hardware checks words, not the addresses and indices in them (it cuts these to the width that it has), so the device
looks for the first access out of range here, with the sentences of ``isa.reference``. Tests:
``tests/runtime/devices/tsim/test_stream.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from isa.bounds import index_text, row_outside, sram_text
from isa.bulk import FieldTable, array_to_words, decode_legal, encode_fields, modules_of, words_to_array
from isa.config import VTAConfig
from isa.encoding import decode, encode
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
from isa.tokens import TokenQueue, pops, pushes
from runtime.devices.device import ModuleHead
from runtime.memory.device_memory import FIRST_ADDRESS

__all__ = ["Fault", "InstructionStream"]

WordArray = npt.NDArray[np.uint64]
Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why instruction ``index`` cannot be executed."""

    index: int
    message: str


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
        self._range: tuple[int, Fault | None] | None = None
        self.work = _without_work(self.tables) if skip else self.tables

    def __len__(self) -> int:
        return len(self.array)

    def word(self, index: int) -> int:
        """Return one word."""
        [word] = array_to_words(self.array[index : index + 1])
        return word

    def words_to_run(self, count: int) -> WordArray:
        """Return the words to execute: the first ``count``, with FINISH in place of what follows, if anything does."""
        words = self.array[:count].copy()
        if self.skip:
            legal = encode_fields(self.work, self.config)
            words[: self.legal] = legal[:count]
        if count < len(self.array):
            words = np.concatenate([words, words_to_array([encode(Finish(), self.config)])])
        return words

    # --- what cannot be executed -------------------------------------------------------------------------------------

    def misplaced_finish(self) -> Fault | None:
        """Return the fault of a FINISH before the end, or of an end that is not FINISH."""
        finishes = self.tables["FINISH"].index if "FINISH" in self.tables else np.zeros(0, np.int64)
        last = len(self) - 1
        if finishes.size and finishes[0] < last:
            text = f"FINISH must be the last instruction of a launch, and this one has {len(self)}"
            return Fault(int(finishes[0]), text)
        if finishes.size or self.legal < len(self):
            return None
        kind = type(decode(self.word(last), self.config)).__name__.upper()
        return Fault(last, f"the last instruction of a launch must be FINISH, not {kind}")

    def first_out_of_range(self, dram_end: int) -> Fault | None:
        """Return the fault of the first transfer or micro-op range outside of a scratchpad or of DRAM."""
        if self._range is None or self._range[0] != dram_end:
            self._range = dram_end, self._first_out_of_range(dram_end)
        return self._range[1]

    def _first_out_of_range(self, dram_end: int) -> Fault | None:
        faults = [self._transfer_fault(name, dram_end) for name in ("LOAD", "STORE")]
        faults += [self._uop_fault(name) for name in ("GEMM", "ALU")]
        return min((fault for fault in faults if fault is not None), key=lambda fault: fault.index, default=None)

    def _transfer_fault(self, name: str, dram_end: int) -> Fault | None:
        table = self.work.get(name)
        if table is None:
            return None
        transfers = TransferColumns.of(table.columns)
        size = by_memory(transfers.memory, self.config.elem_bytes)
        depth = by_memory(transfers.memory, self.config.depth)
        first, last = transfers.dram_base * size, (transfers.dram_base + dram_reach(transfers)) * size
        off_chip = (first < FIRST_ADDRESS) | (last > dram_end)
        bad = (moved_elements(transfers) != 0) & (off_chip | (transfers.sram_base + tile_elements(transfers) > depth))
        if not bad.any():
            return None
        index = int(table.index[np.argmax(bad)])
        transfer = decode(self.word(index), self.config)
        assert isinstance(transfer, Load | Store)
        return Fault(index, self._refusal(transfer, range(FIRST_ADDRESS, dram_end)))

    def _refusal(self, transfer: Load | Store, dram: range) -> str:
        """Return why a transfer that is out of range is."""
        memory, count = transfer.memory, tile_elements(transfer)
        depth = self.config.depth(memory)
        if transfer.sram_base + count > depth:
            return sram_text(memory.name, transfer.sram_base, count, depth)
        text = row_outside(transfer, self.config.elem_bytes(memory), dram)
        assert text is not None, "what is in no scratchpad's way is out of DRAM"
        return text

    def _uop_fault(self, name: str) -> Fault | None:
        table = self.work.get(name)
        if table is None:
            return None
        loops = LoopColumns.of(table.columns)
        bad = (loop_steps(loops) != 0) & (loops.uop_end > self.config.uop_depth)
        if not bad.any():
            return None
        at = int(np.argmax(bad))
        text = index_text("micro-op", int(loops.uop_end[at]) - 1, self.config.uop_depth)
        return Fault(int(table.index[at]), text)

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
