"""The tiles that there are for ``Conv2d``: which can be, which fit, which the search looks at.

Tests: tests/vta/topi/conv/test_conv2d_tiling.py.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from vta.topi.conv.conv2d_footprint import ConvMemory, conv_footprint
from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.conv.conv2d_work import conv_work
from vta.topi.core.resident import Resident
from vta.topi.tiling import Candidate, TilingError, copies_in_turn, divisors

__all__ = [
    "conv_allows",
    "conv_candidates",
    "copies_of",
    "copies_of_rows",
    "inner_tiles",
    "longest_run",
    "require_tiles",
    "with_residents",
]

_COPIES = (4, 3, 2, 7, 5, 1)
_LONGEST_KERNEL = 512
"""Micro-ops of a kernel that the search looks for; binding and loading take a cycle or half of one for each."""
_SMALLEST = 64
"""The smallest tile that the search looks at is this part of the accumulator, if there are larger ones."""

_WIDTHS = 4
"""How many widths of tiles the search looks at."""


def require_tiles(shape: ConvShape, tiles: ConvTiles, what: str) -> None:
    """Raise ``TilingError`` for tiles that the schedule cannot have; whether they fit is for ``require_fit``."""
    rows = shape.window.kernel[0]
    for name, value, extent, of in (
        ("tile_co", tiles.tile_co, shape.blocks_out, "blocks of output channels"),
        ("tile_ci", tiles.tile_ci, shape.channels.count, "blocks of input channels"),
        ("tile_kh", tiles.tile_kh or rows, rows, "rows of the kernel"),
        ("run", tiles.run or tiles.tile_w, tiles.tile_w, "places of a tile's row"),
    ):
        if value < 1 or extent % value:
            raise TilingError(f"{what}: {name} divides the {extent} {of}, {value} does not")
    whole = ("tile_h", "tile_w", "rotate_tiles", "rotate_steps", "oc_nthread", "h_nthread")
    for name, value in ((name, getattr(tiles, name)) for name in whole):
        if value < 1:
            raise TilingError(f"{what}: {name} is 1 or more, not {value}")
    if tiles.rotate_rows < 0:
        raise TilingError(f"{what}: rotate_rows is 0 or more, not {tiles.rotate_rows}")
    if tiles.rotate_rows and not (tiles.tile_kh and tiles.resident is Resident.NONE):
        raise TilingError(
            f"{what}: rotate_rows is 0 unless tile_kh cuts the kernel and nothing is resident, not {tiles.rotate_rows}"
        )
    if not shape.channels.allows(tiles.tile_co):
        raise TilingError(f"{what}: tile_co {tiles.tile_co} joins blocks whose groups read different channels; take 1")


def conv_allows(shape: ConvShape, tiles: ConvTiles) -> bool:
    """Return whether ``tiles`` can be and fit, with residents and copies that a search would look at."""
    if tiles.tile_kh and tiles.tile_ci > 1:
        return False
    if not shape.channels.allows(tiles.tile_co) or not conv_footprint(shape, tiles).fits(shape.capacity):
        return False
    if tiles.rotate_rows and tiles.rotate_rows not in copies_of_rows(shape, tiles.tile_co, tiles.tile_kh):
        return False
    copies = (tiles.rotate_tiles, tiles.rotate_steps)
    plain = replace(tiles, resident=Resident.NONE)
    turning = {choice.resident: trips for choice, trips in with_residents(shape, plain)}.get(tiles.resident)
    return turning is not None and copies in copies_of(shape, tiles, turning)


def conv_candidates(shape: ConvShape) -> Iterator[Candidate[ConvTiles]]:
    """Yield the choices that the search looks at: if nothing fits, everything there is."""
    found = False
    for candidate in _candidates(shape, thorough=False):
        found = True
        yield candidate
    if not found:
        yield from _candidates(shape, thorough=True)


def _candidates(shape: ConvShape, *, thorough: bool) -> Iterator[Candidate[ConvTiles]]:
    capacity = shape.capacity
    for plain in inner_tiles(shape, thorough=thorough):
        least = ConvMemory.of(shape, plain)
        if not least.fits(capacity, 1, 1):
            if thorough:
                yield Candidate(plain, least.footprint(1, 1), conv_work(shape, plain, shape.bus))
            continue
        for tiles, turning in with_residents(shape, plain):
            memory = ConvMemory.of(shape, tiles)
            work = conv_work(shape, tiles, shape.bus)
            for pair in copies_of(shape, plain, turning):
                if memory.fits(capacity, *pair):
                    turned = replace(tiles, rotate_tiles=pair[0], rotate_steps=pair[1])
                    yield Candidate(turned, memory.footprint(*pair), work.turned(*pair))


def inner_tiles(shape: ConvShape, *, thorough: bool) -> Iterator[ConvTiles]:
    """Yield tiles without copies: a few hundred, no small ones, unless ``thorough``."""
    acc_depth, wgt_depth = shape.config.acc_depth, shape.config.wgt_depth
    rows, columns = shape.output
    kernel_rows, taps = shape.window.kernel[0], shape.window.kernel[0] * shape.row_steps
    channels = [d for d in divisors(shape.blocks_out) if shape.channels.allows(d)]
    sizes = sorted(
        {
            (tile_h * tile_w * tile_co, tile_h, tile_w, tile_co)
            for tile_w in (shape.parts(columns) if thorough else _widths(shape, acc_depth))
            for tile_h in shape.parts(rows)
            for tile_co in channels
            if tile_h * tile_w * tile_co <= acc_depth
        },
        reverse=True,
    )
    least = min(sizes[0][0] // 2, acc_depth // _SMALLEST) if sizes else 0
    for places, tile_h, tile_w, tile_co in sizes or [(1, 1, 1, 1)]:
        if places < least and not thorough:
            break
        for tile_ci in divisors(shape.channels.count):
            if tile_ci > 1 and tile_ci * tile_co * taps > wgt_depth:
                break
            cut = tile_ci == 1 and (thorough or _is_large(shape, tile_co))
            for tile_kh in [0, *divisors(kernel_rows)[:-1]] if cut else [0]:
                run = longest_run(shape, tile_w, tile_kh or kernel_rows)
                plain = ConvTiles(
                    tile_h=tile_h, tile_w=tile_w, tile_ci=tile_ci, tile_co=tile_co, tile_kh=tile_kh, run=run
                )
                yield plain
                for copies in copies_of_rows(shape, tile_co, tile_kh):
                    yield replace(plain, rotate_rows=copies)


def _widths(shape: ConvShape, acc_depth: int) -> list[int]:
    """Return widths of tiles: whole rows and large parts of them, because the columns at their borders load twice."""
    parts = shape.parts(shape.output[1])
    fitting = [part for part in parts if part <= acc_depth // 2]
    return (fitting or parts[-1:])[:_WIDTHS]


def longest_run(shape: ConvShape, tile_w: int, rows: int) -> int:
    """Return the longest run of places that keeps kernels short."""
    taps = rows * shape.row_steps
    return max((d for d in divisors(tile_w) if d * taps <= _LONGEST_KERNEL), default=1)


def with_residents(shape: ConvShape, plain: ConvTiles) -> Iterator[tuple[ConvTiles, tuple[int, ...]]]:
    """Yield what may be resident, with the trips of the loops that can use accumulators in turn then."""
    batch, channels, rows, columns = shape.counts(plain)
    yield plain, (columns, channels, rows, batch)
    if plain.rotate_rows:
        return
    if channels > 1:
        yield replace(plain, resident=Resident.DATA), (channels,)
    if batch * rows * columns > 1:
        yield replace(plain, resident=Resident.KERNEL), (columns, rows, batch)


def copies_of(shape: ConvShape, plain: ConvTiles, turning: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield numbers of copies, of tiles and of steps."""
    steps = shape.channels.count // plain.tile_ci
    kernel_steps = 1 if plain.rotate_rows else shape.window.kernel[0] // (plain.tile_kh or shape.window.kernel[0])
    yield from product(copies_in_turn(turning, _COPIES), copies_in_turn((steps, kernel_steps), _COPIES))


def copies_of_rows(shape: ConvShape, tile_co: int, tile_kh: int) -> tuple[int, ...]:
    """Return the numbers of copies of weights that come ``tile_kh`` rows at a time, for data that stay meanwhile.

    There are none where the weights of a step are so few that they can come together.
    """
    if not tile_kh or not _is_large(shape, tile_co):
        return ()
    turns = copies_in_turn((shape.window.kernel[0] // tile_kh,), _COPIES)
    return tuple(copies for copies in turns if copies > 1)


def _is_large(shape: ConvShape, tile_co: int) -> bool:
    """Whether the weights for a block of input channels do not fit twice, so that two copies need parts of them."""
    return tile_co * shape.window.kernel[0] * shape.row_steps > shape.config.wgt_depth // 2
