"""Convolution in groups of channels, depthwise included: which blocks of input channels a block of results reads.

``group_conv2d`` is TVM-VTA's: every group holds whole blocks. ``channel_blocks`` is the general rule, for groups of any
size: a block of output channels reads a run of input blocks, and the kernel is zero where groups do not meet.

Tests: tests/vta/topi/conv/test_conv2d_grouped.py.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vta import te
from vta.tir import ops
from vta.tir.expr import Expr
from vta.tir.ops import floordiv
from vta.topi.conv.conv2d import Channel, Conv2dError, convolution, require_packed, size_of
from vta.topi.core.channel_blocks import ChannelBlocks, channel_blocks
from vta.topi.core.layout import blocks
from vta.topi.core.window import Window

__all__ = ["ChannelBlocks", "channel_blocks", "channel_index", "group_conv2d", "pack_grouped_kernel"]

Array = npt.NDArray[np.generic]


def group_conv2d(
    data: te.Tensor,
    kernel: te.Tensor,
    strides: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    groups: int,
    out_dtype: str = "int32",
) -> te.Tensor:
    """Return the convolution of packed ``data`` in ``groups``; ``kernel`` (O, I/groups, KH, KW, o, i) is packed.

    Every group holds whole blocks of input and of output channels. Its schedule is ``schedule_conv2d``.
    """
    require_packed(data, kernel)
    blocks_in, blocks_out, taken = size_of(data, 1), size_of(kernel, 0), size_of(kernel, 1)
    if groups < 1 or blocks_out % groups or groups * taken != blocks_in:
        raise Conv2dError(
            f"group_conv2d: {groups} groups with whole blocks of {taken} blocks of input channels each, of {blocks_in} "
            f"in all, and {blocks_out} blocks of output channels do not go together; vta.topi.Conv2d takes any groups"
        )
    window = Window.of((size_of(kernel, 2), size_of(kernel, 3)), strides, padding, dilation)
    rows, columns = window.output(size_of(data, 2), size_of(data, 3))
    per_group = blocks_out // groups
    return convolution(
        data,
        kernel,
        window,
        rows,
        columns,
        lambda co, k_o: floordiv(co, per_group) * taken + k_o,
        out_dtype=out_dtype,
        groups=groups,
    )


def channel_index(
    found: ChannelBlocks,
    *,
    groups: int,
    in_channels: int,
    out_channels: int,
    block_in: int,
    block_out: int,
    tile_co: int,
) -> Channel:
    """Return ``found`` as an expression for schedules that compute ``tile_co`` blocks at once."""
    if found.step is not None:
        first, step = found.starts[0], found.step
        return lambda co, k_o: co * step + first + k_o
    taken, made = in_channels // groups, out_channels // groups
    last = blocks(in_channels, block_in) - found.count

    def channel(co: Expr, k_o: Expr) -> Expr:
        group = floordiv(floordiv(co, tile_co) * (tile_co * block_out), made)
        return ops.min(floordiv(group * taken, block_in), last) + k_o

    return channel


def pack_grouped_kernel(kernel: Array, found: ChannelBlocks, *, groups: int, block_in: int, block_out: int) -> Array:
    """Return a kernel (O, I/groups, KH, KW) as (O/block_out, found.count, KH, KW, block_out, block_in).

    Input channels of other groups in the blocks that are read have weight zero.
    """
    outputs, taken, *window = kernel.shape
    o, i = np.indices((outputs, taken))
    channel = o // (outputs // groups) * taken + i
    block = channel // block_in - np.array(found.starts)[o // block_out]
    packed = np.zeros((len(found.starts), found.count, *window, block_out, block_in), kernel.dtype)
    packed[o // block_out, block, :, :, o % block_out, channel % block_in] = kernel
    return packed
