"""Convolution of packed images: what it computes, and its schedule, under TVM-VTA's names.

``conv2d`` and ``schedule_conv2d`` with the knobs of ``ConvTiles`` are TVM-VTA's template.
``vta.topi.conv.conv2d_operator`` builds on the same two with tiles that need not divide.

Tests: tests/vta/topi/conv/test_conv2d.py.
"""

from collections.abc import Callable, Sequence
from typing import assert_never

from isa.errors import VTAError
from vta import te
from vta.environment import Environment
from vta.intrin import depthwise_product
from vta.tir import ops
from vta.tir.expr import Expr, IntImm, IterVar
from vta.topi.conv.conv2d_search import searched_tiles, window_attributes
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.core.layer_schedule import LayerSchedule, use_in_turn
from vta.topi.core.layout import blocks
from vta.topi.core.resident import Resident
from vta.topi.core.sizes import sizes
from vta.topi.core.window import Window

__all__ = [
    "Channel", "Conv2dError", "ConvTiles", "conv2d", "convolution", "require_packed", "schedule_conv2d", "size_of",
]  # fmt: skip


class Conv2dError(VTAError, ValueError):
    """A convolution whose tensors do not go together, or a schedule that does not go with it."""


DEPTHWISE_TAG = "conv2d_depthwise"
"""The tag of a convolution of lanes by themselves."""

Channel = Callable[[Expr, Expr], Expr]
"""(block of output channels, number of the block of input channels) -> block of input channels."""


def conv2d(
    data: te.Tensor,
    kernel: te.Tensor,
    strides: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    out_dtype: str = "int32",
) -> te.Tensor:
    """Return the convolution of ``data`` (N/batch, C/block, H, W, batch, block) with ``kernel`` (O, I, KH, KW, o, i).

    Both are packed (``vta.topi.core.layout``). Pads may be one number, (h, w) or (top, left, bottom, right).
    """
    require_packed(data, kernel)
    if size_of(data, 1) != size_of(kernel, 1):
        raise Conv2dError(
            f"conv2d: data {data.name!r} has {size_of(data, 1)} blocks of channels, and kernel {kernel.name!r} takes "
            f"{size_of(kernel, 1)}; group_conv2d takes groups"
        )
    window = Window.of((size_of(kernel, 2), size_of(kernel, 3)), strides, padding, dilation)
    rows, columns = window.output(size_of(data, 2), size_of(data, 3))
    return convolution(data, kernel, window, rows, columns, lambda _, k_o: k_o, out_dtype=out_dtype)


def require_packed(data: te.Tensor, kernel: te.Tensor) -> None:
    """Raise ``Conv2dError`` unless both tensors have six dimensions and blocks of the same input channels."""
    for tensor, layout in ((data, "(N/batch, C/block, H, W, batch, block)"), (kernel, "(O, I, KH, KW, o, i)")):
        if tensor.ndim != 6:
            raise Conv2dError(f"conv2d: {tensor.name!r} has {tensor.ndim} dimensions, not the 6 of {layout}")
    if size_of(data, 5) != size_of(kernel, 5):
        raise Conv2dError(
            f"conv2d: data {data.name!r} has blocks of {size_of(data, 5)} channels, and kernel {kernel.name!r} of "
            f"{size_of(kernel, 5)}"
        )


def size_of(tensor: te.Tensor, dimension: int) -> int:
    """Return a constant extent of ``tensor``."""
    extent = tensor.shape[dimension]
    if not isinstance(extent, IntImm):
        raise Conv2dError(f"tensor {tensor.name!r}: dimension {dimension} is a number, not {extent}")
    return extent.value


