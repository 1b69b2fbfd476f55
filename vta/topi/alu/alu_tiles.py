"""Which tiles an operator of the tensor ALU gets: those that fit the accumulator and take the fewest cycles.

The cycles are estimated: a tile is loaded, computed and stored, and with virtual threads these three overlap, so that
the slowest decides if there are threads enough. Every size ``ceil(extent / k)`` is a candidate, so no shape is left
with tiles of one. Tests: tests/vta/topi/alu/test_alu_tiles.py.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from vta.environment import Environment
from vta.topi.alu.alu_schedule import MOST_THREADS, AluTiles, AluTilesError
from vta.topi.core.memory_port import bus_of
from vta.topi.tiling.cost import Bus, Price
from vta.topi.tiling.search import even_parts

__all__ = ["AluProblem", "Demand", "Inner", "TransferCost", "alu_price", "best_tiles", "transfer"]

INSTRUCTION_CYCLES = 8
"""What an instruction costs beside its work, about."""

RUN_CYCLES = 2
"""What a run of bytes costs beside its bytes, about."""

LATENCIES = 2
"""How many latencies of memory a tile's first load waits for, about."""

Inner = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class TransferCost:
    """The copy of a box between memory and the accumulator: in how many instructions, runs of bytes, and bytes."""

    instructions: int = 0
    runs: int = 0
    size: int = 0

    def __add__(self, other: "TransferCost") -> "TransferCost":
        return TransferCost(self.instructions + other.instructions, self.runs + other.runs, self.size + other.size)

    def times(self, count: int) -> "TransferCost":
        """Return as many of it, one after the other."""
        return TransferCost(self.instructions * count, self.runs * count, self.size * count)

    def cycles(self, bus: Bus) -> float:
        """Return about how long it takes on ``bus``."""
        return self.instructions * INSTRUCTION_CYCLES + self.runs * RUN_CYCLES + self.size / bus.beat_bytes


