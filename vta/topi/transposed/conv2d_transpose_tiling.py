"""Tiles for ``Conv2dTranspose``: which there are, what they take of the scratchpads, and what they cost.

Tests: tests/vta/topi/transposed/test_conv2d_transpose_tiling.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

from vta.environment import Environment
from vta.topi.conv.conv2d_grouped import ChannelBlocks
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Epilogue, Needs
from vta.topi.core.layout import blocks
from vta.topi.core.memory_port import bus_of
from vta.topi.core.resident import Resident
from vta.topi.tiling import (
    Bus,
    Candidate,
    Footprint,
    Price,
    TilingError,
    Work,
    cheapest,
    copies_in_turn,
    divisors,
    even_parts,
    priced,
    require_fit,
)
from vta.topi.transposed.conv2d_transpose_schedule import ProductLoops, TransposedLayer, TransposeTiles

__all__ = ["TransposeSearch"]

_COPIES = (1, 2, 3, 4)
_LONGEST_KERNEL = 512
"""Micro-ops of a kernel that the search looks for; binding and loading take a cycle or half of one for each."""

_SLACK = 4
"""Accumulators for temporaries of the ALU's stages."""

_SMALLEST = 16
"""The smallest tiles that the search looks at are this part of the largest ones."""

_TOLERANCE = 0.004
"""Part of the cycles that fewer instructions are worth."""

_CLOSER_LOOK = 80
"""So many tiles are tried with copies and residents."""

_PER_TILE = 30
"""Cycles of a tile that nothing hides, about."""


