"""Which instructions at the two ends of a launch are cut into parts, and into which.

The hardware overlaps loads, sums, operations and stores, but for the first loads, which nothing runs beside, and the
last operations and stores. In parts that take turns, the first sums begin when the rows that they need are there, and
the last operations and stores run beside the last sums. It is the same whatever the hardware is.
Tests: ``tests/runtime/queue/ends/test_finer_ends.py``.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from isa.config import VTAConfig
from isa.extents import loop_steps, moved_elements
from isa.instructions import Alu, Finish, Gemm, Load, MemoryId, Store
from isa.known_uops import UopBuffer
from runtime.queue.ends.cut_loops import kernel_of, span_of
from runtime.queue.ends.cut_transfers import Rows
from runtime.queue.ends.early_loads import early_loads
from runtime.queue.ends.joined_uop_loads import joined_uop_loads, uops_used
from runtime.queue.ends.late_loads import late_loads
from runtime.queue.ends.taking_turns import Interval, Known, Turns, take_turns
from runtime.queue.instruction_queue import Entry
from runtime.queue.launch import LaunchAddresses
from runtime.queue.uop_kernel import KernelMode, UopKernel

__all__ = ["finer_ends"]

_MOST_PARTS, _FEWEST_PARTS = 8, 4
_LEAST_PART = 16
"""Accumulators of a part: each operation has some cycles of latency for each."""

_LEAST_BEATS = 64
"""Of the loads of a step that is cut at the beginning: a load has some cycles of latency."""

_FIRST_STEPS = 4
"""Steps at the beginning that are cut at most."""

_LAST_STEPS = 8
"""Steps at the end whose sums are done part by part at most."""

_BEAT = 8
"""Bytes that are loaded in a cycle, about: it decides how many steps wait for their loads."""

_IN_HAND = 24
"""Instructions before the last ones whose micro-ops may still be in use: theirs are put elsewhere."""


def finer_ends(
    entries: Sequence[Entry], uops: Sequence[int], addresses: LaunchAddresses, config: VTAConfig, *, uop_limit: int
) -> tuple[list[Entry], tuple[int, ...]]:
    """Return a launch's entries, without tokens, with finer ends, and its micro-ops, those of the parts at the end.

    The launch's data do not pass through DRAM. No-ops are left out. ``uop_limit`` is how many micro-ops there may be.
    """
    launch = _Launch(
        [entry for entry in entries if not entry.instruction.is_nop],
        list(uops), addresses.uops // config.uop_elem_bytes, config, uop_limit,
    )  # fmt: skip
    launch.finer()
    return launch.entries, tuple(launch.image)


@dataclass(slots=True)
class _Launch:
    """The entries of a launch, which are replaced region by region, from the last one to the first."""

    entries: list[Entry]
    image: list[int]
    base: int
    config: VTAConfig
    limit: int

    def finer(self) -> None:
        """Cut what is worth it."""
        self.entries = joined_uop_loads(self.entries)
        known = early_loads(late_loads(self._known(), self.config), self.config)
        self.entries = [entry for entry, _ in known]
        last = _last_tile(known, self.config, self._has_room)
        first = _first_steps(known[: last[0]] if last else known, self.config)
        for begin, end, turns in reversed([*first, *([last] if last else [])]):
            self._replace(begin, end, turns)

    def _known(self) -> list[Known]:
        """Return the entries with the micro-ops that they run."""
        buffer, image = UopBuffer(self.config), np.array(self.image, np.uint32)
        found: list[Known] = []
        for entry in self.entries:
            match entry.instruction:
                case Load(memory=MemoryId.UOP) as load:
                    begin = load.dram_base - self.base
                    buffer.put(load.sram_base, image[begin : begin + load.x_size])
                    found.append((entry, None))
                case Gemm() | Alu() as loops:
                    found.append((entry, buffer.read(loops.uop_bgn, loops.uop_end)))
                case _:
                    found.append((entry, None))
        return found

    def _replace(self, begin: int, end: int, turns: Turns) -> None:
        """Put ``turns`` in the place of some entries, if there is room for its micro-ops."""
        words = turns.words
        if not words:  # instructions without work, of which parts are as long as they are
            return
        place = self._room(begin, end, len(words))
        if place is None or not self._has_room(begin, end, turns):
            return
        later = self._used(end, len(self.entries))
        load = Load(
            memory=MemoryId.UOP, sram_base=place, dram_base=self.base + len(self.image), y_size=1, x_size=len(words),
            x_stride=len(words),
        )  # fmt: skip
        self.image += words
        new = [Entry(load, origin=turns.entries[0].origin)]
        for entry in turns.entries:
            if isinstance(entry.instruction, Gemm | Alu):
                begins, ends = entry.instruction.uop_bgn + place, entry.instruction.uop_end + place
                entry.instruction = dataclasses.replace(entry.instruction, uop_bgn=begins, uop_end=ends)
            new.append(entry)
        kept = (each for each in turns.kept if uops_used(each.instruction) & later)
        self.entries[begin:end] = [*new, *kept]

    def _has_room(self, begin: int, end: int, turns: Turns) -> bool:
        """Whether the micro-ops of ``turns`` have a place, or there are none."""
        count = len(turns.words)
        return not count or (self._room(begin, end, count) is not None and len(self.image) + count <= self.limit)

    def _room(self, begin: int, end: int, count: int) -> int | None:
        """Return where ``count`` micro-ops lie that nobody after ``begin`` needs, and hardly anybody just before."""
        used = self._used(end, len(self.entries)) | self._used(max(0, begin - _IN_HAND), end)
        for place in range(0, self.config.uop_depth - count + 1, count):
            if not used >> place & ((1 << count) - 1):
                return place
        return None

    def _used(self, begin: int, end: int) -> int:
        """Return the micro-op buffer's elements that some entries use, as bits."""
        used = 0
        for entry in self.entries[begin:end]:
            used |= uops_used(entry.instruction)
        return used


