"""Convolution of packed images: what it computes, and its schedule, under TVM-VTA's names.

``conv2d`` and ``schedule_conv2d`` with the knobs of ``ConvTiles`` are TVM-VTA's template.
``vta.topi.conv.conv2d_operator`` builds on the same two with tiles that need not divide.

Tests: tests/vta/topi/conv/test_conv2d.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isa.errors import VTAError
from vta import te
from vta.environment import Environment, get_env
from vta.tir import ops
from vta.tir.expr import Expr, IntImm, IterVar
from vta.topi.conv.conv2d_search import searched_tiles, window_attributes
from vta.topi.conv.conv2d_tiles import ConvTiles, Resident
from vta.topi.core.fused import FusedLayer, fused_layer
from vta.topi.core.layout import blocks
from vta.topi.core.window import Window
from vta.topi.tiling import turning_loop

__all__ = [
    "Channel", "Conv2dError", "ConvTiles", "Resident", "conv2d", "convolution", "require_packed", "schedule_conv2d",
    "size_of",
]  # fmt: skip


class Conv2dError(VTAError, ValueError):
    """A convolution whose tensors do not go together, or a schedule that does not go with it."""


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
) -> te.Tensor:
    """Return ``rows`` x ``columns`` places of a convolution, which may be more than the image has: they read zeros.

    With ``gather``, a kernel of one row (or column) with a stride loads no row (or column) in between. Window and
    ``groups`` (of whole blocks) are kept as attributes, from which the search for tiles knows them.
    """
    gaps = window.gaps if gather else (1, 1)
    steps = (window.strides[0] // gaps[0], window.strides[1] // gaps[1])
    reach = window.span(rows, columns)
    fetched = _fetched(data, window.padding, gaps, ((reach[0] - 1) // gaps[0] + 1, (reach[1] - 1) // gaps[1] + 1))
    k_o, d_i, d_j, k_i = (
        te.reduce_axis((0, extent), name=name)
        for name, extent in zip(
            ("k_o", "d_i", "d_j", "k_i"), (size_of(kernel, 1), *window.kernel, size_of(kernel, 5)), strict=True
        )
    )
    dilation = window.dilation

    def element(b_o: Expr, c_o: Expr, i: Expr, j: Expr, b_i: Expr, c_i: Expr) -> Expr:
        row, column = i * steps[0] + d_i * dilation[0], j * steps[1] + d_j * dilation[1]
        product = fetched(b_o, channel(c_o, k_o.var), row, column, b_i, k_i).astype(out_dtype) * kernel(
            c_o, k_o, d_i, d_j, c_i, k_i
        ).astype(out_dtype)
        return te.sum(product, axis=[k_o, d_i, d_j, k_i])

    shape = (data.shape[0], kernel.shape[0], rows, columns, data.shape[4], kernel.shape[4])
    return te.compute(shape, element, name="res", tag="conv2d_dense", attrs=window_attributes(window, groups))


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
    [output] = [outs] if isinstance(outs, te.Tensor) else outs
    layer, chosen = fused_layer(output), env or get_env()
    found = searched_tiles(layer, chosen) if tiles is None else tiles
    return _Template(layer, te.create_schedule(output.op), found, chosen).build()


@dataclass(frozen=True, slots=True, eq=False)
class _Template:
    layer: FusedLayer
    s: te.Schedule
    tiles: ConvTiles
    env: Environment

    def build(self) -> te.Schedule:
        """Put the loops in order and map them onto the accelerator."""
        loads = self._epilogue_loads()
        data, kernel = self._operands()
        place, outside = self._output()
        for tensor in (self.layer.reduction, *self.layer.stages, *loads):
            self._compute_at(tensor, self.env.acc_scope, self.layer.output, place)
        for tensor in self.layer.stages:
            self._pragma(tensor, self.env.alu)
        for tensor in loads:
            self._pragma(tensor, self.env.dma_copy)
        step = self._reduction()
        for tensor, scope, kind in (
            (data, self.env.inp_scope, Resident.DATA),
            (kernel, self.env.wgt_scope, Resident.KERNEL),
        ):
            if self.tiles.resident is kind:
                self._compute_at(tensor, scope, self.layer.output, outside)
            else:
                self._compute_at(tensor, scope, self.layer.reduction, step)
            self._pragma(tensor, self.env.dma_copy)
        return self.s

    def _operands(self) -> tuple[te.Tensor, te.Tensor]:
        """Return the stages that bring data and kernel onto the chip."""
        reduction = self.layer.reduction
        data, kernel = reduction.op.input_tensors
        return tuple(  # type: ignore[return-value]  # two of them
            t if isinstance(t.op, te.ComputeOp) else self.s.cache_read(t, scope, [reduction])
            for t, scope in ((data, self.env.inp_scope), (kernel, self.env.wgt_scope))
        )

    def _epilogue_loads(self) -> list[te.Tensor]:
        caches = [
            self.s.cache_read(tensor, self.env.acc_scope, self.layer.readers(tensor))
            for tensor in self.layer.placeholders
        ]
        return [*caches, *self.layer.loads]

    def _compute_at(self, tensor: te.Tensor, scope: str, consumer: te.Tensor, axis: IterVar) -> None:
        self.s[tensor].set_scope(scope)
        self.s[tensor].compute_at(self.s[consumer], axis)

    def _pragma(self, tensor: te.Tensor, name: str) -> None:
        self.s[tensor].pragma(self.s[tensor].leaf_iter_vars[0], name)

    def _output(self) -> tuple[IterVar, IterVar]:
        """Tile the output, bind threads; return the loop in which a tile is computed, and that of resident loads."""
        stage, tiles = self.s[self.layer.output], self.tiles
        x_bo, x_co, x_i, x_j, x_bi, x_ci = stage.leaf_iter_vars
        co0, co1 = stage.split(x_co, factor=tiles.tile_co)
        i0, i1 = stage.split(x_i, factor=tiles.tile_h)
        j0, j1 = stage.split(x_j, factor=tiles.tile_w)
        match tiles.resident:
            case Resident.NONE:
                order, turning, outside = [x_bo, i0, co0, j0], [j0, co0, i0, x_bo], j0
            case Resident.DATA:
                order, turning, outside = [x_bo, i0, j0, co0], [co0], j0
            case Resident.KERNEL:
                order, turning, outside = [co0, x_bo, i0, j0], [j0, i0, x_bo], co0
        stage.reorder(*order, co1, i1, j1, x_bi, x_ci)
        for threads, axis in ((tiles.oc_nthread, co0), (tiles.h_nthread, i0)):
            if threads > 1:
                _, thread = stage.split(axis, factor=threads)
                stage.reorder(thread, x_bo)
                stage.bind(thread, te.thread_axis("cthread"))
        stage.pragma(co1, self.env.dma_copy)
        if tiles.rotate_tiles == 1:
            return order[-1], outside
        sizes = dict(zip((x_bo, co0, i0, j0), self._tile_counts(), strict=True))
        return self._rotated(stage, order, {axis: sizes[axis] for axis in turning}, tiles.rotate_tiles), outside

    def _tile_counts(self) -> tuple[int, int, int, int]:
        """Return how many tiles there are along batch, output channels, rows, columns."""
        extents = [size_of(self.layer.output, dimension) for dimension in range(4)]
        inner = (1, self.tiles.tile_co, self.tiles.tile_h, self.tiles.tile_w)
        batch, channels, rows, columns = (blocks(extent, tile) for extent, tile in zip(extents, inner, strict=True))
        return batch, channels, rows, columns

    def _rotated(self, stage: te.Stage, order: list[IterVar], counts: dict[IterVar, int], copies: int) -> IterVar:
        """Let part of a loop be the innermost one, of ``copies`` that use memory in turn."""
        chosen = turning_loop(counts, copies)
        if chosen is None:
            raise Conv2dError(
                f"stage {stage.name!r}: no loop around its tiles or steps has {copies} trips or more, as buffers "
                f"that are used in turn need: {', '.join(str(count) for count in counts.values())}"
            )
        outer, inner = stage.split(chosen, factor=copies)
        stage.reorder(*(outer if axis is chosen else axis for axis in order), inner)
        stage.bind(inner, te.thread_axis("rotate"))
        return inner

    def _reduction(self) -> IterVar:
        """Order the loops of the products; return the one around the loads of a step."""
        stage, tiles = self.s[self.layer.reduction], self.tiles
        b_o, c_o, i, j, b_i, c_i, k_o, d_i, d_j, k_i = stage.leaf_iter_vars
        stage.reorder(b_o, k_o, j, d_j, d_i, c_o, i, b_i, c_i, k_i)
        step, k_inner = stage.split(k_o, factor=tiles.tile_ci)
        steps, rows = [step], d_i
        if tiles.tile_kh:
            outer, rows = stage.split(d_i, factor=tiles.tile_kh)
            stage.reorder(step, outer, k_inner, j, d_j, rows, c_o, i)
            steps.append(outer)
        if tiles.run:
            j_outer, j_inner = stage.split(j, factor=tiles.run)
            sizes = {c_o: tiles.tile_co, i: tiles.tile_h, j_outer: tiles.tile_w // tiles.run, k_inner: tiles.tile_ci}
            stage.reorder(*sorted(sizes, key=lambda axis: -sizes[axis]), rows, d_j, j_inner)
        stage.tensorize(b_i, self.env.gemm)
        if tiles.rotate_steps == 1:
            return steps[-1]
        kernel = self.layer.reduction.op.input_tensors[1]
        channels, height = size_of(kernel, 1), size_of(kernel, 2)
        counts = (blocks(channels, tiles.tile_ci), blocks(height, tiles.tile_kh or height))
        return self._rotated(stage, steps, dict(zip(steps, counts, strict=False)), tiles.rotate_steps)
