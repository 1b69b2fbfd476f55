"""Transposed convolution of packed images: TVM's computation, and its schedule with the knobs of TVM's template.

The template computes an ordinary convolution over the data with zeros in between, which the host puts there, and
multiplies these zeros as well; its kernels come flipped from the caller.

Tests: tests/vta/topi/transposed/test_recorded_dense_and_transposed.py,
tests/vta/topi/transposed/test_conv2d_transpose.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isa.errors import VTAError
from vta import te
from vta.environment import Environment
from vta.passes.gemm.inject_conv2d_transpose_skip import TRANSPOSE_PRAGMA
from vta.topi import nn
from vta.topi.core.layer_schedule import LayerSchedule
from vta.topi.core.sizes import sizes

__all__ = ["TransposeError", "TransposeTemplate", "conv2d_transpose", "schedule_conv2d_transpose"]


class TransposeError(VTAError, ValueError):
    """Tensors or sizes that do not make a transposed convolution."""


def conv2d_transpose(
    data: te.Tensor,
    kernel: te.Tensor,
    strides: Sequence[int],
    padding: Sequence[int],
    out_dtype: str = "int32",
    output_padding: Sequence[int] = (0, 0),
) -> te.Tensor:
    """Return the transposed convolution of packed ``data`` with packed ``kernel`` (O, I, KH, KW, block_out, block_in).

    It is an ordinary convolution over the data with ``strides - 1`` zeros in between and zeros around: the kernel comes
    flipped in both directions. ``padding`` is (top, left, bottom, right) of what is cut off the result.
    """
    for tensor, what in ((data, "data"), (kernel, "kernel")):
        if tensor.ndim != 6:
            raise TransposeError(
                f"conv2d_transpose: {what} {tensor.name!r} is packed, of 6 dimensions, not of {tensor.ndim}"
            )
    n, i, _, _, batch, block_in = sizes(data)
    o, i_k, kh, kw, block_out, block_k = sizes(kernel)
    if (i, block_in) != (i_k, block_k):
        raise TransposeError(
            f"conv2d_transpose: data {data.name!r} has {i} blocks of {block_in} channels, and kernel {kernel.name!r} "
            f"takes {i_k} of {block_k}"
        )
    top, left, bottom, right = padding
    if max(top, bottom) >= kh or max(left, right) >= kw:
        raise TransposeError(
            f"conv2d_transpose: pads are smaller than the kernel, {kh}x{kw}; got (top, left, bottom, right) = "
            f"{tuple(padding)}"
        )
    before = [0, 0, kh - 1 - top, kw - 1 - left, 0, 0]
    after = [0, 0, kh - 1 - bottom + output_padding[0], kw - 1 - right + output_padding[1], 0, 0]
    dilated = nn.dilate(data, [1, 1, *strides, 1, 1])
    padded = nn.pad(dilated, before, after, name="pad_data")
    _, _, rows, columns, _, _ = sizes(padded)
    d_c, d_h = te.reduce_axis((0, i), name="d_c"), te.reduce_axis((0, kh), name="d_h")
    d_w, d_ci = te.reduce_axis((0, kw), name="d_w"), te.reduce_axis((0, block_in), name="d_ci")
    return te.compute(
        (n, o, rows - kh + 1, columns - kw + 1, batch, block_out),
        lambda i_n, i_c, i_h, i_w, j_n, j_c: te.sum(
            padded[i_n, d_c, i_h + d_h, i_w + d_w, j_n, d_ci].astype(out_dtype)
            * kernel[i_c, d_c, d_h, d_w, j_c, d_ci].astype(out_dtype),
            axis=[d_c, d_h, d_w, d_ci],
        ),
        name="res",
        tag="packed_conv2d_transpose",
    )


@dataclass(frozen=True, slots=True)
class TransposeTemplate:
    """The knobs of TVM's template: the inner extents of the splits, in elements, and numbers of threads."""

    tile_h: int = 1
    tile_w: int = 1
    tile_ci: int = 1
    tile_co: int = 1
    oc_nthread: int = 1
    h_nthread: int = 1


def schedule_conv2d_transpose(
    outs: te.Tensor | Sequence[te.Tensor], tiles: TransposeTemplate | None = None, env: Environment | None = None
) -> te.Schedule:
    """Return TVM's schedule of a transposed convolution with its epilogue, whose last stage casts to ``env.out_dtype``.

    ``tiles`` defaults to tiles of one, as TVM-VTA without a tuning log has it; ``env`` to the current environment.
    """
    made, tiles = LayerSchedule.of(outs, env), tiles or TransposeTemplate()
    result, sums = made.result, made.sums
    b, co, i, j, b_i, c_i = result.leaf_iter_vars
    co0, co1 = result.split(co, factor=tiles.tile_co)
    i0, i1 = result.split(i, factor=tiles.tile_h)
    j0, j1 = result.split(j, factor=tiles.tile_w)
    result.reorder(b, i0, co0, j0, co1, i1, j1, b_i, c_i)
    made.compute_tile_in(j0)
    made.take_turns(co0, tiles.oc_nthread)
    made.take_turns(i0, tiles.h_nthread)
    x_b, x_co, x_i, x_j, x_bi, x_ci, k_o, d_i, d_j, k_i = sums.leaf_iter_vars
    x_i, x_ii = sums.split(x_i, factor=4)
    x_j, x_jj = sums.split(x_j, factor=2)
    sums.reorder(x_b, k_o, x_j, x_co, x_i, x_jj, d_j, d_i, x_ii, x_bi, x_ci, k_i)
    for axis in (d_j, d_i, x_ii, x_jj):
        sums.unroll(axis)
    k0, _ = sums.split(k_o, factor=tiles.tile_ci)
    made.load_operands_in(k0)
    sums.pragma(x_bi, TRANSPOSE_PRAGMA)
    result.pragma(co1, made.env.dma_copy)
    return made.s
