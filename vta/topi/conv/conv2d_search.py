"""The search for tiles of a convolution that is given as a te computation.

``vta.topi.conv.conv2d`` keeps the window as attributes of the computation, because its expression does not show it any
more. Tests: tests/vta/topi/conv/test_conv2d.py.
"""

from collections.abc import Mapping

from vta import te
from vta.environment import Environment
from vta.topi.conv.conv2d_finalists import searched
from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.core.channel_blocks import ChannelBlocks
from vta.topi.core.fused import FusedLayer
from vta.topi.core.memory_port import bus_of
from vta.topi.core.sizes import sizes
from vta.topi.core.window import Window
from vta.topi.tiling import TilingError

__all__ = ["conv_shape", "searched_tiles", "window_attributes"]

_NAMES = (
    "stride_h", "stride_w", "pad_top", "pad_left", "pad_bottom", "pad_right", "dilation_h", "dilation_w", "groups",
)  # fmt: skip


def window_attributes(window: Window, groups: int) -> Mapping[str, int]:
    """Return what a computation keeps about its window, the kernel's own size aside, and its groups of whole blocks."""
    return dict(zip(_NAMES, (*window.strides, *window.padding, *window.dilation, groups), strict=True))


def searched_tiles(layer: FusedLayer, env: Environment) -> ConvTiles:
    """Return the best tiles for a convolution and its epilogue; they divide the output.

    Raises ``TilingError`` where none fit, and for a reduction that is not the library's convolution.
    """
    shape = conv_shape(layer, env)
    return searched(shape, f"stage {layer.output.name!r}")


def conv_shape(layer: FusedLayer, env: Environment) -> ConvShape:
    """Return the sizes of a convolution's loops; raises ``TilingError`` as ``searched_tiles`` does."""
    op = layer.reduction.op
    attrs = op.attrs if isinstance(op, te.ComputeOp) else {}
    numbers = [attrs[name] for name in _NAMES if name in attrs]
    if len(numbers) != len(_NAMES) or not all(isinstance(number, int) for number in numbers):
        raise TilingError(
            f"stage {layer.reduction.name!r}: tiles are searched for topi.conv2d and topi.group_conv2d; give "
            "schedule_conv2d the tiles of another computation"
        )
    values = [number for number in numbers if isinstance(number, int)]
    data, kernel = op.input_tensors
    outputs, taken, rows, columns = sizes(kernel)[:4]
    window = Window((rows, columns), tuple(values[:2]), tuple(values[2:6]), tuple(values[6:8]))  # type: ignore[arg-type]
    groups = values[8]
    starts = tuple(co // (outputs // groups) * taken for co in range(outputs))
    image = data.op.input_tensors[0] if isinstance(data.op, te.ComputeOp) else data  # before it is padded
    images, _, height, width = sizes(image)[:4]
    loads = [t for t in layer.placeholders if all(extent > 1 for extent in sizes(t)[2:4])]
    return ConvShape(
        config=env.config,
        images=images,
        height=height,
        width=width,
        channels=ChannelBlocks(starts, taken),
        window=window,
        stages=len(layer.stages),
        residuals=len(layer.loads) + len(loads),
        by_channel=len(layer.placeholders) - len(loads),
        gathers=False,
        even=True,
        bus=bus_of(env),
    )
