"""This library's own schedule of matrix products, and the tiles that suit a product best.

A tile of the result stays in the accumulator while blocks of the inner dimension are loaded and added. Tiles and steps
can use copies of their memory in turn, so that loads, products, epilogue and stores overlap. Neighbouring micro-ops go
to neighbouring accumulators, which lie in different banks: so the ALU finds a free one.
Tests: tests/vta/topi/matmul/test_matmul_schedule.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from vta import te
from vta.environment import Environment
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Epilogue, Needs
from vta.topi.core.layer_schedule import LayerSchedule, use_in_turn
from vta.topi.core.layout import blocks
from vta.topi.core.memory_port import bus_of
from vta.topi.core.resident import Resident
from vta.topi.core.sizes import sizes
from vta.topi.tiling import (
    Bus,
    Candidate,
    Footprint,
    Price,
    TilingError,
    Work,
    cheapest,
    comes_in_steps,
    copies_in_turn,
    divisors,
    even_parts,
    priced,
    require_fit,
)

__all__ = ["MatmulTiles", "Product", "schedule_matmul"]

_COPIES = (1, 2, 3, 4)
_PER_TILE = 30
"""Cycles of a tile that nothing hides, about."""

_TOLERANCE = 0.004
"""Part of the cycles that fewer instructions are worth."""

_CLOSER_LOOK = 80
"""So many tiles are tried with copies and residents."""

_SMALLEST = 16
"""The smallest tiles that the search looks at are this part of the largest ones."""

_BANKS = 4
_SLACK = 4
"""Accumulators for temporaries of the ALU's stages."""


@dataclass(frozen=True, slots=True)
class MatmulTiles:
    """The extents of one tile in blocks; the copies of accumulators and of operands that are used in turn.

    What is ``resident`` is loaded once for all tiles that read it: data for those beside each other, weights (KERNEL)
    for those below each other.
    """

    rows: int
    inner: int
    columns: int
    rotate_tiles: int = 1
    rotate_steps: int = 1
    resident: Resident = Resident.NONE

    def whole(self, rows: int, columns: int) -> tuple[int, int]:
        """Return ``rows`` and ``columns`` of blocks, rounded up to whole tiles."""
        return blocks(rows, self.rows) * self.rows, blocks(columns, self.columns) * self.columns


def schedule_matmul(
    outs: te.Tensor | Sequence[te.Tensor], tiles: MatmulTiles, env: Environment | None = None, *, groups: int = 1
) -> te.Schedule:
    """Return a schedule of a sum (N, O, batch, block_out) over (I, block_in), with the epilogue after it.

    The rows are those of ``groups`` products one after the other, each of whole tiles if there are several.
    """
    made = LayerSchedule.of(outs, env)
    result, sums = made.result, made.sums
    b, co, *_ = result.leaf_iter_vars
    b0, b1 = result.split(b, factor=tiles.rows)
    co0, co1 = result.split(co, factor=tiles.columns)
    rows, columns, *_ = sizes(made.layer.output)
    below = blocks(rows, tiles.rows) // groups
    group, b0 = result.split(b0, factor=below)
    trips = {co0: blocks(columns, tiles.columns), b0: below, group: groups}
    match tiles.resident:
        case Resident.NONE:
            order, outside = [group, b0, co0], b0
        case Resident.DATA:
            order, outside, trips = [group, b0, co0], b0, {co0: trips[co0]}
        case Resident.KERNEL:
            order, outside, trips = [group, co0, b0], co0, {b0: below}
    result.reorder(*order, b1, co1)
    made.compute_tile_in(use_in_turn(result, order, trips, tiles.rotate_tiles))
    x_b, x_co, x_bi, x_ci, k_o, k_i = sums.leaf_iter_vars
    k0, k1 = sums.split(k_o, factor=tiles.inner)
    run = (x_b, x_co) if tiles.columns >= _BANKS or tiles.rows == 1 else (x_co, x_b)
    sums.reorder(k0, k1, *run, x_bi, x_ci, k_i)
    steps = sizes(made.layer.reduction.op.input_tensors[0])[1] // tiles.inner
    step = use_in_turn(sums, [k0], {k0: steps}, tiles.rotate_steps)
    made.load_operands_in(step, resident=tiles.resident, outside=outside)
    sums.tensorize(x_bi, made.env.gemm)
    result.pragma(b1, made.env.dma_copy)
    return made.s


