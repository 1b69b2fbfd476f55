"""Tiles for ``Conv2d``: which there are, what they take of the scratchpads, and what they cost.

Tests: tests/vta/topi/conv/test_conv2d_tiling.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod

from isa.config import VTAConfig
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.core.channel_blocks import ChannelBlocks
from vta.topi.core.layout import blocks
from vta.topi.core.resident import Resident
from vta.topi.core.window import Window
from vta.topi.tiling import (
    Bus,
    Candidate,
    Footprint,
    Price,
    TilingError,
    Work,
    comes_in_steps,
    copies_in_turn,
    divisors,
    even_parts,
    priced,
)
from vta.topi.tiling.cost import least_pace

__all__ = [
    "ConvMemory",
    "ConvShape",
    "conv_allows",
    "conv_candidates",
    "conv_footprint",
    "conv_least",
    "conv_work",
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
_SLACK = 4
"""Accumulators for temporaries of the ALU's stages."""

_SMALLEST = 64
"""The smallest tile that the search looks at is this part of the accumulator, if there are larger ones."""

_WIDTHS = 4
"""How many widths of tiles the search looks at."""


@dataclass(frozen=True)
class ConvShape:
    """A convolution as its loops see it: sizes in blocks, on one configuration.

    The epilogue does ``stages`` operations on every accumulator; it loads ``residuals`` tensors of the output's size
    and ``by_channel`` ones of a value a channel, and holds ``held`` numbers beside each. ``gathers`` says that rows and
    columns that nobody reads are left out, and ``even`` that tiles must divide the output. ``bus`` is what the search
    prices loads with. A step of the products takes ``taps`` places of a row of the window,
    which divide it.
    """

    config: VTAConfig
    images: int
    height: int
    width: int
    channels: ChannelBlocks
    window: Window
    stages: int
    residuals: int
    by_channel: int
    held: int = 0
    gathers: bool = True
    even: bool = False
    bus: Bus = field(default_factory=Bus)
    taps: int = 1

    @cached_property
    def output(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        return self.window.output(self.height, self.width)

    @property
    def row_steps(self) -> int:
        """Steps of the products that a row of the window takes, each of which has a weight element of its own."""
        return self.window.kernel[1] // self.taps

    @property
    def blocks_out(self) -> int:
        """Blocks of output channels."""
        return len(self.channels.starts)

    @cached_property
    def capacity(self) -> Footprint:
        """What the scratchpads hold."""
        return Footprint.capacity(self.config)

    @cached_property
    def element_bytes(self) -> tuple[int, int, int, int]:
        """Bytes of an input, a weight, an output and an accumulator."""
        config = self.config
        return config.inp_elem_bytes, config.wgt_elem_bytes, config.out_elem_bytes, config.acc_elem_bytes

    @cached_property
    def gaps(self) -> tuple[int, int]:
        """How far apart the rows and columns are that are loaded."""
        return self.window.gaps if self.gathers else (1, 1)

    def parts(self, extent: int) -> list[int]:
        """Return the sizes of parts into which ``extent`` may be cut, the largest first."""
        return [part for part in even_parts(extent) if not self.even or extent % part == 0]

    def fetched(self, tiles: ConvTiles) -> tuple[int, int, int]:
        """Return blocks, rows and columns of data that a step loads, those in between left out."""
        rows_of_kernel = (0 if tiles.rotate_rows else tiles.tile_kh) or self.window.kernel[0]
        reach = (rows_of_kernel - 1) * self.window.dilation[0]
        gap = self.gaps
        rows = ((tiles.tile_h - 1) * self.window.strides[0] + reach) // gap[0] + 1
        columns = (self.window.span(1, tiles.tile_w)[1] - 1) // gap[1] + 1
        if tiles.resident is Resident.DATA:
            rows = (self.window.span(tiles.tile_h, 1)[0] - 1) // gap[0] + 1
            return self.channels.count + self._spreads[self.blocks_out], rows, columns
        return tiles.tile_ci + self._spreads[tiles.tile_co], rows, columns

    @cached_property
    def _spreads(self) -> dict[int, int]:
        """How far apart the channels that a tile reads begin, by how many blocks of output channels it has."""
        return {number: self.channels.read(number, 1) - 1 for number in range(1, self.blocks_out + 1)}


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


def conv_footprint(shape: ConvShape, tiles: ConvTiles) -> Footprint:
    """Return what ``tiles`` take."""
    return ConvMemory.of(shape, tiles).footprint(tiles.rotate_tiles, tiles.rotate_steps)


@dataclass(frozen=True, slots=True)
class ConvMemory:
    """What tiles take of the scratchpads without copies, and what of it every copy takes again."""

    inp: int
    wgt: int
    acc: int
    uops: int
    resident: Resident
    row_copies: int = 0
    """Of weights alone; 0: as many as of the data."""

    @staticmethod
    def of(shape: ConvShape, tiles: ConvTiles) -> "ConvMemory":
        """Return what one copy for each thread takes."""
        threads = tiles.oc_nthread * tiles.h_nthread
        rows, columns = shape.window.kernel[0], shape.row_steps
        weights = tiles.tile_co * tiles.tile_ci * (tiles.tile_kh or rows) * columns
        if tiles.resident is Resident.KERNEL:
            weights = tiles.tile_co * shape.channels.count * rows * columns
        places = tiles.tile_h * tiles.tile_w * tiles.tile_co
        accumulators = places * (1 + shape.residuals + shape.held) + shape.by_channel * tiles.tile_co
        return ConvMemory(
            prod(shape.fetched(tiles)) * threads,
            weights * threads,
            accumulators * threads,
            _kernel(shape, tiles),
            tiles.resident,
            tiles.rotate_rows,
        )

    def footprint(self, tile_copies: int, step_copies: int) -> Footprint:
        """Return what it takes with copies."""
        inp, wgt, acc = self._turned(tile_copies, step_copies)
        return Footprint(inp=inp, wgt=wgt, acc=acc, uops=self.uops)

    def fits(self, capacity: Footprint, tile_copies: int, step_copies: int) -> bool:
        """Return whether the footprint is within ``capacity``."""
        inp, wgt, acc = self._turned(tile_copies, step_copies)
        return acc <= capacity.acc and inp <= capacity.inp and wgt <= capacity.wgt and self.uops <= capacity.uops

    def _turned(self, tile_copies: int, step_copies: int) -> tuple[int, int, int]:
        operands = step_copies if step_copies > 1 else tile_copies
        return (
            self.inp * (1 if self.resident is Resident.DATA else operands),
            self.wgt * (1 if self.resident is Resident.KERNEL else self.row_copies or operands),
            self.acc * tile_copies + _SLACK,
        )


def _kernel(shape: ConvShape, tiles: ConvTiles) -> int:
    """Return the micro-ops of a step's products: what the two longest loops do not take."""
    rows = tiles.tile_kh or shape.window.kernel[0]
    if not tiles.run:
        return 1
    loops = sorted((tiles.tile_co, tiles.tile_h, tiles.tile_w // tiles.run, tiles.tile_ci))
    return loops[0] * loops[1] * rows * shape.row_steps * tiles.run


def conv_work(shape: ConvShape, tiles: ConvTiles, bus: Bus) -> Work:
    """Return what a schedule with ``tiles`` and without threads does."""
    inp_bytes, wgt_bytes, out_bytes, acc_bytes = shape.element_bytes
    rows = tiles.tile_kh or shape.window.kernel[0]
    steps = shape.channels.count // tiles.tile_ci * (shape.window.kernel[0] // rows)
    counts = _counts(shape, tiles)
    places = tiles.tile_h * tiles.tile_w * tiles.tile_co
    read, high, wide = shape.fetched(tiles)
    gap = shape.gaps
    runs = read * high * (wide if gap[1] > 1 else 1)
    # Pads are not read.
    seen = min(high, blocks(shape.height, gap[0])) * min(wide, blocks(shape.width, gap[1]))
    data = bus.beats(read * seen, inp_bytes, runs)
    if tiles.rotate_rows:  # once for all rows of the kernel
        data = -(-data * rows // shape.window.kernel[0])
    data_instructions = read * (high if gap[1] > 1 else 1)
    taps = tiles.tile_co * tiles.tile_ci * rows * shape.row_steps
    weights = bus.beats(taps, wgt_bytes, tiles.tile_co)
    residual = bus.beats(places * shape.residuals, out_bytes)
    channel = bus.beats(tiles.tile_co * shape.by_channel, acc_bytes)
    load = (0 if tiles.resident is Resident.DATA else data) + (0 if tiles.resident is Resident.KERNEL else weights)
    whole = {Resident.NONE: 0, Resident.DATA: data, Resident.KERNEL: weights * steps}[tiles.resident]
    per_kind = {Resident.NONE: 1, Resident.DATA: counts[0] * counts[2] * counts[3], Resident.KERNEL: counts[1]}
    # What stays on the chip lies together for the blocks of input channels of a step, and the rows of the kernel.
    neighbours = tiles.tile_ci * rows * shape.row_steps * wgt_bytes
    if tiles.resident is Resident.DATA:
        neighbours = tiles.tile_ci * seen * inp_bytes if gap[1] == 1 and rows == shape.window.kernel[0] else 0
    return Work(
        tiles=prod(counts),
        steps=steps,
        tile_copies=tiles.rotate_tiles,
        step_copies=tiles.rotate_steps,
        load=load,
        weights=0 if tiles.resident is Resident.KERNEL else weights,
        blocks=tiles.tile_co,
        load_instructions=1 + (0 if tiles.resident is Resident.DATA else data_instructions),
        gemm=places * tiles.tile_ci * rows * shape.row_steps,
        alu=places * shape.stages,
        epilogue_load=residual + channel,
        store=bus.beats(places, out_bytes),
        accumulators=places,
        resident_load=whole,
        resident_loads=per_kind[tiles.resident],
        resident_instructions=data_instructions if tiles.resident is Resident.DATA else 1,
        resident_steps=comes_in_steps(steps, neighbours),
        kernels=tiles.rotate_tiles * tiles.rotate_steps,
        uops=_kernel(shape, tiles),
        stages=shape.stages,
        store_instructions=_stores(shape, tiles),
        run=tiles.run,
    )


def conv_least(shape: ConvShape, tiles: ConvTiles) -> float:
    """Return what the products of ``tiles`` take at least, whatever is resident and how many copies there are."""
    places = tiles.tile_h * tiles.tile_w * tiles.tile_co
    products = places * shape.channels.count * shape.window.kernel[0] * shape.row_steps
    return prod(_counts(shape, tiles)) * least_pace(products, places)


def _stores(shape: ConvShape, tiles: ConvTiles) -> int:
    """Return the instructions that store a tile: one takes whole rows of places, or one row where some are shorter."""
    columns = shape.output[1]
    if columns % tiles.tile_w:
        return tiles.tile_h * tiles.tile_co
    return 1 if tiles.tile_w == columns else tiles.tile_co


def conv_price(shape: ConvShape, tiles: ConvTiles) -> Price:
    """Return what a launch with ``tiles`` and without threads takes."""
    return priced(conv_work(shape, tiles, shape.bus), shape.bus)


def _counts(shape: ConvShape, tiles: ConvTiles) -> tuple[int, int, int, int]:
    """Return how many tiles there are along batch, output channels, rows and columns."""
    rows, columns = shape.output
    return (
        shape.images,
        shape.blocks_out // tiles.tile_co,
        blocks(rows, tiles.tile_h),
        blocks(columns, tiles.tile_w),
    )


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
    batch, channels, rows, columns = _counts(shape, plain)
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
