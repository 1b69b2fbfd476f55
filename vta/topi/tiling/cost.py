"""How many cycles a choice of tiles takes on the hardware, from what it moves and computes.

The model is that of ``docs/hardware.md``: one tensor operation a cycle in GEMM and in ALU, which overlap; one beat a
cycle read and one written; instructions of a module in order. Tiles that take turns in ``tile_copies`` accumulators go
through products, epilogue and store one after the other, so that the slowest of these sets the pace. Measured beside
predicted: ``python -m bench.layers``. Tests: tests/vta/topi/tiling/test_cost.py.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Self

from isa.machine.hardware_config import HardwareConfig
from runtime.queue.ends.arriving import LEAST_PART_BYTES
from runtime.timing import alu_loss

__all__ = [
    "Bus", "Price", "Turns", "Work", "comes_in_steps", "cycles", "first_parts", "last_parts", "last_steps",
    "least_pace", "loading", "loading_resident",
]  # fmt: skip

_RESET_LANES = 3
"""Accumulators that are cleared in a cycle, on the average: four, if neither GEMM nor ALU needs the bank."""

_INSTRUCTION = 10
"""Cycles between the last step of an instruction and the first of one that waits for it."""

_INSTRUCTION_BYTES = 16
_FETCHED = 2
"""Beats of an instruction of the epilogue, about."""

_GEMM_SHARED = 1.001
"""How much longer GEMM takes when it shares the accumulator with the ALU."""

_LOAD_JOBS = 4
"""What the hardware has unless it is told otherwise."""

_FIRST_PARTS, _LAST_PARTS, _LEAST_PART = 4, 8, 16
"""Parts at the ends of a launch, and the accumulators of one, at least."""

_PER_TILE = 30
"""Cycles of a tile that nothing hides."""

_HIDDEN = 1.15
"""By how much loads must be shorter than work to be hidden."""


@dataclass(frozen=True, slots=True)
class Bus:
    """The memory port: bytes of a beat, and cycles from an address to its first beat.

    Searches take the one of the environment's hardware, and the default where an environment does not say what it is.
    """

    beat_bytes: int = 8
    latency: int = 16
    sizes: HardwareConfig | None = None
    """The hardware behind it; the default sizes if left out."""

    def beats(self, elements: int, element_bytes: int, rows: int = 1) -> int:
        """Return the cycles that ``elements`` take in ``rows`` contiguous parts, each of which is a burst or more.

        A beat takes one, and more where it holds several elements: one of them is read or written in a cycle.
        """
        if not elements:
            return 0
        least = rows if element_bytes > self.beat_bytes else max(rows, elements)
        return max(ceil(elements * element_bytes / self.beat_bytes), least)

    @property
    def load_jobs(self) -> int:
        """Loads that may be under way at a time."""
        return self.sizes.load_jobs if self.sizes else _LOAD_JOBS

    @property
    def hardware(self) -> HardwareConfig:
        """The sizes of the hardware."""
        return self.sizes or HardwareConfig(data_width=8 * self.beat_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a launch takes: ``cycles``, and how many of them each part of the hardware is busy.

    ``load`` counts beats read, ``store`` beats written, ``gemm`` and ``alu`` operations.
    """

    cycles: int
    load: int
    gemm: int
    alu: int
    store: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a schedule does: ``tiles`` of the output, each with products in ``steps``, an epilogue and a store.

    Per step: ``load`` beats read in ``load_instructions``, ``weights`` of them for ``blocks`` of output channels one
    after the other, and ``gemm`` operations. Per tile: ``alu`` operations, ``epilogue_load`` beats read, ``store``
    beats written by ``store_instructions``, ``accumulators``.
    ``resident_load`` beats are read ``resident_loads`` times by ``resident_instructions``, and what they bring is used
    by the tiles in between; each of the first ``resident_steps`` of these brings its own part.
    ``kernels`` of ``uops`` micro-ops each are loaded once. Products go through ``run`` neighbouring accumulators one
    after the other (0: unknown).
    """

    tiles: int
    steps: int
    tile_copies: int
    step_copies: int
    load: int
    load_instructions: int
    gemm: int
    alu: int
    epilogue_load: int
    store: int
    accumulators: int
    weights: int = 0
    blocks: int = 1
    resident_load: int = 0
    resident_loads: int = 0
    resident_instructions: int = 1
    resident_steps: int = 1
    kernels: int = 1
    uops: int = 1
    stages: int = 1
    store_instructions: int = 1
    run: int = 0

    def turned(self, tile_copies: int, step_copies: int) -> Self:
        """Return the same with other numbers of copies, each combination of which has its own kernel."""
        return replace(self, tile_copies=tile_copies, step_copies=step_copies, kernels=tile_copies * step_copies)


def comes_in_steps(steps: int, neighbours: int) -> int:
    """Return in how many steps what stays on the chip comes, of which ``neighbours`` bytes lie together for a step.

    The runtime cuts a load (``runtime.queue.ends.late_loads``) where that leaves parts that are long enough.
    """
    return steps if neighbours >= LEAST_PART_BYTES else 1


def first_parts(work: Work) -> int:
    """Return the parts in which the first steps are done (``runtime.queue.ends``); without copies nothing is cut."""
    return _parts(work.accumulators, work.tile_copies, work.step_copies, _FIRST_PARTS)


def last_parts(work: Work) -> int:
    """Return the parts in which the end of the last tile is done."""
    return _parts(work.accumulators, work.tile_copies, work.step_copies, _LAST_PARTS)


def _parts(accumulators: int, tile_copies: int, step_copies: int, most: int) -> int:
    return max(1, min(most, accumulators // _LEAST_PART)) if max(tile_copies, step_copies) > 1 else 1


def last_steps(work: Work) -> int:
    """Return the steps of the last tile that are done part by part: as long as its operations, if memory is there."""
    there = min(work.steps, max(1, work.step_copies))
    return next((steps for steps in range(1, there) if steps * work.gemm >= work.alu), there)


def cycles(work: Work, bus: Bus) -> int:
    """Return the cycles of a launch that does ``work``."""
    return Turns(work, bus).cycles(work.tile_copies, work.step_copies, work.kernels)


def least_pace(products: float, accumulators: int) -> float:
    """Return what a tile takes at least whose products take so long: they are reset before, or other tiles go on."""
    return products + min(accumulators // _RESET_LANES + _INSTRUCTION, products * (_GEMM_SHARED - 1) + _PER_TILE)


class Turns:
    """What a launch takes that does ``work`` with any numbers of copies: a search asks for many of them."""

    __slots__ = ("_alu", "_alu_beside", "_bus", "_load", "_moved", "_read", "_reset", "_resident", "_store", "_work")

    def __init__(self, work: Work, bus: Bus) -> None:
        self._work, self._bus = work, bus
        self._load = load = loading(work, bus) + _INSTRUCTION if work.load else 0
        self._resident = loading_resident(work, bus)
        self._reset = work.accumulators // _RESET_LANES + _INSTRUCTION
        self._alu = alu = work.alu + work.stages * _INSTRUCTION + work.epilogue_load
        self._alu_beside = alu / (1 - alu_loss(work.run) * min(1.0, work.steps * work.gemm / max(alu, 1)))
        self._store = work.store + bus.latency + _INSTRUCTION
        self._read = work.steps * load + work.epilogue_load + work.stages * _FETCHED
        self._moved = work.tiles * self._read + work.resident_loads * work.resident_load

    @property
    def loads_are_hidden(self) -> bool:
        """Whether loads take clearly less than what they run beside."""
        work = self._work
        read = work.steps * max(0, self._load - _INSTRUCTION) + work.epilogue_load
        return read * _HIDDEN < max(work.steps * work.gemm, work.alu, work.store)

    @property
    def least(self) -> int:
        """What ``cycles`` is not below, whatever the copies are."""
        work, alu, store = self._work, self._alu, self._store
        pace = max(least_pace(work.steps * max(work.gemm, self._load), work.accumulators), alu, store)
        startup = work.uops // 2 + self._bus.latency * 2 + (self._load + self._resident) // _FIRST_PARTS
        return int(max(startup + work.tiles * pace, self._moved + (alu + store) / _LAST_PARTS))

    def cycles(self, tile_copies: int, step_copies: int, kernels: int = 0) -> int:
        """Return what it takes with these copies, each combination of which has a kernel, unless there are others."""
        work, load, alu, store = self._work, self._load, self._alu, self._store
        products, read = _products(work, load, self._bus, tile_copies, step_copies), self._read
        if tile_copies == 1:
            pace = float(self._reset + products + alu + store)
        else:
            # A copy of the accumulators goes through all of it; the copies share what can work on one tile at a time.
            pace = max(
                (self._reset + products + alu + store) / tile_copies,
                products * _GEMM_SHARED + _PER_TILE,
                self._alu_beside,
                _released(work, load, alu, tile_copies, step_copies),
                read,
                store,
            )
        first = _parts(work.accumulators, tile_copies, step_copies, _FIRST_PARTS)
        last = _parts(work.accumulators, tile_copies, step_copies, _LAST_PARTS)
        resident = self._resident
        startup = work.uops // 2 + self._bus.latency * 2 + (load + resident) // first
        idle = max(0.0, pace - read) * 2 * (work.resident_steps - 1) / work.resident_steps
        switches = max(0, work.resident_loads - 1) * (max(0.0, resident - idle) + self._bus.latency)
        # At the end, the operations run beside the last sums and the stores beside the operations, but for one part.
        hidden = (min(alu, products) + min(store, alu)) * (1 - 1 / last)
        tail = (alu + store if tile_copies > 1 else 0) - hidden
        uops = ((kernels or tile_copies * step_copies) - 1) * work.uops / 2 * (1 if read * 1.1 > pace else 0)
        return round(max(startup + work.tiles * pace + switches + tail + uops, self._moved + (alu + store) / last))


def loading(work: Work, bus: Bus) -> int:
    """Return the cycles of a step's loads: of their beats, and no more instructions at a time than may be begun.

    Weights are one instruction, and the data the others.
    """
    weights = _loading(work.weights, 1, bus) if work.weights else 0
    return _loading(work.load - work.weights, work.load_instructions - (work.weights > 0), bus) + weights


def loading_resident(work: Work, bus: Bus) -> int:
    """Return the same of what stays on the chip for some tiles."""
    return _loading(work.resident_load, work.resident_instructions, bus) if work.resident_load else 0


def _loading(beats: int, count: int, bus: Bus) -> int:
    if not beats:
        return 0
    words = ceil(count * _INSTRUCTION_BYTES / bus.beat_bytes)
    each = bus.latency + beats // max(1, count) + 3
    return max(beats + words, count * each // bus.load_jobs)


def _products(work: Work, load: int, bus: Bus, tile_copies: int, step_copies: int) -> float:
    """Return the cycles of a tile's products, with waiting for their loads."""
    if step_copies > 1 or (work.steps == 1 and tile_copies > 1):
        return float(work.steps * max(work.gemm, load))
    return float(work.steps * (work.gemm + load + bus.latency + _INSTRUCTION))


def _released(work: Work, load: int, alu: int, tile_copies: int, step_copies: int) -> float:
    """Return the pace at which input memory is released.

    Instructions of the compute module complete in order, so products say that their inputs are free only when the
    epilogue of the tile before is done; ``step_copies`` of them can be done until then, or as many as the last round
    has, if it is incomplete: the next tile begins with its copies again.
    """
    last_round = work.steps % step_copies if work.steps > step_copies else 0
    ahead = (last_round or step_copies) if work.steps > 1 else tile_copies
    return alu + max(0, work.steps - ahead) * work.gemm + (load if work.steps >= ahead else 0)
