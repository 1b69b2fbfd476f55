"""``Conv2d``: a convolution in its user's terms, of any size, on the accelerator and in numpy.

Tests: tests/vta/topi/conv/test_conv2d_operator.py.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from vta import te
from vta.environment import Environment
from vta.topi.conv.conv2d import convolution, schedule_conv2d
from vta.topi.conv.conv2d_finalists import searched
from vta.topi.conv.conv2d_footprint import conv_footprint
from vta.topi.conv.conv2d_grouped import channel_index, pack_grouped_kernel
from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.conv.conv2d_tiling import require_tiles
from vta.topi.conv.conv2d_work import conv_price
from vta.topi.conv.depthwise import depthwise_taps, filled_window, pack_depthwise_kernel
from vta.topi.conv.folding import FoldedWindow, best_folded, fold_data, fold_kernel
from vta.topi.core import epilogue
from vta.topi.core.channel_blocks import ChannelBlocks, channel_blocks
from vta.topi.core.epilogue import Bias, Epilogue, Residual
from vta.topi.core.layout import blocks, pack_activations, unpack_activations
from vta.topi.core.memory_port import bus_of
from vta.topi.core.operand import Argument, Operand, Source
from vta.topi.core.operator import Operator, OperatorError, Scheduled
from vta.topi.core.parameters import PADS, PAIR, require_cell, require_sizes, require_steps, require_tuple
from vta.topi.core.tuned import tuned_tiles
from vta.topi.core.window import Window
from vta.topi.tiling import Price, require_fit

__all__ = ["Conv2d", "conv2d_sums"]

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Conv2d(Operator):
    """A convolution of int8 images NCHW with an int8 kernel (O, I/groups, KH, KW), and what follows it.

    ``padding`` is (top, left, bottom, right). Channels and batch may be any number; depthwise is
    ``groups == in_channels``. The data's ``zero_point`` is what stands for zero, in pads too.

    With few input channels, places of the window become channels when data and kernel are packed, where that costs
    fewer cycles: ``fold`` rows and columns of them, chosen if it is None; (1, 1) keeps the data in the layout of all
    activations, which a layer needs whose data another one left on the device.
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
    zero_point: int = 0
    fold: tuple[int, int] | None = None

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
        require_cell(self, "zero_point")
        self._require_fold()
        if not all(self.window.touches(self.height, self.width)):
            raise OperatorError(f"Conv2d: {self.window} on {self.height}x{self.width} reads padding alone, no data")

    def _require_fold(self) -> None:
        if self.fold is None:
            return
        require_tuple(self, "fold", PAIR)
        if self.fold != (1, 1) and self.groups > 1:
            raise OperatorError(f"Conv2d: fold is (1, 1) for a convolution in groups, not {self.fold}")
        if any(factor > taps for factor, taps in zip(self.fold, self.kernel, strict=True)):
            raise OperatorError(f"Conv2d: fold is at most the kernel, {self.kernel}, not {self.fold}")

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
        sums = conv2d_sums(data, kernel, self.window, self.groups, self.zero_point)
        return epilogue.reference(sums, self.epilogue, others)

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return data, the kernel, with zeros where groups do not meet, and what the epilogue reads.

        What a zero point adds to the sums is read by a step in front of the epilogue.
        """
        folded = self.folded(env)
        plain = self._left_of(folded)

        def images(data: Array) -> Array:
            if folded.factors == (1, 1):
                return pack_activations(data, batch=env.BATCH, block=env.BLOCK_IN)
            return fold_data(data, folded, batch=env.BATCH, block=env.BLOCK_IN, fill=self.zero_point)

        def weights(kernel: Array) -> Array:
            if taps := self._taps(env):
                return pack_depthwise_kernel(kernel, taps, block=env.BLOCK_IN)
            return pack_grouped_kernel(
                fold_kernel(kernel, folded.factors),
                plain.channel_blocks(env),
                groups=self.groups,
                block_in=env.BLOCK_IN,
                block_out=env.BLOCK_OUT,
            )

        added = [Source(("kernel",), lambda kernel: self._zero_point_sums(kernel, folded))] if self.zero_point else []
        read = (*added, *epilogue.sources(self.epilogue, self.shape))
        return (
            Argument("data", ("data",), images),
            Argument("kernel", ("kernel",), weights),
            *epilogue.arguments(plain.epilogue, env, read, rank=6),
        )

    def _zero_point_sums(self, kernel: Array, folded: FoldedWindow) -> Array:
        """Return what the zero point adds to sums: for each place where pads are zero, else for each channel."""
        if self._pads_are_zero(folded):
            zeros = np.zeros((self.batch, self.in_channels, self.height, self.width))
            return conv2d_sums(zeros, kernel, self.window, self.groups, self.zero_point)
        sums: npt.NDArray[np.int32] = -self.zero_point * kernel.sum(axis=(1, 2, 3), dtype=np.int32)
        return sums

    def _pads_are_zero(self, folded: FoldedWindow) -> bool:
        return any(self.padding) and folded.factors == (1, 1)

    def folded(self, env: Environment) -> FoldedWindow:
        """Return which places of the window become channels on ``env``."""
        output = self.window.output(self.height, self.width)
        given = FoldedWindow(self.window, self.fold or (1, 1), output)
        if self.fold is not None or self.groups > 1 or self.in_channels > env.BLOCK_IN // 2:
            return given
        return best_folded(
            given,
            env.config,
            image=(self.height, self.width),
            channels=self.in_channels,
            images=blocks(self.batch, env.BATCH),
            blocks_out=blocks(self.out_channels, env.BLOCK_OUT),
            operations=epilogue.needs(self.epilogue, env.config).operations,
            bus=bus_of(env),
        )

    def plain(self, env: Environment) -> "Conv2d":
        """Return the convolution that is computed on ``env``: nothing to fold, and a step that adds a zero point."""
        return self._left_of(self.folded(env))

    def _left_of(self, folded: FoldedWindow) -> "Conv2d":
        steps = self.epilogue
        if self.zero_point:
            steps = (Residual("int32") if self._pads_are_zero(folded) else Bias(), *steps)
        if folded.factors == (1, 1):
            return replace(self, epilogue=steps, zero_point=0, fold=(1, 1))
        left, (height, width) = folded.left, folded.extents
        return Conv2d(
            batch=self.batch,
            in_channels=self.in_channels * prod(folded.factors),
            height=height,
            width=width,
            out_channels=self.out_channels,
            kernel=left.kernel,
            strides=left.strides,
            dilation=left.dilation,
            epilogue=steps,
            fold=(1, 1),
        )

    @property
    def _is_plain(self) -> bool:
        return self.fold == (1, 1) and not self.zero_point

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

    def _taps(self, env: Environment) -> int:
        """Return how many places of the window a step of a depthwise GEMM takes; 0 without such steps."""
        return depthwise_taps(
            env.config,
            self.window,
            groups=self.groups,
            in_channels=self.in_channels,
            out_channels=self.out_channels,
        )

    def _window_on(self, env: Environment) -> Window:
        """Return the window that is computed on ``env``, which may have places of weight zero."""
        taps = self._taps(env)
        return filled_window(self.window, taps) if taps else self.window

    def shape_on(self, env: Environment) -> ConvShape:
        """Return the sizes of the loops that compute it on ``env``."""
        if not self._is_plain:
            return self.plain(env).shape_on(env)
        needs = epilogue.needs(self.epilogue, env.config)
        return ConvShape(
            config=env.config,
            images=blocks(self.batch, env.BATCH),
            height=self.height,
            width=self.width,
            channels=self.channel_blocks(env),
            window=self._window_on(env),
            taps=self._taps(env) or 1,
            stages=needs.operations,
            residuals=needs.residuals,
            by_channel=needs.rows,
            held=needs.held,
            bus=bus_of(env),
        )

    def chosen(self, env: Environment, tiles: object = None) -> ConvTiles:
        """Return ``tiles`` if they fit, or tuned ones, or the best; raises ``TilingError`` naming what is too small."""
        shape = self.shape_on(env)
        tiles = tuned_tiles(self, env) if tiles is None else tiles
        if tiles is None:
            return searched(shape, str(self))
        if not isinstance(tiles, ConvTiles):
            raise OperatorError(f"Conv2d: tiles are ConvTiles, not {type(tiles).__name__}")
        require_tiles(shape, tiles, f"{self} with {tiles}")
        require_fit(conv_footprint(shape, tiles), env.config, f"{self} with {tiles}")
        return tiles

    def price(self, env: Environment, tiles: object = None) -> Price:
        """Return what a launch with ``tiles`` (``ConvTiles``) takes; virtual threads have no model."""
        chosen = self.chosen(env, tiles)
        if chosen.oc_nthread * chosen.h_nthread > 1:
            raise OperatorError("Conv2d: virtual threads have no model; give rotate_tiles and rotate_steps instead")
        return conv_price(self.shape_on(env), chosen)

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return the schedule with ``tiles`` (``ConvTiles``), or with those that the search finds."""
        return self.plain(env)._scheduled(env, self.chosen(env, tiles))

    def _scheduled(self, env: Environment, chosen: ConvTiles) -> Scheduled:
        """Return the schedule of a plain convolution."""
        found = self.channel_blocks(env)
        images, batch = blocks(self.batch, env.BATCH), env.BATCH
        blocks_in, blocks_out = blocks(self.in_channels, env.BLOCK_IN), len(found.starts)
        rows, columns = self.shape[2:]
        taps, window = self._taps(env), self._window_on(env)
        data = te.placeholder(
            (images, blocks_in, self.height, self.width, batch, env.BLOCK_IN), name="data", dtype=env.inp_dtype
        )
        steps = window.kernel[0], window.kernel[1] // (taps or 1)
        kernel = te.placeholder(
            (blocks_out, found.count, *steps, env.BLOCK_OUT, env.BLOCK_IN), name="kernel", dtype=env.wgt_dtype
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
        sums = convolution(data, kernel, window, whole[0], whole[1], channel, gather=True, taps=taps)
        shape = (images, blocks_out, rows, columns, batch, env.BLOCK_OUT)
        appended = epilogue.append(sums, self.epilogue, env, shape)
        schedule = schedule_conv2d(appended.result, chosen, env)
        return Scheduled(schedule, (data, kernel, *appended.inputs, appended.result), chosen)


def conv2d_sums(data: Array, kernel: Array, window: Window, groups: int, zero_point: int = 0) -> npt.NDArray[np.int32]:
    """Return the sums of a convolution of plain arrays less ``zero_point``, wrapped at 32 bits; pads add nothing."""
    top, left, bottom, right = window.padding
    padded = np.pad(data.astype(np.float64) - zero_point, ((0, 0), (0, 0), (top, bottom), (left, right)))
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
