"""Neighbouring instructions in parts that take turns: what a part of the accumulators needs, then its sums, its
operations and its stores, then the next part.

Whatever is put in another order is shown to touch other elements, by exact footprints; otherwise nothing is changed.
Tests: ``tests/runtime/queue/ends/test_taking_turns.py``.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from isa.config import VTAConfig
from isa.footprint import Footprint, Footprints, dram_rows
from isa.index_sets import Elements
from isa.instructions import Alu, Gemm, Load, MemoryId, Store
from isa.known_uops import UopRange
from runtime.memory.device_memory import Allocation
from runtime.queue.ends.arriving import Arriving, mask_of
from runtime.queue.ends.cut_loops import cut_kernel, in_runs, kernel_of, span_of
from runtime.queue.ends.cut_transfers import Rows
from runtime.queue.instruction_queue import Entry
from runtime.queue.kernel_lowering import lower_kernel
from runtime.queue.uop_kernel import UopKernel

__all__ = ["Known", "Turns", "take_turns", "touched_by"]

_MOST_PARTS = 4
"""Instructions for a part of one instruction, on the average; with more, the parts do not follow its loops."""

Interval = tuple[int, int]
"""The first accumulator, and the one after the last."""

Known = tuple[Entry, UopRange | None]
"""An entry, and for GEMM and ALU the micro-ops that it runs."""

_Masks = dict[MemoryId, int]


@dataclass(frozen=True, slots=True)
class Turns:
    """Entries in their new order; those of GEMM and ALU count their micro-ops from the beginning of ``words``.

    ``kept`` are the loads of micro-ops that there were, for those who come later.
    """

    entries: tuple[Entry, ...]
    words: tuple[int, ...]
    kept: tuple[Entry, ...]


@dataclass(slots=True)
class _Touched:
    """Bit masks of the elements that something reads and writes."""

    reads: _Masks = field(default_factory=dict)
    writes: _Masks = field(default_factory=dict)

    def add(self, footprint: Footprint) -> bool:
        """Take in a footprint; return whether it says everything."""
        for masks, touched in ((self.reads, footprint.reads), (self.writes, footprint.writes)):
            for memory, elements in touched:
                masks[memory] = masks.get(memory, 0) | _mask(elements)
        return footprint.complete and not footprint.problems

    def of(self, memory: MemoryId) -> int:
        """Return what is read or written of one memory."""
        return self.reads.get(memory, 0) | self.writes.get(memory, 0)

    def conflicts(self, other: "_Touched") -> bool:
        """Whether one writes what the other one reads or writes."""
        return any(
            _meet(one, two)
            for one, two in ((self.writes, other.writes), (self.writes, other.reads), (self.reads, other.writes))
        )


def _mask(elements: Elements) -> int:
    if isinstance(elements, slice):
        return mask_of(range(elements.start, elements.stop))
    mask = 0
    for each in elements:
        mask |= 1 << int(each)
    return mask


def _meet(some: _Masks, others: _Masks) -> bool:
    return any(mask & others.get(memory, 0) for memory, mask in some.items())


@dataclass(slots=True)
class _Piece:
    """Part of a GEMM or an ALU operation: entries whose micro-ops count from the beginning of ``words``."""

    entries: list[tuple[Gemm | Alu, tuple[int, ...]]]
    touched: _Touched


@dataclass(slots=True)
class _Loops:
    """A GEMM or an ALU operation in pieces, one for each part; ``place`` is where it stands."""

    place: int
    entry: Entry
    pieces: list[_Piece]


def touched_by(entry: Entry, uops: UopRange, footprints: Footprints) -> dict[MemoryId, int] | None:
    """Return the elements that an instruction with these micro-ops touches, as bits; None if that is not known."""
    touched = _Touched()
    if not touched.add(footprints.of(entry.instruction, lambda *_: uops)):
        return None
    return {memory: touched.of(memory) for memory in touched.reads.keys() | touched.writes.keys()}


def take_turns(
    region: Sequence[Known], parts: Sequence[Interval], config: VTAConfig, *, runs: bool = False
) -> Turns | None:
    """Return what ``region`` does with the ``parts`` of the accumulators taking turns in their order.

    None stands for a region of which cannot be shown that this means the same.

    Resets stay whole, and come first. An operation that writes another range of the same length (a temporary) is cut
    at the same distances from its beginning. With ``runs``, sums go through neighbouring accumulators one after the
    other, which the ALU's operations beside them want and takes a micro-op for each; without, micro-ops are few.
    """
    sorted_out = _SortedOut.of(region, parts, config, runs=runs)
    return sorted_out.turns() if sorted_out is not None and sorted_out.may_take_turns() else None


@dataclass(slots=True)
class _SortedOut:
    """The entries of a region by what they do."""

    resets: list[tuple[int, Entry, _Piece]] = field(default_factory=list)
    arriving: list[Arriving] = field(default_factory=list)
    loops: list[_Loops] = field(default_factory=list)
    stores: list[tuple[Rows, list[list[int]]]] = field(default_factory=list)
    runs: bool = False
    uop_loads: list[Entry] = field(default_factory=list)
    parts: Sequence[Interval] = ()

    @staticmethod
    def of(region: Sequence[Known], parts: Sequence[Interval], config: VTAConfig, *, runs: bool) -> "_SortedOut | None":
        """Return the entries in pieces, or None if one has none."""
        found = _SortedOut(parts=parts, runs=runs)
        footprints = Footprints(config, range(1 << 63))
        for place, (entry, uops) in enumerate(region):
            match entry.instruction:
                case Load(memory=MemoryId.UOP):
                    found.uop_loads.append(entry)
                case Load() as load:
                    if not load.x_size * load.y_size:
                        return None
                    found.arriving.append(Arriving.of(place, entry, config))
                case Store() as store:
                    rows = Rows.of(entry)
                    by_part = _rows_by_part(rows, parts) if store.y_size else None
                    if by_part is None:
                        return None
                    found.stores.append((rows, by_part))
                case Gemm() | Alu() as loops:
                    if (
                        found.stores
                        or uops is None
                        or not found._add_loops(place, entry, loops, uops, footprints, config)
                    ):
                        return None
                case _:
                    return None
        return found

    def _add_loops(
        self, place: int, entry: Entry, loops: Gemm | Alu, uops: UopRange, footprints: Footprints, config: VTAConfig
    ) -> bool:
        """Cut a GEMM or an ALU operation; return whether that can be done."""
        if uops.problem is not None or not uops.complete or not uops.dst:
            return False
        kernel = kernel_of(loops, uops)
        if isinstance(loops, Gemm) and loops.reset:
            whole = _piece([kernel], footprints, config)
            if whole is not None:
                self.resets.append((place, entry, whole))
            return whole is not None
        low, high = span_of(kernel)
        first, last = min(self.parts)[0], max(self.parts)[1]
        distance = 0 if first <= low and high <= last else low - first
        if distance and high - low != last - first:
            return False
        pieces: list[_Piece] = []
        for begin, end in self.parts:
            cut = cut_kernel(kernel, begin + distance, end + distance)
            if cut is not None and self.runs:
                cut = [in_runs(each) for each in cut]
            piece = None if cut is None else _piece(cut, footprints, config)
            if piece is None:
                return False
            pieces.append(piece)
        self.loops.append(_Loops(place, entry, pieces))
        return sum(len(piece.entries) for piece in pieces) <= _MOST_PARTS * len(pieces)

    def may_take_turns(self) -> bool:
        """Whether the new order means the same as the old one."""
        loads = [(each.place, _Touched(writes={each.memory: each.mask})) for each in self.arriving]
        for number, (place, touched) in enumerate(loads):
            if any(touched.conflicts(other) for _, other in loads[:number]):
                return False
            before = [each for each in self.loops if each.place < place]
            if any(touched.conflicts(piece.touched) for each in before for piece in each.pieces):
                return False
        for place, _, reset in self.resets:  # they come first
            if any(reset.touched.conflicts(touched) for _, touched in loads):
                return False
            before = [each for each in self.loops if each.place < place]
            if any(reset.touched.conflicts(piece.touched) for each in before for piece in each.pieces):
                return False
        return self._parts_are_apart() and self._stores_are_apart()

    def _parts_are_apart(self) -> bool:
        """Whether no part touches what another one writes."""
        together = [_Touched() for _ in self.parts]
        for each in self.loops:
            for whole, piece in zip(together, each.pieces, strict=True):
                for masks, more in ((whole.reads, piece.touched.reads), (whole.writes, piece.touched.writes)):
                    for memory, mask in more.items():
                        masks[memory] = masks.get(memory, 0) | mask
        for rows, by_part in self.stores:
            for whole, mine in zip(together, by_part, strict=True):
                for row in mine:
                    mask = mask_of(rows.elements(row))
                    whole.reads[MemoryId.ACC] = whole.reads.get(MemoryId.ACC, 0) | mask
        return not any(one.conflicts(two) for place, one in enumerate(together) for two in together[:place])

    def _stores_are_apart(self) -> bool:
        """Whether no byte of memory is stored twice."""
        by_buffer: dict[Allocation | None, list[tuple[int, int]]] = {}
        for rows, _ in self.stores:
            store, target = rows.transfer, rows.entry.target
            assert isinstance(store, Store)
            if store.y_size > 1 and store.x_stride < store.x_size:
                return False
            by_buffer.setdefault(None if target is None else target.buffer, []).extend(dram_rows(store, 1))
        for spans in by_buffer.values():
            spans.sort()
            if any(after[0] < before[1] for before, after in itertools.pairwise(spans)):
                return False
        return True

    def turns(self) -> Turns:
        """Return the entries in their new order."""
        entries: list[Entry] = []
        words: list[int] = []
        for _, entry, reset in self.resets:
            _append(entries, words, entry, reset)
        for number in range(len(self.parts)):
            for each in self.loops:
                piece = each.pieces[number]
                for load in self.arriving:
                    if load.place < each.place:
                        entries += load.needed(piece.touched.of(load.memory))
                _append(entries, words, each.entry, piece)
            for rows, by_part in self.stores:
                mine = by_part[number]
                if mine:
                    elements = range(rows.elements(mine[0]).start, rows.elements(mine[-1]).stop)
                    for load in self.arriving:
                        entries += load.needed(mask_of(elements) if load.memory is MemoryId.ACC else 0)
                    entries += rows.part(mine[0], mine[-1] + 1)
        for load in self.arriving:
            entries += load.rest()
        return Turns(tuple(entries), tuple(words), tuple(self.uop_loads))


def _rows_by_part(rows: Rows, parts: Sequence[Interval]) -> list[list[int]] | None:
    """Return the rows that lie in each part; None if one lies in no part whole."""
    found: list[list[int]] = [[] for _ in parts]
    for row in range(rows.count):
        elements = rows.elements(row)
        place = next(
            (i for i, (begin, end) in enumerate(parts) if begin <= elements.start and elements.stop <= end), -1
        )
        if place < 0:
            return None
        found[place].append(row)
    return found


def _piece(kernels: Iterable[UopKernel], footprints: Footprints, config: VTAConfig) -> _Piece | None:
    """Return what some kernels do, or None if that is not known."""
    piece = _Piece([], _Touched())
    for kernel in kernels:
        for step in lower_kernel(kernel, config):
            uops = UopRange.of(np.array(step.block.words, np.uint32), config)
            for instruction in step.instructions:
                if not piece.touched.add(footprints.of(instruction, lambda *_, uops=uops: uops)):
                    return None
                piece.entries.append((instruction, step.block.words))
    return piece


def _append(entries: list[Entry], words: list[int], entry: Entry, piece: _Piece) -> None:
    """Append a piece, with its micro-ops after those that there are."""
    for instruction, own in piece.entries:
        begin = len(words)
        words += own
        placed = dataclasses.replace(instruction, uop_bgn=begin, uop_end=begin + len(own))
        entries.append(Entry(placed, origin=entry.origin))