@dataclass(frozen=True)
class Product:
    """A product of ``rows`` x ``inner`` with ``inner`` x ``columns`` blocks, and the epilogue after it.

    If there are ``groups`` of such products, with their rows one after the other, tiles divide each of them; those of
    a single one may reach beyond its ends.
    """

    env: Environment
    rows: int
    inner: int
    columns: int
    epilogue: Epilogue
    groups: int | None = None
    whole_numbers: bool = False

    def best_tiles(self, what: str) -> MatmulTiles:
        """Return the tiles that take the fewest cycles; raises ``TilingError`` about ``what`` where none fits."""
        return cheapest(self.candidates(), self.env.config, what, self._bus, tolerance=_TOLERANCE)

    def allows(self, tiles: MatmulTiles) -> bool:
        """Return whether ``tiles`` fit, with copies that a search would look at."""
        copies = (tiles.rotate_tiles, tiles.rotate_steps)
        fits = self._footprint(tiles).fits(Footprint.capacity(self.env.config))
        return fits and self.inner % tiles.inner == 0 and copies in self._copies(tiles)

    def price(self, tiles: MatmulTiles) -> Price:
        """Return what a launch with ``tiles`` takes."""
        return priced(self._work(tiles).turned(tiles.rotate_tiles, tiles.rotate_steps), self._bus)

    def require_tiles(self, tiles: MatmulTiles, what: str) -> None:
        """Raise ``TilingError`` unless ``tiles`` can be, and fit the scratchpads."""
        for name in ("rows", "inner", "columns", "rotate_tiles", "rotate_steps"):
            if getattr(tiles, name) < 1:
                raise TilingError(f"{what}: {name} is 1 or more, not {getattr(tiles, name)}")
        require_fit(self._footprint(tiles), self.env.config, what)

    @cached_property
    def _bus(self) -> Bus:
        return bus_of(self.env)

    @cached_property
    def _needs(self) -> Needs:
        return epilogue.needs(self.epilogue, self.env.config, whole_numbers=self.whole_numbers)

    def candidates(self) -> Iterator[Candidate[MatmulTiles]]:
        """Yield the choices that the search looks at: the smallest tiles, and what fits of the others."""
        capacity = Footprint.capacity(self.env.config)
        smallest = MatmulTiles(1, 1, 1)
        yield Candidate(smallest, self._footprint(smallest), self._work(smallest))
        for plain in sorted(self._plain_tiles(), key=self._least_cycles)[:_CLOSER_LOOK]:
            for resident in Resident:
                tiles = replace(plain, resident=resident)
                work = self._work(tiles)
                for tile_copies, step_copies in self._copies(tiles):
                    turned = replace(tiles, rotate_tiles=tile_copies, rotate_steps=step_copies)
                    footprint = self._footprint(turned)
                    if footprint.fits(capacity):
                        yield Candidate(turned, footprint, work.turned(tile_copies, step_copies))

    def _plain_tiles(self) -> Iterator[MatmulTiles]:
        """Yield the tiles without copies that fit, and that are no small part of the largest ones."""
        capacity = Footprint.capacity(self.env.config)
        cut = even_parts if self.groups is None else divisors
        sides = [
            (rows, columns)
            for rows, columns in product(cut(self.rows), cut(self.columns))
            if self._footprint(MatmulTiles(rows, 1, columns)).fits(capacity)
        ]
        largest = max((rows * columns for rows, columns in sides), default=1)
        for rows, columns in sides:
            if rows * columns * _SMALLEST < largest:
                continue
            for inner in divisors(self.inner):
                tiles = MatmulTiles(rows, inner, columns)
                if self._footprint(tiles).fits(capacity):
                    yield tiles

    def _least_cycles(self, tiles: MatmulTiles) -> float:
        """Return what no choice of copies and residents can be better than, and about what comes on top of that."""
        config, beat = self.env.config, self._bus.beat_bytes
        down, across = self._tiles(tiles)
        count, outputs = down * across, tiles.rows * tiles.columns
        data = tiles.rows * self.inner * config.inp_elem_bytes / beat
        weights = tiles.columns * self.inner * config.wgt_elem_bytes / beat
        load = count * (data + weights)
        if self.inner * tiles.rows <= config.inp_depth:
            load = min(load, down * data + count * weights)
        if self.inner * tiles.columns <= config.wgt_depth:
            load = min(load, (self.groups or 1) * across * weights + count * data)
        stages = self._needs.operations
        store = outputs * self._needs.stored * config.out_elem_bytes / beat
        first = (data + weights) * tiles.inner / self.inner
        busiest = max(load, count * outputs * max(self.inner, stages), count * store)
        return busiest + count * _PER_TILE + (first + outputs * stages + store) / 2

    def _tiles(self, tiles: MatmulTiles) -> tuple[int, int]:
        """Return how many tiles there are below and beside each other."""
        return (self.groups or 1) * blocks(self.rows, tiles.rows), blocks(self.columns, tiles.columns)

    def _copies(self, tiles: MatmulTiles) -> Iterator[tuple[int, int]]:
        down, across = self._tiles(tiles)
        groups = self.groups or 1
        turning = {
            Resident.NONE: (across, down // groups, groups),
            Resident.DATA: (across,),
            Resident.KERNEL: (down // groups,),
        }[tiles.resident]
        steps = self.inner // tiles.inner
        yield from product(copies_in_turn(turning, _COPIES), copies_in_turn((steps,), _COPIES))

    def _footprint(self, tiles: MatmulTiles) -> Footprint:
        operands = tiles.rotate_steps if tiles.rotate_steps > 1 else tiles.rotate_tiles
        data, weights = tiles.rows * tiles.inner * operands, tiles.columns * tiles.inner * operands
        outputs = tiles.rows * tiles.columns
        own, by_channel = 1 + self._needs.residuals + self._needs.held, self._needs.rows
        return Footprint(
            inp=tiles.rows * self.inner if tiles.resident is Resident.DATA else data,
            wgt=tiles.columns * self.inner if tiles.resident is Resident.KERNEL else weights,
            acc=(outputs * own + by_channel * tiles.columns) * tiles.rotate_tiles + self._slack,
            uops=self._kernel(tiles),
        )

    @property
    def _slack(self) -> int:
        return _SLACK if self.env.config.acc_depth > _SLACK else 0

    def _kernel(self, tiles: MatmulTiles) -> int:
        """Return the micro-ops of a step's products: the loop that is no instruction's."""
        return tiles.columns if tiles.columns >= _BANKS or tiles.rows == 1 else tiles.rows

    def _work(self, tiles: MatmulTiles) -> Work:
        config, bus = self.env.config, self._bus
        down, across = self._tiles(tiles)
        steps, outputs = self.inner // tiles.inner, tiles.rows * tiles.columns
        rows, columns = (1, 1) if steps == 1 else (tiles.rows, tiles.columns)
        data = bus.beats(tiles.rows * tiles.inner, config.inp_elem_bytes, rows)
        weights = bus.beats(tiles.columns * tiles.inner, config.wgt_elem_bytes, columns)
        load = {Resident.NONE: data + weights, Resident.DATA: weights, Resident.KERNEL: data}
        whole = {Resident.NONE: 0, Resident.DATA: data * steps, Resident.KERNEL: weights * steps}
        times = {Resident.NONE: 0, Resident.DATA: down, Resident.KERNEL: (self.groups or 1) * across}
        element = config.inp_elem_bytes if tiles.resident is Resident.DATA else config.wgt_elem_bytes
        needs = self._needs
        return Work(
            tiles=down * across,
            steps=steps,
            tile_copies=tiles.rotate_tiles,
            step_copies=tiles.rotate_steps,
            load=load[tiles.resident],
            weights=0 if tiles.resident is Resident.KERNEL else weights,
            load_instructions=2 if tiles.resident is Resident.NONE else 1,
            gemm=outputs * tiles.inner,
            alu=outputs * needs.operations,
            epilogue_load=bus.beats(outputs * needs.residuals, config.out_elem_bytes)
            + bus.beats(tiles.columns * needs.rows, config.acc_elem_bytes),
            store=bus.beats(
                outputs * needs.stored, config.out_elem_bytes, tiles.rows if tiles.columns < self.columns else 1
            ),
            accumulators=outputs,
            resident_load=whole[tiles.resident],
            resident_loads=times[tiles.resident],
            resident_steps=comes_in_steps(steps, tiles.inner * element),
            uops=self._kernel(tiles),
            stages=needs.operations,
            store_instructions=tiles.rows if self.columns % tiles.columns else 1,
            run=self._kernel(tiles),
        )
