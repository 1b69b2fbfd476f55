"""What a stream of instruction words does, counted without running it: bytes, tensor operations, instructions by kind.

The sums are those that ``isa.reference`` counts while it executes; thousands of words take milliseconds. Tests:
``tests/runtime/observe/test_word_counts.py``.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from isa.bulk import FieldTable
from isa.config import VTAConfig
from isa.extents import LoopColumns, TransferColumns, loop_steps, moved_elements
from isa.instructions import MemoryId
from runtime.observe.stats import InstructionCounts, Statistics

__all__ = ["count_words"]

Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_BYTES_OF = {
    MemoryId.INP: "inp_load_nbytes",
    MemoryId.WGT: "wgt_load_nbytes",
    MemoryId.ACC: "acc_load_nbytes",
    MemoryId.ACC_8BIT: "acc_load_nbytes",
    MemoryId.UOP: "uop_load_nbytes",
}

_COUNTERS = tuple(Statistics().as_dict())


def count_words(tables: Mapping[str, FieldTable], chosen: Mask, config: VTAConfig) -> Statistics:
    """Return the counters of the instructions that ``chosen`` (one flag per instruction of the stream) picks.

    ``tables`` are the stream's fields as ``isa.bulk.decode_fields`` returns them. ``launches`` stays 0.
    """
    found: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for name, table in tables.items():
        picked = chosen[table.index]
        columns = {key: column[picked] for key, column in table.columns.items()}
        match name:
            case "LOAD":
                _count_loads(columns, config, found, kinds)
            case "STORE":
                moved = moved_elements(TransferColumns.of(columns))
                found["out_store_nbytes"] = int(moved.sum()) * config.elem_bytes(MemoryId.OUT)
                nops = columns["x_size"] == 0
                kinds |= {"store": int((~nops).sum()), "nop_store": int(nops.sum())}
            case "GEMM":
                resets = columns["reset"] != 0
                found["gemm_counter"] = int(loop_steps(LoopColumns.of(columns))[~resets].sum())
                kinds |= {"gemm": int((~resets).sum()), "gemm_reset": int(resets.sum())}
            case "ALU":
                found["alu_counter"] = int(loop_steps(LoopColumns.of(columns)).sum())
                kinds["alu"] = int(picked.sum())
            case _:
                kinds["finish"] = int(picked.sum())
    return Statistics(
        **{name: found.get(name, 0) for name in _COUNTERS},  # type: ignore[arg-type]  # the counters are all ints
        instructions=InstructionCounts(**kinds),
    )


def _count_loads(
    columns: Mapping[str, Column], config: VTAConfig, found: dict[str, int], kinds: dict[str, int]
) -> None:
    nops = columns["x_size"] == 0
    load_module = (columns["memory"] == MemoryId.INP) | (columns["memory"] == MemoryId.WGT)
    kinds |= {"nop_load": int((nops & load_module).sum()), "nop_compute": int((nops & ~load_module).sum())}
    moved = moved_elements(TransferColumns.of(columns))
    for memory, counter in _BYTES_OF.items():
        here = columns["memory"] == memory
        kinds[f"load_{memory.name.lower()}"] = int((here & ~nops).sum())
        found[counter] = found.get(counter, 0) + int(moved[here].sum()) * config.elem_bytes(memory)