def transfer(
    box: Sequence[int], extents: Sequence[int], element_bytes: int, *, ragged: bool | None = None
) -> TransferCost:
    """Return the copy of ``box`` elements of a tensor with ``extents``: dimensions that are whole run on.

    One instruction copies rows and columns, and as many are needed as there are further dimensions. Where some tiles
    have shorter rows than others (``ragged``; if left out, where the rows do not divide), every row needs its own.
    """
    if ragged is None:
        ragged = extents[-1] % box[-1] != 0
    run = 1
    rows: list[int] = []
    whole = True
    for size, extent in zip(reversed(box), reversed(extents), strict=True):
        if not rows and whole:
            run *= size
        elif size == 1:
            whole = whole and extent == 1
            continue
        elif rows and whole:
            rows[-1] *= size
        else:
            rows.append(size)
        whole = size == extent
    runs = math.prod(rows)
    return TransferCost(runs if ragged else math.prod(rows[1:]), runs, run * runs * element_bytes)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a tile takes: accumulator ``elements`` for each thread, and ``temporaries`` that threads share.

    ``operations`` are cycles of the ALU, in ``kernels`` instructions. ``copies`` of a tile are stored.
    """

    elements: int
    load: TransferCost
    operations: int
    kernels: int
    temporaries: int = 0
    copies: int = 1


@dataclass(frozen=True, slots=True)
class AluProblem:
    """A packed output with ``extents`` blocks on ``env``, and what a tile of it takes."""

    env: Environment
    extents: tuple[int, int, int, int]
    demand: Callable[[Inner], Demand]

    def allows(self, tiles: AluTiles) -> bool:
        """Return whether ``tiles`` fit the accumulator, with threads that a search would look at."""
        needs, axis = self.demand(tiles.inner), tiles.thread_axis
        turns = -(-self.extents[axis] // tiles.inner[axis])
        names_axis = tiles.threads > 1 or axis == 1  # one thread has no axis: only the default says so
        fits = tiles.threads * needs.elements + needs.temporaries <= self.env.config.acc_depth
        return fits and names_axis and turns % tiles.threads == 0

    def price(self, tiles: AluTiles) -> Price:
        """Return about what a launch with ``tiles`` takes."""
        return alu_price(self.env, tiles, self.extents, self.demand(tiles.inner))

    def best(self, operator: str) -> AluTiles:
        """Return the cheapest tiles; ``AluTilesError`` about ``operator`` if none fit."""
        return best_tiles(self.env, self.extents, self.demand, operator)


def best_tiles(env: Environment, extents: Sequence[int], demand: Callable[[Inner], Demand], operator: str) -> AluTiles:
    """Return the cheapest tiles for a packed output with ``extents`` blocks, of those that ``demand`` lets fit.

    Raises ``AluTilesError`` if not even the smallest tile fits.
    """
    depth = env.config.acc_depth
    best: tuple[float, AluTiles] | None = None
    for inner in _candidates(extents):
        needs = demand(inner)
        if needs.elements + needs.temporaries > depth:
            continue
        for tiles in _threaded(inner, extents, needs, depth):
            cost = _cycles(env, tiles, extents, needs)
            if best is None or cost < best[0]:
                best = (cost, tiles)
    if best is None:
        needs = demand((1, 1, 1, 1))
        raise AluTilesError(
            f"{operator}: the smallest tile needs {needs.elements + needs.temporaries} elements of {env.acc_scope}, "
            f"which has {depth}; use a smaller window, or LOG_ACC_BUFF_SIZE for a larger accumulator"
        )
    return best[1]


def _candidates(extents: Sequence[int]) -> Iterator[Inner]:
    """Yield sizes of tiles, large ones first."""
    choices = [even_parts(extent) for extent in extents]
    for b in choices[0]:
        for co in choices[1]:
            for h in choices[2]:
                for w in choices[3]:
                    yield (b, co, h, w)


def _threaded(inner: Inner, extents: Sequence[int], needs: Demand, depth: int) -> Iterator[AluTiles]:
    yield AluTiles(*inner)
    counts = [-(-extent // size) for extent, size in zip(extents, inner, strict=True)]
    for threads in range(2, MOST_THREADS + 1):
        if threads * needs.elements + needs.temporaries > depth:
            return
        axis = next((axis for axis in (1, 2, 0, 3) if counts[axis] % threads == 0), None)
        if axis is not None:
            yield AluTiles(*inner, threads=threads, thread_axis=axis)


def alu_price(env: Environment, tiles: AluTiles, extents: Sequence[int], needs: Demand) -> Price:
    """Return about what a launch takes that computes a packed output with ``extents`` blocks in ``tiles``."""
    bus, outputs = bus_of(env), math.prod(extents)
    tiled = outputs / math.prod(tiles.inner)  # as many tiles as the output is worth, the last ones not whole
    store = transfer(tiles.inner, extents, env.OUT_ELEM_BYTES).times(needs.copies)
    return Price(
        cycles=round(_cycles(env, tiles, extents, needs)),
        load=round(tiled * needs.load.size / bus.beat_bytes),
        gemm=0,
        alu=round(tiled * needs.operations),
        store=round(tiled * store.size / bus.beat_bytes),
    )


def _cycles(env: Environment, tiles: AluTiles, extents: Sequence[int], needs: Demand) -> float:
    """Return about how many cycles all tiles take."""
    bus = bus_of(env)
    count = math.prod(-(-extent // size) for extent, size in zip(extents, tiles.inner, strict=True))
    whole = math.prod(extents) / (count * math.prod(tiles.inner))
    load = needs.load.cycles(bus) * whole
    compute = needs.operations * whole + needs.kernels * INSTRUCTION_CYCLES
    store = transfer(tiles.inner, extents, env.OUT_ELEM_BYTES).times(needs.copies).cycles(bus) * whole
    alone = load + compute + store + LATENCIES * bus.latency
    if tiles.threads == 1:
        return count * alone
    return alone + (count - 1) * max(load, compute, store, alone / tiles.threads)
