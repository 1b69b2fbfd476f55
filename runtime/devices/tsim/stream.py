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

from isa.bulk import FieldTable, array_to_words, decode_fields, encode_fields, modules_of, words_to_array
from isa.config import VTAConfig
from isa.encoding import DecodingError, decode, encode
from isa.instructions import Deps, Finish, MemoryId, Module
from isa.tokens import TokenQueue, pops, pushes
from runtime.devices.device import ModuleHead
from runtime.memory.device_memory import FIRST_ADDRESS

__all__ = ["Fault", "InstructionStream"]

WordArray = npt.NDArray[np.uint64]
Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_ENDS = {
    TokenQueue.LOAD_TO_COMPUTE: (Module.LOAD, Module.COMPUTE),
    TokenQueue.COMPUTE_TO_LOAD: (Module.COMPUTE, Module.LOAD),
    TokenQueue.COMPUTE_TO_STORE: (Module.COMPUTE, Module.STORE),
    TokenQueue.STORE_TO_COMPUTE: (Module.STORE, Module.COMPUTE),
}


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
        self.legal, self.tables = _legal_prefix(array, config)
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
        column = table.columns
        size = _by_memory(column["memory"], {memory: self.config.elem_bytes(memory) for memory in MemoryId})
        depth = _by_memory(column["memory"], {memory: self.config.depth(memory) for memory in MemoryId})
        elements = (column["x_pad_0"] + column["x_size"] + column["x_pad_1"]) * (
            column["y_pad_0"] + column["y_size"] + column["y_pad_1"]
        )
        first = column["dram_base"] * size
        last = (
            column["dram_base"] + np.maximum(column["y_size"] - 1, 0) * column["x_stride"] + column["x_size"]
        ) * size
        works = (column["x_size"] != 0) & (column["y_size"] != 0)
        off_chip = (first < FIRST_ADDRESS) | (last > dram_end)
        bad = works & ((column["sram_base"] + elements > depth) | off_chip)
        if not bad.any():
            return None
        at = int(np.argmax(bad))
        index = int(table.index[at])
        base, end = int(column["sram_base"][at]), int(column["sram_base"][at] + elements[at])
        if end > depth[at]:
            memory = MemoryId(int(column["memory"][at])).name
            text = f"{memory} elements {base} to {end - 1} are out of range, the buffer has {depth[at]} elements"
            return Fault(index, text)
        row = {key: int(values[at]) for key, values in column.items()}
        return Fault(index, _dram_text(row, int(size[at]), dram_end))

    def _uop_fault(self, name: str) -> Fault | None:
        table = self.work.get(name)
        if table is None:
            return None
        column = table.columns
        works = (column["iter_out"] != 0) & (column["iter_in"] != 0) & (column["uop_end"] > column["uop_bgn"])
        bad = works & (column["uop_end"] > self.config.uop_depth)
        if not bad.any():
            return None
        at = int(np.argmax(bad))
        text = (
            f"micro-op index {column['uop_end'][at] - 1} is out of range, "
            f"the buffer has {self.config.uop_depth} elements"
        )
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
            heads.append(ModuleHead(module, index, tuple(_ENDS[queue] for queue in lacking)))
        return heads

    def _deps(self, index: int) -> tuple[Module, Deps]:
        instruction = decode(self.word(index), self.config)
        return instruction.module, instruction.deps


def _legal_prefix(array: WordArray, config: VTAConfig) -> tuple[int, Mapping[str, FieldTable]]:
    """Return how many words come before the first illegal one, and their fields."""
    try:
        return len(array), decode_fields(array, config)
    except DecodingError:
        for index, word in enumerate(array_to_words(array)):
            try:
                decode(word, config)
            except DecodingError:
                return index, decode_fields(array[:index], config)
        raise AssertionError("bulk and scalar decoder judge every word alike") from None


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


def _by_memory(memories: Column, values: Mapping[MemoryId, int]) -> Column:
    """Return the value of each memory in a column of legal memory ids."""
    lookup = np.array([values[memory] for memory in sorted(values)], np.int64)
    return lookup[memories]


def _dram_text(transfer: Mapping[str, int], size: int, dram_end: int) -> str:
    """Name the first row that leaves DRAM."""
    for y in range(transfer["y_size"]):
        begin = (transfer["dram_base"] + y * transfer["x_stride"]) * size
        end = begin + transfer["x_size"] * size
        if begin < FIRST_ADDRESS:
            return f"DRAM bytes {begin:#x} to {end - 1:#x} are out of range, memory begins at {FIRST_ADDRESS:#x}"
        if end > dram_end:
            return f"DRAM bytes {begin:#x} to {end - 1:#x} are out of range, memory ends at {dram_end:#x}"
    raise AssertionError("a transfer out of range has a row out of range")
