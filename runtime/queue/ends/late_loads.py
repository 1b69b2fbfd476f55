"""Loads of what stays on the chip for several steps, in parts: each just before the first step that needs it.

Where one load brings the operands of all steps of a tile, the first step would wait for all of it, and the load for the
last step of the tile before. In parts, the loads of the last steps run beside the first steps.
Tests: ``tests/runtime/queue/ends/test_late_loads.py``.
"""

from collections.abc import Sequence

from isa.config import VTAConfig
from isa.extents import moved_elements
from isa.footprint import Footprints
from isa.instructions import Gemm, Load, MemoryId
from runtime.queue.ends.arriving import Arriving
from runtime.queue.ends.taking_turns import Known, touched_by
from runtime.queue.instruction_queue import Entry

__all__ = ["late_loads", "resident_operands"]


def late_loads(known: Sequence[Known], config: VTAConfig) -> list[Known]:
    """Return the entries with loads of operands that serve several sums in parts, each before the first that needs it.

    Nothing else touches the elements in between, so the order means the same.
    """
    resident = resident_operands(known)
    if not resident:
        return list(known)
    footprints = Footprints(config, range(1 << 63))
    waiting: list[Arriving] = []
    found: list[Known] = []
    for place, (entry, uops) in enumerate(known):
        match entry.instruction:
            case Load() as load if load.memory in (MemoryId.INP, MemoryId.WGT) and moved_elements(load):
                new = Arriving.of(place, entry, config)
                found += _asked_for(waiting, {new.memory: new.mask})
                if load.memory in resident and new.rows.count * new.rows.width >= new.least:
                    waiting.append(new)
                    continue
            case Gemm(reset=False) if waiting:
                touched = None if uops is None else touched_by(entry, uops, footprints)
                found += _asked_for(waiting, touched)
            case _:
                pass
        found.append((entry, uops))
        waiting = [each for each in waiting if each.left]
    end = len(found) - 1  # FINISH comes after all of them
    return [*found[:end], *_asked_for(waiting, None), *found[end:]]


def resident_operands(known: Sequence[Known]) -> set[MemoryId]:
    """Return the memories of operands which are not loaded before every sum."""
    fresh: set[MemoryId] = set()
    resident: set[MemoryId] = set()
    for entry, _ in known:
        match entry.instruction:
            case Load() as load:
                fresh.add(load.memory)
            case Gemm(reset=False):
                resident |= {MemoryId.INP, MemoryId.WGT} - fresh
                fresh.clear()
            case _:
                pass
    return resident


def _asked_for(waiting: Sequence[Arriving], touched: dict[MemoryId, int] | None) -> list[Known]:
    """Return the loads of rows that are touched, or of all rows if nobody knows what is."""
    found: list[Entry] = []
    for each in waiting:
        found += each.rest() if touched is None else each.needed(touched.get(each.memory, 0))
    return [(entry, None) for entry in found]
