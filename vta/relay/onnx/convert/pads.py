"""Pads of windows, as ONNX says them: explicit ones, and ``auto_pad``.

Tests: tests/vta/relay/onnx/test_backend_cases.py.
"""

from runtime.executor.operators.windows import Pads, Pair
from vta.relay.onnx.node import Node

__all__ = ["conv_pads", "transposed_pads"]

_AUTO = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def conv_pads(node: Node, image: tuple[int, ...], *, kernel: Pair, strides: Pair, dilation: Pair) -> Pads:
    """Return (top, left, bottom, right) for windows over an image of these rows and columns."""
    auto, given = node.text("auto_pad", "NOTSET", choices=_AUTO), node.maybe_wholes("pads")
    match auto:
        case "NOTSET":
            return _explicit(node, given or (0, 0, 0, 0))
        case "VALID":
            return (0, 0, 0, 0)
        case _:
            sums = [
                max((-(-extent // stride) - 1) * stride + (size - 1) * gap + 1 - extent, 0)
                for extent, size, stride, gap in zip(image, kernel, strides, dilation, strict=True)
            ]
            return _split(sums, upper=auto == "SAME_UPPER")


def transposed_pads(
    node: Node, image: tuple[int, ...], *, kernel: Pair, strides: Pair, dilation: Pair
) -> tuple[Pads, Pair]:
    """Return what a transposed convolution cuts off, and the rows and columns that it has more."""
    auto, given = node.text("auto_pad", "NOTSET", choices=_AUTO), node.maybe_wholes("pads")
    extra = node.pair("output_padding", (0, 0))
    wanted = node.maybe_wholes("output_shape")
    whole = [
        (extent - 1) * stride + more + (size - 1) * gap + 1
        for extent, size, stride, gap, more in zip(image, kernel, strides, dilation, extra, strict=True)
    ]
    if wanted is not None:
        sums = [have - want for have, want in zip(whole, wanted[-2:], strict=True)]
        # ONNX gives the odd one to the beginning here, unless SAME_UPPER is asked for.
        return _split(sums, upper=auto == "SAME_UPPER"), extra
    match auto:
        case "NOTSET":
            return _explicit(node, given or (0, 0, 0, 0)), extra
        case "VALID":
            return (0, 0, 0, 0), extra
        case _:
            sums = [have - extent * stride for have, extent, stride in zip(whole, image, strides, strict=True)]
            return _split(sums, upper=auto == "SAME_UPPER"), extra


def _explicit(node: Node, pads: tuple[int, ...]) -> Pads:
    if len(pads) != 4:
        node.refuse(f"pads has {len(pads)} numbers, and windows over images take 4")
    top, left, bottom, right = pads
    return (top, left, bottom, right)


def _split(sums: list[int], *, upper: bool) -> Pads:
    """Return pads that add up to ``sums``; the odd one is after the image for ``upper``, else before it."""
    before = [total // 2 if upper else total - total // 2 for total in sums]
    return (before[0], before[1], sums[0] - before[0], sums[1] - before[1])