def convolution(
    data: te.Tensor,
    kernel: te.Tensor,
    window: Window,
    rows: int,
    columns: int,
    channel: Channel,
    *,
    out_dtype: str = "int32",
    gather: bool = False,
    groups: int = 1,
    taps: int = 0,
) -> te.Tensor:
    """Return ``rows`` x ``columns`` places of a convolution, which may be more than the image has: they read zeros.

    With ``gather``, a kernel of one row (or column) with a stride loads no row (or column) in between. Window and
    ``groups`` (of whole blocks) are kept as attributes, from which the search for tiles knows them.

    With ``taps``, every lane is convolved by itself, so many places of the window's rows at once: ``kernel`` is that of
    ``vta.topi.conv.depthwise``, and the window's rows are a multiple of ``taps`` without gaps.
    """
    gaps = window.gaps if gather else (1, 1)
    steps = (window.strides[0] // gaps[0], window.strides[1] // gaps[1])
    reach = window.span(rows, columns)
    fetched = _fetched(data, window.padding, gaps, ((reach[0] - 1) // gaps[0] + 1, (reach[1] - 1) // gaps[1] + 1))
    extents = (size_of(kernel, 1), window.kernel[0], size_of(kernel, 3), size_of(kernel, 5))
    k_o, d_i, d_j, k_i = (
        te.reduce_axis((0, extent), name=name)
        for name, extent in zip(("k_o", "d_i", "d_j", "k_i"), extents, strict=True)
    )
    dilation = window.dilation

    def element(b_o: Expr, c_o: Expr, i: Expr, j: Expr, b_i: Expr, c_i: Expr) -> Expr:
        row, column = i * steps[0] + d_i * dilation[0], j * steps[1] + d_j * dilation[1]
        weight = kernel(c_o, k_o, d_i, d_j, c_i, k_i).astype(out_dtype)
        axes = [k_o, d_i, d_j, k_i]
        if not taps:
            return te.sum(
                fetched(b_o, channel(c_o, k_o.var), row, column, b_i, k_i).astype(out_dtype) * weight, axis=axes
            )
        first = j * steps[1] + d_j * taps

        def value(tap: Expr) -> Expr:
            return fetched(b_o, channel(c_o, k_o.var), row, first + tap, b_i, c_i).astype(out_dtype)

        return te.sum(depthwise_product(value, weight, k_i.var, taps), axis=axes)

    shape = (data.shape[0], kernel.shape[0], rows, columns, data.shape[4], kernel.shape[4])
    return te.compute(
        shape,
        element,
        name="res",
        tag=DEPTHWISE_TAG if taps else "conv2d_dense",
        attrs=window_attributes(window, groups),
    )


def _fetched(
    data: te.Tensor, padding: tuple[int, int, int, int], gaps: tuple[int, int], extents: tuple[int, int]
) -> te.Tensor:
    """Return ``extents`` places of the padded image, every ``gaps``-th one: ``data`` itself if it has just them."""
    sizes = (size_of(data, 2), size_of(data, 3))
    befores = padding[:2]
    if gaps == (1, 1) and befores == (0, 0) and all(e <= n for e, n in zip(extents, sizes, strict=True)):
        return data

    def element(b_o: Expr, c_o: Expr, i: Expr, j: Expr, b_i: Expr, c_i: Expr) -> Expr:
        inside: list[Expr] = []
        for index, before, gap, extent, size in zip((i, j), befores, gaps, extents, sizes, strict=True):
            if before:
                inside.append(index >= -(-before // gap))
            if (extent - 1) * gap - before >= size:
                inside.append(index < (size - 1 + before) // gap + 1)
        value = data(b_o, c_o, i * gaps[0] - befores[0], j * gaps[1] - befores[1], b_i, c_i)
        return ops.if_then_else(ops.all(*inside), value, te.const(0, data.dtype)) if inside else value

    shape = (*data.shape[:2], *extents, *data.shape[4:])
    return te.compute(shape, element, name="pad_data", tag="injective,pad")


def schedule_conv2d(
    outs: te.Tensor | Sequence[te.Tensor], tiles: ConvTiles | None = None, env: Environment | None = None
) -> te.Schedule:
    """Return the schedule of a convolution with its epilogue, whose last stage casts to ``env.out_dtype``.

    Without ``tiles`` the best ones are searched; what TVM-VTA takes without a tuning log is ``ConvTiles()``, tiles of
    one. ``env`` defaults to the current environment. Raises ``TilingError`` where nothing fits.
    """
    made = LayerSchedule.of(outs, env)
    chosen = searched_tiles(made.layer, made.env) if tiles is None else tiles
    tile, outside = _tile_result(made, chosen)
    made.compute_tile_in(tile)
    step, rows = _order_sums(made, chosen)
    made.load_operands_in(step, weights_in=rows, resident=chosen.resident, outside=outside)
    return made.s


def _tile_result(made: LayerSchedule, tiles: ConvTiles) -> tuple[IterVar, IterVar]:
    """Tile the result, bind threads; return the loop in which a tile is computed, and that of resident loads."""
    result = made.result
    x_bo, x_co, x_i, x_j, x_bi, x_ci = result.leaf_iter_vars
    co0, co1 = result.split(x_co, factor=tiles.tile_co)
    i0, i1 = result.split(x_i, factor=tiles.tile_h)
    j0, j1 = result.split(x_j, factor=tiles.tile_w)
    match tiles.resident:
        case Resident.NONE:
            order, turning, outside = [x_bo, i0, co0, j0], [j0, co0, i0, x_bo], j0
        case Resident.DATA:
            order, turning, outside = [x_bo, i0, j0, co0], [co0], j0
        case Resident.KERNEL:
            order, turning, outside = [co0, x_bo, i0, j0], [j0, i0, x_bo], co0
        case _:
            assert_never(tiles.resident)
    result.reorder(*order, co1, i1, j1, x_bi, x_ci)
    template = tiles.resident is Resident.NONE and tiles.rotate_tiles == 1
    left = {axis: axis for axis in order}
    for threads, axis in ((tiles.oc_nthread, co0), (tiles.h_nthread, i0)):
        left[axis] = made.take_turns(axis, threads, swapped_with=x_bo if template else None)
    result.pragma(co1, made.env.dma_copy)
    sides = (1, tiles.tile_co * tiles.oc_nthread, tiles.tile_h * tiles.h_nthread, tiles.tile_w)
    extents = zip((x_bo, co0, i0, j0), sizes(made.layer.output)[:4], sides, strict=True)
    trips = {axis: blocks(extent, side) for axis, extent, side in extents}
    inner = use_in_turn(
        result, [left[axis] for axis in order], {left[axis]: trips[axis] for axis in turning}, tiles.rotate_tiles
    )
    return inner, left[outside]


def _order_sums(made: LayerSchedule, tiles: ConvTiles) -> tuple[IterVar, IterVar]:
    """Order the loops of the products; return those around the loads of data and of weights."""
    sums = made.sums
    b_o, c_o, i, j, b_i, c_i, k_o, d_i, d_j, k_i = sums.leaf_iter_vars
    sums.reorder(b_o, k_o, j, d_j, d_i, c_o, i, b_i, c_i, k_i)
    step, k_inner = sums.split(k_o, factor=tiles.tile_ci)
    steps, outer, rows = [step], d_i, d_i
    if tiles.tile_kh:
        outer, rows = sums.split(d_i, factor=tiles.tile_kh)
        sums.reorder(step, outer, k_inner, j, d_j, rows, c_o, i)
        steps.append(outer)
    if tiles.run:
        j_outer, j_inner = sums.split(j, factor=tiles.run)
        extents = {c_o: tiles.tile_co, i: tiles.tile_h, j_outer: tiles.tile_w // tiles.run, k_inner: tiles.tile_ci}
        sums.reorder(*sorted(extents, key=lambda axis: -extents[axis]), rows, d_j, j_inner)
    op = made.layer.reduction.op
    lane_by_lane = isinstance(op, te.ComputeOp) and op.tag == DEPTHWISE_TAG
    sums.tensorize(b_i, made.env.depthwise_gemm if lane_by_lane else made.env.gemm)
    channels, height = sizes(made.layer.reduction.op.input_tensors[1])[1:3]
    trips = (blocks(channels, tiles.tile_ci), blocks(height, tiles.tile_kh or height))
    if tiles.rotate_rows:
        data = use_in_turn(sums, [step], {step: trips[0]}, tiles.rotate_steps)
        return data, use_in_turn(sums, [outer], {outer: trips[1]}, tiles.rotate_rows)
    inner = use_in_turn(sums, steps, dict(zip(steps, trips, strict=False)), tiles.rotate_steps)
    return inner, inner
