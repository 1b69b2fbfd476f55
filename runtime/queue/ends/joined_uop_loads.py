"""Loads of micro-ops that follow one another on chip and in memory, as one.

The kernels of an epilogue have a micro-op or a few each. Loaded one by one, they fill the compute module's window, and
the sums of the next tile wait until it has room. Tests: ``tests/runtime/queue/ends/test_joined_uop_loads.py``.
"""

import dataclasses
from collections.abc import Sequence

from isa.instructions import Alu, Gemm, Instruction, Load, MemoryId
from runtime.queue.instruction_queue import Entry

__all__ = ["joined_uop_loads", "uops_used"]

_MOST_ADDED = 16
"""Micro-ops of a load that joins another one."""

_MOST_TOGETHER = 64
"""Micro-ops that join: what waits for the first ones waits for all."""


def joined_uop_loads(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with short loads of micro-ops joined to ones before; nobody uses their places in between."""
    found: list[Entry] = []
    place, added, used = -1, 0, 0
    for entry in entries:
        match entry.instruction:
            case Load(memory=MemoryId.UOP) as load:
                before = found[place].instruction if place >= 0 else None
                mine = uops_used(load)
                if isinstance(before, Load) and _follows(before, load) and not mine & used:
                    added += load.x_size
                    if load.x_size <= _MOST_ADDED and added <= _MOST_TOGETHER:
                        size = before.x_size + load.x_size
                        longer = dataclasses.replace(before, x_size=size, x_stride=size)
                        found[place] = dataclasses.replace(found[place], instruction=longer)
                        continue
                place, added, used = len(found), 0, 0
            case _:
                used |= uops_used(entry.instruction)
        found.append(entry)
    return found


def _follows(before: Load, load: Load) -> bool:
    """Whether a load begins where another one ends."""
    ends = (before.sram_base + before.x_size, before.dram_base + before.x_size)
    return (load.sram_base, load.dram_base) == ends and before.y_size == load.y_size == 1


def uops_used(instruction: Instruction) -> int:
    """Return the elements of the micro-op buffer that an instruction loads or runs, as bits."""
    match instruction:
        case Load(memory=MemoryId.UOP) as load:
            return (1 << (load.sram_base + load.x_size)) - (1 << load.sram_base)
        case Gemm() | Alu() as loops if loops.uop_end > loops.uop_bgn:
            return (1 << loops.uop_end) - (1 << loops.uop_bgn)
        case _:
            return 0
