"""What loads of micro-ops leave on chip, and the first instruction whose micro-ops reach out of a scratchpad.

The hardware cuts such an index to the width that it has. Tests: ``tests/runtime/devices/tsim/test_uops.py``.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from isa.bounds import index_text
from isa.bulk import FieldTable, decode_uop_fields
from isa.config import VTAConfig
from isa.encoding import DecodingError, decode_uop
from isa.extents import (
    ALU_OPERANDS,
    GEMM_OPERANDS,
    LoopColumns,
    TransferColumns,
    dram_reach,
    last_index,
    loop_steps,
    moved_elements,
)
from isa.instructions import MemoryId
from isa.layout import uop_layout
from runtime.devices.tsim.stream import Fault

__all__ = ["MicroOpShadow"]

Column = npt.NDArray[np.int64]


class MicroOpShadow:
    """A copy of the micro-op buffer, kept from launch to launch, as the loads of each launch change it."""

    def __init__(self, config: VTAConfig) -> None:
        self.config = config
        self._words = np.zeros(config.uop_depth, np.uint32)
        self._fields = decode_uop_fields(np.zeros(config.uop_depth + 1, np.uint32), config)  # one more: an open end
        self._unused = np.uint32(uop_layout(config).unused_mask)

    def first_fault(
        self, tables: Mapping[str, FieldTable], memory: npt.NDArray[np.uint8], *, before: int
    ) -> Fault | None:
        """Return the fault of the first instruction of those ``before`` an index, and take in the loads up to there.

        ``memory`` is all of DRAM before the launch. A launch that stores micro-ops for itself is not looked at.
        """
        loads = _micro_op_loads(tables.get("LOAD"), before)
        unknown = self._stores_over(tables.get("STORE"), loads)
        begin = 0
        for end, sram, dram, count in loads:
            loaded = memory[4 * dram : 4 * (dram + count)].view("<u4")
            if np.array_equal(self._words[sram : sram + count], loaded):
                continue  # as when a launch comes again
            fault = None if unknown else self._fault_between(tables, begin, end)
            if fault is not None:
                return fault
            self._words[sram : sram + count] = loaded
            for key, column in decode_uop_fields(loaded, self.config).items():
                self._fields[key][sram : sram + count] = column
            begin = end
        return None if unknown else self._fault_between(tables, begin, before)

    def _stores_over(self, stores: FieldTable | None, loads: list[tuple[int, int, int, int]]) -> bool:
        """Return whether a store may write what a load reads."""
        if stores is None or not loads:
            return False
        transfers, size = TransferColumns.of(stores.columns), self.config.elem_bytes(MemoryId.OUT)
        low, high = transfers.dram_base * size, (transfers.dram_base + dram_reach(transfers)) * size
        works = moved_elements(transfers) != 0
        first, last = 4 * min(load[2] for load in loads), 4 * max(load[2] + load[3] for load in loads)
        return bool((works & (low < last) & (high > first)).any())

    def _fault_between(self, tables: Mapping[str, FieldTable], begin: int, end: int) -> Fault | None:
        """Return the first fault of the instructions from ``begin`` up to ``end``, between which nothing is loaded."""
        faults = [fault for name in ("GEMM", "ALU") for fault in self._faults_of(name, tables.get(name), begin, end)]
        return min(faults, key=lambda fault: fault.index, default=None)

    def _faults_of(self, name: str, table: FieldTable | None, begin: int, end: int) -> Iterator[Fault]:
        """Yield the first fault of each kind."""
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
        for operand in GEMM_OPERANDS if name == "GEMM" else ALU_OPERANDS:
            used = works & (columns[operand.unless] == 0) if operand.unless else works
            depth = self.config.depth(operand.memory)
            last = last_index(
                np.maximum.reduceat(self._fields[operand.field], bounds.reshape(-1))[::2],
                loops,
                outer=columns[f"{operand.field}_factor_out"],
                inner=columns[f"{operand.field}_factor_in"],
            )
            bad = np.flatnonzero(used & (last >= depth))
            if bad.size:
                text = index_text(operand.name, int(last[bad[0]]), depth)
                yield Fault(int(table.index[span][bad[0]]), text)
        if self._unused and (self._words & self._unused).any():
            for at in np.flatnonzero(works).tolist():
                refusal = self._refusal(*bounds[at].tolist())
                if refusal is not None:
                    yield Fault(int(table.index[span][at]), refusal)
                    return

    def _refusal(self, begin: int, end: int) -> str | None:
        """Return why one of the micro-ops is illegal, or None."""
        words = self._words[begin:end]
        if not (words & self._unused).any():
            return None
        try:
            decode_uop(int(words[np.argmax((words & self._unused) != 0)]), self.config)
        except DecodingError as error:
            return str(error)
        raise AssertionError("bulk and scalar decoder judge every micro-op alike")


def _micro_op_loads(table: FieldTable | None, before: int) -> list[tuple[int, int, int, int]]:
    """Return index, sram_base, dram_base and x_size of every load of micro-ops before an index."""
    if table is None:
        return []
    columns = table.columns
    chosen = (columns["memory"] == MemoryId.UOP) & (columns["x_size"] != 0) & (table.index < before)
    picked = [table.index, columns["sram_base"], columns["dram_base"], columns["x_size"]]
    return list(zip(*(column[chosen].tolist() for column in picked), strict=True))
