"""``Conv2d``: a convolution in its user's terms, of any size, on the accelerator and in numpy.

Tests: tests/vta/topi/conv/test_conv2d_operator.py.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from vta import te
from vta.environment import Environment
from vta.topi.conv.conv2d import convolution, schedule_conv2d
from vta.topi.conv.conv2d_grouped import channel_index, pack_grouped_kernel
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.conv.conv2d_tiling import ConvShape, conv_candidates, conv_footprint, require_tiles
from vta.topi.core import epilogue
from vta.topi.core.channel_blocks import ChannelBlocks, channel_blocks
from vta.topi.core.epilogue import Epilogue
from vta.topi.core.layout import blocks, pack_activations, unpack_activations
from vta.topi.core.operand import Operand
from vta.topi.core.operator import Operator, OperatorError, Scheduled
from vta.topi.core.parameters import PADS, PAIR, require_sizes, require_steps, require_tuple
from vta.topi.core.window import Window
from vta.topi.tiling import cheapest, require_fit

__all__ = ["Conv2d", "conv2d_sums"]

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Conv2d(Operator):
    """A convolution of int8 images NCHW with an int8 kernel (O, I/groups, KH, KW), and what follows it.

    ``padding`` is (top, left, bottom, right). Channels and batch may be any number; depthwise is
    ``groups == in_channels``.
    """

    batch: int
    in_channels: int
    height: int
    width: int
    out_channels: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    epilogue: Epilogue = ()

    def __post_init__(self) -> None:
        require_sizes(self, "batch", "in_channels", "height", "width", "out_channels", "groups")
        for name in ("kernel", "strides", "dilation"):
            require_tuple(self, name, PAIR)
        require_tuple(self, "padding", PADS, least=0)
        require_steps(self)
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise OperatorError(
                    f"Conv2d: {name} is a multiple of the {self.groups} groups, not {getattr(self, name)}"
                )
        if not all(self.window.touches(self.height, self.width)):
            raise OperatorError(f"Conv2d: {self.window} on {self.height}x{self.width} reads padding alone, no data")

    @property
    def window(self) -> Window:
        """The kernel as a window."""
        return Window(self.kernel, self.strides, self.padding, self.dilation)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The plain shape of the result."""
        return self.batch, self.out_channels, *self.window.output(self.height, self.width)

    @property
    def macs(self) -> int:
        """Multiplications with an addition."""
        return prod(self.shape) * prod(self.kernel) * (self.in_channels // self.groups)

    def inputs(self, env: Environment) -> tuple[Operand, ...]:
        """Return data, kernel, and what the epilogue reads."""
        kernel = (self.out_channels, self.in_channels // self.groups, *self.kernel)
        return (
            Operand("data", (self.batch, self.in_channels, self.height, self.width), env.inp_dtype),
            Operand("kernel", kernel, env.wgt_dtype),
            *epilogue.operands(self.epilogue, self.shape),
        )

    def output(self, env: Environment) -> Operand:
        """Return the result."""
        return Operand("res", self.shape, env.out_dtype)

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy."""
        data, kernel, *others = arrays
        return epilogue.reference(conv2d_sums(data, kernel, self.window, self.groups), self.epilogue, others)

    def pack(self, env: Environment, *arrays: Array) -> tuple[Array, ...]:
        """Return the packed arrays; a kernel in groups gets zeros where groups do not meet."""
        data, kernel, *others = arrays
        found = self.channel_blocks(env)
        return (
            pack_activations(data, batch=env.BATCH, block=env.BLOCK_IN),
            pack_grouped_kernel(kernel, found, groups=self.groups, block_in=env.BLOCK_IN, block_out=env.BLOCK_OUT),
            *epilogue.pack_operands(self.epilogue, env, others, rank=6),
        )

    def unpack(self, env: Environment, packed: Array) -> Array:  # noqa: ARG002  # every operator has this signature
        """Return the plain result."""
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

    def shape_on(self, env: Environment) -> ConvShape:
        """Return the sizes of its loops on ``env``."""
        needs = epilogue.needs(self.epilogue)
        return ConvShape(
            env=env,
            images=blocks(self.batch, env.BATCH),
            height=self.height,
            width=self.width,
            channels=self.channel_blocks(env),
            window=self.window,
            stages=needs.operations,
            residuals=needs.residuals,
            by_channel=needs.by_channel,
            held=needs.held,
        )

    def chosen(self, env: Environment, tiles: object = None) -> ConvTiles:
        """Return ``tiles`` if they fit, or the best ones; raises ``TilingError`` naming what is too small."""
        shape = self.shape_on(env)
        if tiles is None:
            return cheapest(conv_candidates(shape), env.config, str(self))
        if not isinstance(tiles, ConvTiles):
            raise OperatorError(f"Conv2d: tiles are ConvTiles, not {type(tiles).__name__}")
        require_tiles(shape, tiles, f"{self} with {tiles}")
        require_fit(conv_footprint(shape, tiles), env.config, f"{self} with {tiles}")
        return tiles

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return the schedule with ``tiles`` (``ConvTiles``), or with those that the search finds."""
        chosen = self.chosen(env, tiles)
        found = self.channel_blocks(env)
        images, batch = blocks(self.batch, env.BATCH), env.BATCH
        blocks_in, blocks_out = blocks(self.in_channels, env.BLOCK_IN), len(found.starts)
        rows, columns = self.shape[2:]
        data = te.placeholder(
            (images, blocks_in, self.height, self.width, batch, env.BLOCK_IN), name="data", dtype=env.inp_dtype
        )
        kernel = te.placeholder(
            (blocks_out, found.count, *self.kernel, env.BLOCK_OUT, env.BLOCK_IN), name="kernel", dtype=env.wgt_dtype
        )
        channel = channel_index(
            found,
            groups=self.groups,
            in_channels=self.in_channels,
            out_channels=self.out_channels,
            block_in=env.BLOCK_IN,
            block_out=env.BLOCK_OUT,
            tile_co=chosen.tile_co,
        )
        whole = [blocks(extent, tile) * tile for extent, tile in ((rows, chosen.tile_h), (columns, chosen.tile_w))]
        sums = convolution(data, kernel, self.window, whole[0], whole[1], channel, gather=True)
        shape = (images, blocks_out, rows, columns, batch, env.BLOCK_OUT)
        appended = epilogue.append(sums, self.epilogue, env, shape)
        schedule = schedule_conv2d(appended.result, chosen, env)
        return Scheduled(schedule, (data, kernel, *appended.inputs, appended.result), chosen)


def conv2d_sums(data: Array, kernel: Array, window: Window, groups: int) -> npt.NDArray[np.int32]:
    """Return the sums of a convolution of plain arrays, wrapped at 32 bits."""
    top, left, bottom, right = window.padding
    padded = np.pad(data.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    rows, columns = window.output(data.shape[2], data.shape[3])
    images, channels = data.shape[0], data.shape[1] // groups
    outputs = kernel.shape[0] // groups
    # Products of bytes summed up in double precision: exact, and much faster than numpy's integers.
    sums = np.zeros((images, groups, outputs, rows * columns))
    weights = kernel.astype(np.float64).reshape(1, groups, outputs, channels, *window.kernel)
    for y in range(window.kernel[0]):
        for x in range(window.kernel[1]):
            begin = (y * window.dilation[0], x * window.dilation[1])
            taken = padded[
                :,
                :,
                begin[0] : begin[0] + (rows - 1) * window.strides[0] + 1 : window.strides[0],
                begin[1] : begin[1] + (columns - 1) * window.strides[1] + 1 : window.strides[1],
            ]
            sums += weights[..., y, x] @ taken.reshape(images, groups, channels, rows * columns)
    return sums.astype(np.int64).astype(np.int32).reshape(images, groups * outputs, rows, columns)
