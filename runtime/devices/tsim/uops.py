"""What loads of micro-ops leave on chip, and the first instruction whose micro-ops reach out of a scratchpad.

The hardware cuts such an index to the width that it has. Tests: ``tests/runtime/devices/tsim/test_uops.py``.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from isa.bounds import index_text
from isa.bulk import FieldTable, decode_uop_fields
from isa.config import VTAConfig
from isa.extents import (
    ALU_OPERANDS,
    GEMM_OPERANDS,
    LoopColumns,
    last_index,
    loop_steps,
)
from isa.instructions import MemoryId
from isa.known_uops import UopRange
from isa.layout import uop_layout
from runtime.devices.tsim.stream import Fault, InstructionStream

__all__ = ["MicroOpShadow"]

Column = npt.NDArray[np.int64]


class MicroOpShadow:
    """What the micro-op buffer of the hardware holds, as far as a launch's words say; ``learn`` sets it right."""

    def __init__(self, config: VTAConfig) -> None:
        self.config = config
        self._words = np.zeros(config.uop_depth, np.uint32)
        self._fields = decode_uop_fields(np.zeros(config.uop_depth + 1, np.uint32), config)  # one more: an open end
        self._unused = np.uint32(uop_layout(config).unused_mask)

    def learn(self, words: npt.NDArray[np.uint32]) -> None:
        """Take over what the buffer really holds: a launch did not do all that its words say, or stored micro-ops."""
        self._put(0, words)

    def first_fault(self, stream: InstructionStream, memory: npt.NDArray[np.uint8], *, before: int) -> Fault | None:
        """Return the fault of the first instruction of those ``before`` an index, and take in the loads up to there.

        ``memory`` is all of DRAM before the launch; no store of the launch changes the micro-ops in it.
        """
        tables, begin = stream.work, 0
        for load in stream.uop_loads:
            if load.index >= before:
                break
            loaded = memory[4 * load.dram_base : 4 * (load.dram_base + load.x_size)].view("<u4")
            if np.array_equal(self._words[load.sram_base : load.sram_base + load.x_size], loaded):
                continue  # as when a launch comes again
            fault = self._fault_between(tables, begin, load.index)
            if fault is not None:
                return fault
            self._put(load.sram_base, loaded)
            begin = load.index
        return self._fault_between(tables, begin, before)

    def _put(self, place: int, words: npt.NDArray[np.uint32]) -> None:
        self._words[place : place + len(words)] = words
        for key, column in decode_uop_fields(words, self.config).items():
            self._fields[key][place : place + len(words)] = column

    def _fault_between(self, tables: Mapping[str, FieldTable], begin: int, end: int) -> Fault | None:
        """Return the first fault of the instructions from ``begin`` up to ``end``, between which nothing is loaded."""
        faults = [fault for name in ("GEMM", "ALU") for fault in self._faults_of(name, tables.get(name), begin, end)]
        return min(faults, key=lambda fault: fault.index, default=None)

    def _faults_of(self, name: str, table: FieldTable | None, begin: int, end: int) -> Iterator[Fault]:
        """Yield the first fault of each kind; of one instruction, in the order in which engines look."""
        if table is None:
            return
        span = slice(*np.searchsorted(table.index, [begin, end]).tolist())
        columns = {key: column[span] for key, column in table.columns.items()}
        loops = LoopColumns.of(columns)
        works = loop_steps(loops) != 0
        if not works.any():
            return
        bounds = np.stack([loops.uop_bgn, loops.uop_end], axis=1)
        bounds[~works] = (0, 1)
        if self._unused and (self._words & self._unused).any():
            for at in np.flatnonzero(works).tolist():
                refusal = UopRange.of(self._words[slice(*bounds[at])], self.config).problem
                if refusal is not None:
                    yield Fault(int(table.index[span][at]), refusal)
                    break
        for operand in GEMM_OPERANDS if name == "GEMM" else ALU_OPERANDS:
            used = works & (columns[operand.unless] == 0) if operand.unless else works
            depth = self.config.depth(operand.memory)
            last = last_index(
                np.maximum.reduceat(self._fields[operand.field], bounds.reshape(-1))[::2],
                loops,
                outer=columns[f"{operand.field}_factor_out"],
                inner=columns[f"{operand.field}_factor_in"],
            )
            if operand.memory is MemoryId.INP and "depthwise" in columns:
                last = last + np.where(columns["depthwise"] != 0, self.config.depthwise_taps - 1, 0)
            if operand.field == "src" and "fused" in columns:
                last = last + (columns["fused"] != 0)
            bad = np.flatnonzero(used & (last >= depth))
            if bad.size:
                text = index_text(operand.name, int(last[bad[0]]), depth)
                yield Fault(int(table.index[span][bad[0]]), text)