def _last_tile(
    known: Sequence[Known], config: VTAConfig, has_room: Callable[[int, int, Turns], bool]
) -> tuple[int, int, Turns] | None:
    """Return where the last tile's last instructions begin and end, and what to put in their place.

    Where sums in runs have too many micro-ops, they are in the loops that there are.
    """
    end = len(known)
    while end and isinstance(known[end - 1][0].instruction, Finish):
        end -= 1
    stores = end
    while stores and isinstance(known[stores - 1][0].instruction, Store):
        stores -= 1
    begin = stores
    while begin and not isinstance(known[begin - 1][0].instruction, Store):
        begin -= 1
    loops = [place for place in range(begin, stores) if _is_work(known[place])]
    if stores == end or not loops:
        return None
    parts = _parts(known[stores:end], [known[place] for place in loops], _MOST_PARTS)
    if len(parts) < 2:
        return None
    for first, runs in product(_beginnings(known, loops, begin), (True, False)):
        turns = take_turns(known[first:end], parts, config, runs=runs)
        if turns is not None and has_room(first, end, turns):
            return first, end, turns
    return None


def _beginnings(known: Sequence[Known], loops: Sequence[int], begin: int) -> list[int]:
    """Return where the part of a tile may begin whose sums are done part by part, the best choice first.

    Its sums should take as long as the operations that are to run beside them.
    """
    sums = [place for place in loops if isinstance(known[place][0].instruction, Gemm)]
    if not sums:
        return [begin]
    operations = sum(_work(known[place]) for place in loops if place not in sums)
    steps, work = 0, 0
    while steps < min(len(sums), _LAST_STEPS) and (not steps or work < operations):
        steps += 1
        work += _work(known[sums[-steps]])
    places = [begin, *(place + 1 for place in sums)]
    return places[-1 - steps :][: steps + 1]


def _first_steps(known: Sequence[Known], config: VTAConfig) -> list[tuple[int, int, Turns]]:
    """Return where each of the first steps begins and ends, and what to put in its place."""
    found: list[tuple[int, int, Turns]] = []
    begin = loaded = worked = first = 0
    for place, each in enumerate(known):
        if len(found) == _FIRST_STEPS or isinstance(each[0].instruction, Alu | Store):
            break
        if not _is_work(each):
            continue
        step = known[begin : place + 1]
        beats = sum(_beats(entry, config) for entry, _ in step)
        parts = _parts([], [each], _FEWEST_PARTS)
        waits = loaded + beats > worked + first
        turns = take_turns(step, parts, config) if waits and len(parts) > 1 and beats >= _LEAST_BEATS else None
        if turns is None:
            break
        found.append((begin, place + 1, turns))
        first = first or beats // len(parts)
        begin, loaded, worked = place + 1, loaded + beats, worked + _work(each)
    return found


def _is_work(known: Known) -> bool:
    """Whether it is a sum or an operation, no reset."""
    instruction = known[0].instruction
    return isinstance(instruction, Alu) or (isinstance(instruction, Gemm) and not instruction.reset)


def _work(known: Known) -> int:
    instruction = known[0].instruction
    return loop_steps(instruction) if isinstance(instruction, Gemm | Alu) else 0


def _beats(entry: Entry, config: VTAConfig) -> int:
    load = entry.instruction
    if not isinstance(load, Load) or load.memory is MemoryId.UOP:
        return 0
    return moved_elements(load) * config.elem_bytes(load.memory) // _BEAT


def _parts(stores: Sequence[Known], loops: Sequence[Known], most: int) -> list[Interval]:
    """Return ranges of a tile's accumulators: trips of its longest strides, then of shorter ones, at most ``most``.

    Without stores, the tile is what the loops write. They go downwards if an operand lies above the tile: the window
    of the compute module takes an operation to touch everything from its destination to its source.
    """
    kernels = [kernel_of(entry.instruction, uops) for entry, uops in loops if uops and uops.dst]  # type: ignore[arg-type]
    rows = [Rows.of(entry) for entry, _ in stores]
    spans = [(each.begin, each.end) for each in rows] or [span_of(kernel) for kernel in kernels]
    if not spans:
        return []
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    strides = {loop.dst for kernel in kernels for loop in kernel.loops if loop.dst and loop.extent > 1}
    whole = [stride for stride in strides if not any(stride % each.width for each in rows)]
    downwards = any(operand >= high for operand in map(_operand, kernels))
    parts = [(low, high)]
    for stride in sorted(whole, reverse=True):
        share = most // len(parts)
        if share < 2:
            break
        parts = [part for begin, end in parts for part in _divided(begin, end, stride, share, downwards=downwards)]
    return parts


def _operand(kernel: UopKernel) -> int:
    """Return the last accumulator that an operation of the ALU reads."""
    if kernel.operation is None or kernel.operation.mode is not KernelMode.ALU or kernel.operation.use_imm:
        return 0
    return max(uop.src for uop in kernel.uops) + kernel.operation.fused


def _divided(begin: int, end: int, stride: int, share: int, *, downwards: bool) -> list[Interval]:
    """Return at most ``share`` parts of a range, of whole strides, the last one the smallest."""
    trips = -(-(end - begin) // stride)
    size = max(-(-trips // share), -(-_LEAST_PART // stride))
    if not downwards:
        return [(first, min(first + size * stride, end)) for first in range(begin, end, size * stride)]
    lowest = begin + (trips - (trips - 1) // size * size) * stride
    tops = [*range(lowest, begin + trips * stride, size * stride), end]
    return list(reversed(list(pairwise([begin, *tops]))))
