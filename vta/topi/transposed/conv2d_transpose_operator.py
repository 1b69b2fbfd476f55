"""``Conv2dTranspose``: a transposed convolution in its user's terms, of any size, on the accelerator and in numpy.

The image is loaded as it is, without zeros in between: a micro-op multiplies an element with the tap of the kernel that
meets it, and products with zeros are not made. Tests: tests/vta/topi/transposed/test_conv2d_transpose_operator.py.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from vta.environment import Environment
from vta.topi.conv.conv2d_grouped import ChannelBlocks, channel_blocks, channel_index, pack_grouped_kernel
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Epilogue, Residual
from vta.topi.core.layout import blocks, pack_activations, unpack_activations
from vta.topi.core.operand import Argument, Operand, Source
from vta.topi.core.operator import Operator, OperatorError, Scheduled
from vta.topi.core.parameters import PADS, PAIR, require_cell, require_sizes, require_steps, require_tuple
from vta.topi.core.tuned import tuned_tiles
from vta.topi.tiling import Price
from vta.topi.transposed.conv2d_transpose_schedule import TransposedLayer, TransposeTiles, schedule_transposed
from vta.topi.transposed.conv2d_transpose_tiling import TransposeSearch
from vta.topi.transposed.transposed_window import TransposedWindow

__all__ = ["Conv2dTranspose", "conv2d_transpose_sums"]

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Conv2dTranspose(Operator):
    """A transposed convolution of images NCHW with a kernel (I, O/groups, KH, KW), and what follows it.

    ``padding`` (top, left, bottom, right) is cut off the result, ``output_padding`` kept at its end. The data's
    ``zero_point`` is what stands for zero.
    """

    batch: int
    in_channels: int
    height: int
    width: int
    out_channels: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    output_padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    epilogue: Epilogue = ()
    zero_point: int = 0

    def __post_init__(self) -> None:
        require_sizes(self, "batch", "in_channels", "height", "width", "out_channels", "groups")
        for name in ("kernel", "strides", "dilation"):
            require_tuple(self, name, PAIR)
        require_tuple(self, "padding", PADS, least=0)
        require_tuple(self, "output_padding", PAIR, least=0)
        require_steps(self)
        require_cell(self, "zero_point")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise OperatorError(
                    f"Conv2dTranspose: {name} is a multiple of the {self.groups} groups, not {getattr(self, name)}"
                )
        self.window.output(self.height, self.width)

    @property
    def window(self) -> TransposedWindow:
        """The kernel as a window."""
        return TransposedWindow(self.kernel, self.strides, self.padding, self.output_padding, self.dilation)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The plain shape of the result."""
        return self.batch, self.out_channels, *self.window.output(self.height, self.width)

    @property
    def macs(self) -> int:
        """Multiplications of every element with the whole kernel."""
        channels = self.in_channels * (self.out_channels // self.groups)
        return self.batch * self.height * self.width * channels * prod(self.kernel)

    def inputs(self, env: Environment) -> tuple[Operand, ...]:
        """Return data, kernel (I, O/groups, KH, KW), and what the epilogue reads."""
        kernel = (self.in_channels, self.out_channels // self.groups, *self.kernel)
        return (
            Operand("data", (self.batch, self.in_channels, self.height, self.width), env.inp_dtype),
            Operand("kernel", kernel, env.wgt_dtype),
            *epilogue.operands(self.epilogue, self.shape),
        )

    def output(self, env: Environment) -> Operand:
        """Return the result."""
        return Operand("res", self.shape, env.out_dtype)

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy: every element times the kernel, added up where it goes."""
        data, kernel, *rest = arrays
        sums = conv2d_transpose_sums(data.astype(np.int32) - self.zero_point, kernel, self.window, self.groups)
        return epilogue.reference(sums, self.epilogue, rest)

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return data, the kernel, flipped and with zeros where groups do not meet, and what the epilogue reads."""

        def packed(kernel: Array) -> Array:
            flipped = _by_output(kernel, self.groups)[..., ::-1, ::-1]
            return pack_grouped_kernel(
                flipped,
                self.channel_blocks(env),
                groups=self.groups,
                block_in=env.BLOCK_IN,
                block_out=env.BLOCK_OUT,
            )

        added = (Source(("kernel",), self._zero_point_sums),) if self.zero_point else ()
        read = (*added, *epilogue.sources(self.epilogue, self.shape))
        return (
            Argument("data", ("data",), lambda data: pack_activations(data, batch=env.BATCH, block=env.BLOCK_IN)),
            Argument("kernel", ("kernel",), packed),
            *epilogue.arguments(self._steps, env, read, rank=6),
        )

    @property
    def _steps(self) -> Epilogue:
        """The epilogue, behind a step that adds what the zero point does: places meet different parts of the kernel."""
        return (Residual("int32"), *self.epilogue) if self.zero_point else self.epilogue

    def _zero_point_sums(self, kernel: Array) -> Array:
        """Return what the zero point adds to each number of the result."""
        image = np.full((self.batch, self.in_channels, self.height, self.width), -self.zero_point, np.int32)
        return conv2d_transpose_sums(image, kernel, self.window, self.groups)

    def unpack(self, env: Environment, packed: Array) -> Array:  # noqa: ARG002  # the array has the blocks' sizes
        """Return the images and channels that are no padding."""
        return unpack_activations(packed, self.batch, self.out_channels)

    def channel_blocks(self, env: Environment) -> ChannelBlocks:
        """Return which blocks of input channels each block of output channels reads."""
        return channel_blocks(
            groups=self.groups,
            in_channels=self.in_channels,
            out_channels=self.out_channels,
            block_in=env.BLOCK_IN,
            block_out=env.BLOCK_OUT,
        )

    def problem(self, env: Environment) -> TransposeSearch:
        """Return the layer in blocks on ``env``, and which tiles it may have."""
        found = self.channel_blocks(env)
        layer = TransposedLayer(
            images=blocks(self.batch, env.BATCH),
            blocks_in=blocks(self.in_channels, env.BLOCK_IN),
            blocks_out=len(found.starts),
            taken=found.count,
            image=(self.height, self.width),
            result=self.shape[2:],
            window=self.window,
        )
        return TransposeSearch(env, layer, found, self._steps)

    def _chosen(self, search: TransposeSearch, tiles: object) -> TransposeTiles:
        """Return ``tiles`` if they fit, or tuned ones, or the best."""
        tiles = tuned_tiles(self, search.env) if tiles is None else tiles
        tiles = search.best_tiles(repr(self)) if tiles is None else tiles
        if not isinstance(tiles, TransposeTiles):
            raise OperatorError(f"Conv2dTranspose: tiles are TransposeTiles, not {tiles!r}")
        search.require_tiles(tiles, repr(self))
        return tiles

    def price(self, env: Environment, tiles: object = None) -> Price:
        """Return what a launch with ``tiles`` (``TransposeTiles``) takes."""
        search = self.problem(env)
        return search.price(self._chosen(search, tiles))

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return the schedule for ``tiles``: ``TransposeTiles``, or the best that were found."""
        search = self.problem(env)
        layer, found, tiles = search.layer, search.channels, self._chosen(search, tiles)
        data, kernel = layer.placeholders(env)
        channel = channel_index(
            found,
            groups=self.groups,
            in_channels=self.in_channels,
            out_channels=self.out_channels,
            block_in=env.BLOCK_IN,
            block_out=env.BLOCK_OUT,
            tile_co=tiles.tile_co,
        )
        sums = layer.sums(data, kernel, channel, tiles, env)
        appended = epilogue.append(sums, self._steps, env, layer.packed_result(env))
        s = schedule_transposed(appended.result, tiles, self.strides, env)
        return Scheduled(s, (data, kernel, *appended.inputs, appended.result), tiles)


def _by_output(kernel: Array, groups: int) -> Array:
    """Return a kernel (I, O/groups, KH, KW) as (O, I/groups, KH, KW)."""
    inputs, made, *window = kernel.shape
    grouped = kernel.reshape(groups, inputs // groups, made, *window)
    return grouped.swapaxes(1, 2).reshape(groups * made, inputs // groups, *window)


def conv2d_transpose_sums(data: Array, kernel: Array, window: TransposedWindow, groups: int) -> npt.NDArray[np.int32]:
    """Return the sums of a transposed convolution of plain arrays, wrapped at 32 bits.

    Each element times the kernel is added to a canvas, ``strides`` apart; the result is cut out of it.
    """
    images, channels, height, width = data.shape
    rows, columns = window.output(height, width)
    top, left = window.padding[:2]
    canvas = [
        (size - 1) * stride + (taps - 1) * dilation + 1
        for size, stride, taps, dilation in zip(
            (height, width), window.strides, window.kernel, window.dilation, strict=True
        )
    ]
    spread = np.zeros((images, groups, kernel.shape[1], max(canvas[0], top + rows), max(canvas[1], left + columns)))
    # Products of bytes added up in double precision: exact, and much faster than numpy's integers.
    grouped = data.astype(np.float64).reshape(images, groups, channels // groups, height * width)
    weights = kernel.astype(np.float64).reshape(groups, channels // groups, kernel.shape[1], *window.kernel)
    for y in range(window.kernel[0]):
        for x in range(window.kernel[1]):
            first = (y * window.dilation[0], x * window.dilation[1])
            added = weights[..., y, x].swapaxes(1, 2) @ grouped
            spread[
                ...,
                first[0] : first[0] + (height - 1) * window.strides[0] + 1 : window.strides[0],
                first[1] : first[1] + (width - 1) * window.strides[1] + 1 : window.strides[1],
            ] += added.reshape(images, groups, kernel.shape[1], height, width)
    cut = spread[..., top : top + rows, left : left + columns]
    return cut.astype(np.int64).astype(np.int32).reshape(images, groups * kernel.shape[1], rows, columns)
