"""Loads of operands in an order in which none waits for its memory while another one could begin.

The load module takes its instructions in order. Where some operands stay on the chip, the memory of one load is free
long before that of another one which comes first, and the bus would be idle until then. Each load begins when its
memory is free, if the one before it has ended: those that could begin go first, in the order in which they are needed.
Tests: ``tests/runtime/queue/ends/test_early_loads.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.extents import loop_steps, moved_elements
from isa.footprint import Footprints
from isa.instructions import Gemm, Load, MemoryId
from runtime.queue.ends.arriving import mask_of
from runtime.queue.ends.cut_transfers import Rows
from runtime.queue.ends.late_loads import resident_operands
from runtime.queue.ends.taking_turns import Known, touched_by

__all__ = ["early_loads"]

_BEAT = 8
"""Bytes that are loaded in a cycle, about."""

_AHEAD = 16
"""Loads of which one may go first: the load module takes some, and instructions should not be far from their data."""

_OPERANDS = (MemoryId.INP, MemoryId.WGT)
_START = -1


@dataclass(slots=True)
class _Wanted:
    """A load: the elements that it writes, the last sum before it that uses them, and how long it takes."""

    known: Known
    memory: MemoryId
    mask: int
    after: int
    cycles: int


def early_loads(known: Sequence[Known], config: VTAConfig) -> list[Known]:
    """Return the entries with loads of operands before others whose memory is used for longer.

    Loads stay behind what uses the elements that they write, and behind loads of the same elements; the order of
    everything else stays. Nothing is changed where it is not known what an instruction touches, or where all operands
    come anew for every sum and are done with together.
    """
    order = _Order.of(known, config) if resident_operands(known) else None
    return list(known) if order is None else order.entries()


@dataclass(slots=True)
class _Order:
    """Loads in their order, and the other entries, each with the number of loads that it comes after."""

    loads: list[_Wanted]
    others: list[Known]
    needs: list[int]
    """For each of the others, how many of the first loads it needs."""
    work: list[int]

    @staticmethod
    def of(known: Sequence[Known], config: VTAConfig) -> "_Order | None":
        """Take the entries apart."""
        footprints = Footprints(config, range(1 << 63))
        found = _Order([], [], [], [])
        users: list[tuple[int, dict[MemoryId, int]]] = []
        for entry, uops in known:
            instruction = entry.instruction
            if isinstance(instruction, Load) and instruction.memory in _OPERANDS and moved_elements(instruction):
                rows = Rows.of(entry)
                mask, memory = mask_of(range(rows.begin, rows.end)), instruction.scratchpad
                after = next((place for place, touched in reversed(users) if touched.get(memory, 0) & mask), _START)
                cycles = moved_elements(instruction) * config.elem_bytes(memory) // _BEAT
                found.loads.append(_Wanted((entry, uops), memory, mask, after, cycles))
                continue
            work = 0
            if isinstance(instruction, Gemm) and not instruction.reset:
                touched = None if uops is None else touched_by(entry, uops, footprints)
                if touched is None:
                    return None
                users.append((len(found.others), touched))
                work = loop_steps(instruction)
            found.others.append((entry, uops))
            found.needs.append(len(found.loads))
            found.work.append(work)
        return found

    def entries(self) -> list[Known]:
        """Return the entries in their new order."""
        made: list[Known] = []
        left = list(range(len(self.loads)))
        ends: list[int] = []  # of the others that are done
        loaded: dict[int, int] = {}
        bus = now = 0
        while True:
            first = left[0] if left else len(self.loads)
            while len(ends) < len(self.others) and self.needs[len(ends)] <= first:
                place = len(ends)
                if self.work[place]:
                    now = max(now, loaded.get(self.needs[place] - 1, 0)) + self.work[place]
                made.append(self.others[place])
                ends.append(now)
            if not left:
                return made
            number = self._next(left, ends, bus)
            load = self.loads[number]
            begin = max(bus, ends[load.after] if load.after != _START else 0)
            bus = loaded[number] = begin + load.cycles
            made.append(load.known)
            left.remove(number)

    def _next(self, left: Sequence[int], ends: Sequence[int], bus: int) -> int:
        """Return the first load that could begin, or the one that can begin first."""
        blocked: dict[MemoryId, int] = dict.fromkeys(_OPERANDS, 0)
        best, soonest = left[0], None
        for number in left[:_AHEAD]:
            load = self.loads[number]
            if load.after < len(ends) and not blocked[load.memory] & load.mask:
                ready = max(bus, ends[load.after] if load.after != _START else 0)
                if soonest is None or ready < soonest:
                    best, soonest = number, ready
                if ready == bus:
                    break
            blocked[load.memory] |= load.mask
        return best