@dataclass(frozen=True)
class TransposeSearch:
    """A layer and what follows it, on one environment; ``channels`` says which blocks a block of results reads."""

    env: Environment
    layer: TransposedLayer
    channels: ChannelBlocks
    epilogue: Epilogue

    def best_tiles(self, what: str) -> TransposeTiles:
        """Return the tiles that take the fewest cycles; raises ``TilingError`` about ``what`` where none fits."""
        return cheapest(self.candidates(), self.env.config, what, self._bus, tolerance=_TOLERANCE)

    def price(self, tiles: TransposeTiles) -> Price:
        """Return what a launch with ``tiles`` takes."""
        work = self._work(tiles).turned(tiles.rotate_tiles, tiles.rotate_steps)
        return priced(work, self._bus)

    def allows(self, tiles: TransposeTiles) -> bool:
        """Return whether ``tiles`` can be and fit, with copies that a search would look at."""
        copies = (tiles.rotate_tiles, tiles.rotate_steps)
        fits = self.channels.allows(tiles.tile_co) and self._footprint(tiles).fits(Footprint.capacity(self.env.config))
        return fits and copies in self._copies(tiles)

    @property
    def sides(self) -> tuple[list[int], list[int]]:
        """Heights and widths of tiles: whole strides, every number of them that cuts the result evenly."""
        heights, widths = (
            [stride * part for part in even_parts(blocks(size, stride))]
            for size, stride in zip(self.layer.result, self.layer.window.strides, strict=True)
        )
        return heights, widths

    def require_tiles(self, tiles: TransposeTiles, what: str) -> None:
        """Raise ``TilingError`` unless the schedule can have ``tiles`` and they fit the scratchpads."""
        strides = self.layer.window.strides
        for name, value, extent, of in (
            ("tile_co", tiles.tile_co, self.layer.blocks_out, "blocks of output channels"),
            ("tile_ci", tiles.tile_ci, self.layer.taken, "blocks of input channels"),
            ("run", tiles.run, tiles.tile_w // strides[1], "whole strides of a tile's row"),
        ):
            if value < 1 or extent % value:
                raise TilingError(f"{what}: {name} divides the {extent} {of}, {value} does not")
        for name, value, stride in (("tile_h", tiles.tile_h, strides[0]), ("tile_w", tiles.tile_w, strides[1])):
            if value < 1 or value % stride:
                raise TilingError(f"{what}: {name} is a multiple of the stride, {stride}; {value} is not")
        for name, value in (("rotate_tiles", tiles.rotate_tiles), ("rotate_steps", tiles.rotate_steps)):
            if value < 1:
                raise TilingError(f"{what}: {name} is 1 or more, not {value}")
        if not self.channels.allows(tiles.tile_co):
            raise TilingError(f"{what}: tile_co {tiles.tile_co} joins blocks that read different channels; take 1")
        require_fit(self._footprint(tiles), self.env.config, what)

    @cached_property
    def _bus(self) -> Bus:
        return bus_of(self.env)

    @cached_property
    def _needs(self) -> Needs:
        return epilogue.needs(self.epilogue, self.env.config)

    @cached_property
    def _met(self) -> tuple[int, int]:
        """Taps that the places of one stride meet, all together, in each direction."""
        rows, columns = (
            sum(
                (rest + tap * d.dilation + d.shift) % d.stride == 0
                for rest in range(d.stride)
                for tap in range(d.kernel)
            )
            for d in self.layer.window.directions
        )
        return rows, columns

    def candidates(self) -> Iterator[Candidate[TransposeTiles]]:
        """Yield the choices that the search looks at: the smallest tiles, and what fits of the others."""
        capacity = Footprint.capacity(self.env.config)
        strides = self.layer.window.strides
        smallest = TransposeTiles(*strides)
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

    def _plain_tiles(self) -> Iterator[TransposeTiles]:
        """Yield the tiles without copies that fit, and that are no small part of the largest ones."""
        layer, capacity = self.layer, Footprint.capacity(self.env.config)
        heights, widths = self.sides
        channels = [co for co in divisors(layer.blocks_out) if self.channels.allows(co)]
        sides = [
            tiles
            for h, w, co in product(heights, widths, channels)
            if h * w * co <= capacity.acc
            for tiles in [TransposeTiles(h, w, 1, co, run=self.longest_run(w))]
            if self._footprint(tiles).fits(capacity)
        ]
        largest = max((tiles.tile_h * tiles.tile_w * tiles.tile_co for tiles in sides), default=1)
        for tiles in sides:
            if tiles.tile_h * tiles.tile_w * tiles.tile_co * _SMALLEST < largest:
                continue
            for ci in divisors(layer.taken):
                larger = replace(tiles, tile_ci=ci)
                if not self._footprint(larger).fits(capacity):
                    break
                yield larger

    def longest_run(self, tile_w: int) -> int:
        """Return the longest run of whole strides that keeps kernels short."""
        met = prod(self._met)
        whole = tile_w // self.layer.window.strides[1]
        return max((d for d in divisors(whole) if d * met <= _LONGEST_KERNEL), default=1)

    def _counts(self, tiles: TransposeTiles) -> tuple[int, int, int, int]:
        """Return how many tiles there are along images, output channels, rows and columns."""
        rows, columns = self.layer.result
        return (
            self.layer.images,
            self.layer.blocks_out // tiles.tile_co,
            blocks(rows, tiles.tile_h),
            blocks(columns, tiles.tile_w),
        )

    def _copies(self, tiles: TransposeTiles) -> Iterator[tuple[int, int]]:
        images, channels, rows, columns = self._counts(tiles)
        turning = {
            Resident.NONE: (columns, channels, rows, images),
            Resident.DATA: (channels,),
            Resident.KERNEL: (columns, rows, images),
        }[tiles.resident]
        steps = self.layer.taken // tiles.tile_ci
        yield from product(copies_in_turn(turning, _COPIES), copies_in_turn((steps,), _COPIES))

    def _fetched(self, tiles: TransposeTiles) -> tuple[int, int, int]:
        """Return blocks, rows and columns of data that a step loads, or what is resident."""
        rows, columns = (
            d.reads(side) - d.shift // d.stride
            for d, side in zip(self.layer.window.directions, (tiles.tile_h, tiles.tile_w), strict=True)
        )
        if tiles.resident is Resident.DATA:
            return self.channels.read(self.layer.blocks_out), rows, columns
        return self.channels.read(tiles.tile_co, tiles.tile_ci), rows, columns

    def _kernel(self, tiles: TransposeTiles) -> int:
        """Return the micro-ops of a step's products: what the two longest loops do not take."""
        loops = ProductLoops.of(tiles, self.layer.window.strides, self.layer.result)
        return loops.micro_ops * tiles.run * prod(self._met)

    def _footprint(self, tiles: TransposeTiles) -> Footprint:
        operands = tiles.rotate_steps if tiles.rotate_steps > 1 else tiles.rotate_tiles
        weights = tiles.tile_co * prod(self.layer.window.kernel)
        outputs = tiles.tile_h * tiles.tile_w * tiles.tile_co
        own = 1 + self._needs.residuals + self._needs.held
        accumulators = outputs * own + self._needs.rows * tiles.tile_co
        resident = tiles.resident
        return Footprint(
            inp=prod(self._fetched(tiles)) * (1 if resident is Resident.DATA else operands),
            wgt=weights * (self.layer.taken if resident is Resident.KERNEL else tiles.tile_ci * operands),
            acc=accumulators * tiles.rotate_tiles + _SLACK,
            uops=self._kernel(tiles),
        )

    def _beats(self, tiles: TransposeTiles) -> tuple[int, int]:
        """Return the beats of a step's data (or of resident data) and of its weights."""
        config, bus, layer = self.env.config, self._bus, self.layer
        read, rows, columns = self._fetched(tiles)
        seen = min(rows, layer.image[0]) * min(columns, layer.image[1])  # pads are not read
        data = bus.beats(read * seen, config.inp_elem_bytes, read * min(rows, layer.image[0]))
        taps = tiles.tile_co * tiles.tile_ci * prod(layer.window.kernel)
        return data, bus.beats(taps, config.wgt_elem_bytes, tiles.tile_co)

    def _gemm(self, tiles: TransposeTiles) -> int:
        """Return the products of a step."""
        strides = self.layer.window.strides
        whole = (tiles.tile_h // strides[0]) * (tiles.tile_w // strides[1])
        return tiles.tile_co * tiles.tile_ci * whole * prod(self._met)

    def _least_cycles(self, tiles: TransposeTiles) -> float:
        """Return about what no choice of copies and residents can be better than."""
        images, channels, rows, columns = self._counts(tiles)
        count, steps = images * channels * rows * columns, self.layer.taken // tiles.tile_ci
        outputs = tiles.tile_h * tiles.tile_w * tiles.tile_co
        data, weights = self._beats(tiles)
        data, weights, gemm = data * steps, weights * steps, self._gemm(tiles) * steps
        load = count * (data + weights)
        if self.channels.step in (0, None):
            load = min(load, count // channels * data + count * weights)
        if self.layer.taken * tiles.tile_co * prod(self.layer.window.kernel) <= self.env.config.wgt_depth:
            load = min(load, channels * weights + count * data)
        store = outputs * self.env.config.out_elem_bytes / self._bus.beat_bytes
        busiest = max(load, count * max(gemm, outputs * self._needs.operations, store))
        return busiest + count * _PER_TILE + ((data + weights) / steps + outputs * self._needs.operations + store) / 2

    def _work(self, tiles: TransposeTiles) -> Work:
        config, bus = self.env.config, self._bus
        images, channels, rows, columns = self._counts(tiles)
        steps = self.layer.taken // tiles.tile_ci
        outputs = tiles.tile_h * tiles.tile_w * tiles.tile_co
        data, weights = self._beats(tiles)
        load = {Resident.NONE: data + weights, Resident.DATA: weights, Resident.KERNEL: data}
        whole = {Resident.NONE: 0, Resident.DATA: data, Resident.KERNEL: weights * steps}
        times = {Resident.NONE: 0, Resident.DATA: images * rows * columns, Resident.KERNEL: channels}
        return Work(
            tiles=images * channels * rows * columns,
            steps=steps,
            tile_copies=tiles.rotate_tiles,
            step_copies=tiles.rotate_steps,
            load=load[tiles.resident],
            load_instructions=1 + (0 if tiles.resident is Resident.DATA else self._fetched(tiles)[0]),
            gemm=self._gemm(tiles),
            alu=outputs * self._needs.operations,
            epilogue_load=bus.beats(outputs * self._needs.residuals, config.out_elem_bytes)
            + bus.beats(tiles.tile_co * self._needs.rows, config.acc_elem_bytes),
            store=bus.beats(outputs, config.out_elem_bytes),
            accumulators=outputs,
            resident_load=whole[tiles.resident],
            resident_loads=times[tiles.resident],
            uops=self._kernel(tiles),
            stages=self._needs.operations,
        )
