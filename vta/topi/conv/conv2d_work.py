"""What a convolution's schedule does with given tiles, and what that costs.

Tests: tests/vta/topi/conv/test_conv2d_work.py.
"""

from math import prod

from vta.topi.conv.conv2d_footprint import kernel_uops
from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.core.layout import blocks
from vta.topi.core.resident import Resident
from vta.topi.tiling import Bus, Price, Work, comes_in_steps, priced
from vta.topi.tiling.cost import least_pace

__all__ = ["conv_least", "conv_price", "conv_work"]


def conv_work(shape: ConvShape, tiles: ConvTiles, bus: Bus) -> Work:
    """Return what a schedule with ``tiles`` and without threads does."""
    inp_bytes, wgt_bytes, out_bytes, acc_bytes = shape.element_bytes
    rows = tiles.tile_kh or shape.window.kernel[0]
    steps = shape.channels.count // tiles.tile_ci * (shape.window.kernel[0] // rows)
    counts = shape.counts(tiles)
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
        uops=kernel_uops(shape, tiles),
        stages=shape.stages,
        store_instructions=_stores(shape, tiles),
        run=tiles.run,
    )


def conv_least(shape: ConvShape, tiles: ConvTiles) -> float:
    """Return what the products of ``tiles`` take at least, whatever is resident and how many copies there are."""
    places = tiles.tile_h * tiles.tile_w * tiles.tile_co
    products = places * shape.channels.count * shape.window.kernel[0] * shape.row_steps
    return prod(shape.counts(tiles)) * least_pace(products, places)


def _stores(shape: ConvShape, tiles: ConvTiles) -> int:
    """Return the instructions that store a tile: one takes whole rows of places, or one row where some are shorter."""
    columns = shape.output[1]
    if columns % tiles.tile_w:
        return tiles.tile_h * tiles.tile_co
    return 1 if tiles.tile_w == columns else tiles.tile_co


def conv_price(shape: ConvShape, tiles: ConvTiles) -> Price:
    """Return what a launch with ``tiles`` and without threads takes."""
    return priced(conv_work(shape, tiles, shape.bus), shape.bus)
