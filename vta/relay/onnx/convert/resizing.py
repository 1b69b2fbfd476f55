"""Images of other sizes: pads and resizing. Tests: tests/vta/relay/onnx/test_backend_cases.py."""

from collections.abc import Mapping, Sequence

from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs, PadMode
from runtime.executor.operators.resize import Coordinates, NearestRounding, Resize2dAttrs, ResizeMethod
from runtime.executor.operators.selection import StridedSliceAttrs
from vta.relay.ir.nodes import Expr
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS"]


def _pad(node: Node) -> Sequence[Expr]:
    mode = PadMode(node.text("mode", "constant", choices=tuple(PadMode)))
    rank = node.rank()
    if node.has("pads"):  # up to version 10
        pads, value = node.wholes("pads"), node.number("value", 0.0)
    else:
        given, fill = node.known_wholes(1), node.known(2)
        if given is None:
            node.refuse("its pads are missing")
        pads, value = given, 0.0 if fill is None else float(fill.reshape(-1)[0])
    axes = node.known_wholes(3)
    places = [axis % rank for axis in axes] if axes is not None else list(range(rank))
    if len(pads) != 2 * len(places):
        node.refuse(f"it has {len(pads)} pads, and {len(places)} axes take twice as many")
    widths = [(0, 0)] * rank
    for number, place in enumerate(places):
        widths[place] = (pads[number], pads[number + len(places)])
    data = _cut(node, node.input(0), widths)
    kept = tuple((max(before, 0), max(after, 0)) for before, after in widths)
    if not any(map(any, kept)):
        return [data]
    return [node.call(Op.PAD, (data,), PadAttrs(kept, value, mode))]


def _cut(node: Node, data: Expr, widths: Sequence[tuple[int, int]]) -> Expr:
    """Return the data without what negative pads take away."""
    if all(before >= 0 and after >= 0 for before, after in widths):
        return data
    shape = node.type(0).shape
    begin = tuple(max(-before, 0) for before, _ in widths)
    end = tuple(extent - max(-after, 0) for (_, after), extent in zip(widths, shape, strict=True))
    return node.call(Op.STRIDED_SLICE, (data,), StridedSliceAttrs(begin, end))


_ROUNDING = tuple(NearestRounding)
_METHODS = ("nearest", "linear", "cubic")


def _resize(node: Node) -> Sequence[Expr]:
    if node.opset < 11:  # X and scales alone, asymmetric
        return [_resized(node, node.known_numbers(1), None, Coordinates.ASYMMETRIC, NearestRounding.FLOOR)]
    coordinates = Coordinates(node.text("coordinate_transformation_mode", "half_pixel", choices=tuple(Coordinates)))
    rounding = NearestRounding(node.text("nearest_mode", "round_prefer_floor", choices=_ROUNDING))
    scales, sizes = node.known_numbers(2), node.known_wholes(3)
    return [_resized(node, scales or None, sizes or None, coordinates, rounding)]


def _upsample(node: Node) -> Sequence[Expr]:
    scales = node.maybe_numbers("scales") or node.known_numbers(1)
    return [_resized(node, scales, None, Coordinates.ASYMMETRIC, NearestRounding.FLOOR)]


def _resized(
    node: Node,
    scales: tuple[float, ...] | None,
    sizes: tuple[int, ...] | None,
    coordinates: Coordinates,
    rounding: NearestRounding,
) -> Expr:
    shape = node.type(0).shape
    if len(shape) != 4:
        node.refuse(f"its data have {len(shape)} dimensions, and resizing of images, which have 4, is supported")
    method = node.text("mode", "nearest", choices=(*_METHODS, "bilinear")).removeprefix("bi")
    axes = node.maybe_wholes("axes")
    policy = node.text("keep_aspect_ratio_policy", "stretch", choices=("stretch", "not_larger", "not_smaller"))
    places = [axis % 4 for axis in axes] if axes is not None else list(range(4))
    whole_scales = _spread(node, scales, places, 1.0)
    whole_sizes = _spread(node, sizes, places, None)
    used: tuple[float, float] | None = None
    if whole_scales is not None:
        target = [int(extent * float(s or 1)) for extent, s in zip(shape, whole_scales, strict=True)]
        used = (float(whole_scales[2] or 1), float(whole_scales[3] or 1))
    elif whole_sizes is not None:
        target = [extent if s is None else int(s) for extent, s in zip(shape, whole_sizes, strict=True)]
        if policy != "stretch":
            ratios = [target[at] / shape[at] for at in places]
            ratio = min(ratios) if policy == "not_larger" else max(ratios)
            for at in places:
                target[at] = int(shape[at] * ratio + 0.5)
            used = (ratio if 2 in places else 1.0, ratio if 3 in places else 1.0)
    else:
        node.refuse("it has neither scales nor sizes")
    if target[:2] != list(shape[:2]):
        node.refuse(f"it changes the batch or the channels, from {shape[:2]} to {tuple(target[:2])}")
    attrs = Resize2dAttrs(
        size=(target[2], target[3]),
        method=ResizeMethod(method),
        coordinates=coordinates,
        rounding=rounding,
        cubic_alpha=node.number("cubic_coeff_a", -0.75),
        exclude_outside=node.flag("exclude_outside"),
        antialias=node.flag("antialias"),
        scales=used,
        roi=_region(node, places) if coordinates is Coordinates.CROP_AND_RESIZE else None,
        extrapolation=node.number("extrapolation_value", 0.0),
    )
    return node.call(Op.RESIZE2D, (node.input(0),), attrs)


def _spread(
    node: Node, values: Sequence[float] | None, places: Sequence[int], rest: float | None
) -> list[float | None] | None:
    """Return ``values`` of the axes ``places`` for all four axes; the others have ``rest``."""
    if values is None:
        return None
    if len(values) != len(places):
        node.refuse(f"it has {len(values)} scales or sizes, and {len(places)} axes")
    found: list[float | None] = [rest] * 4
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return found


def _region(node: Node, places: Sequence[int]) -> tuple[float, float, float, float]:
    """Return (top, left, bottom, right) of the part that is resized."""
    roi = node.known_numbers(1) or ()
    if len(roi) != 2 * len(places):
        node.refuse(f"its region has {len(roi)} numbers, and {len(places)} axes take twice as many")
    begins, ends = dict(zip(places, roi, strict=False)), dict(zip(places, roi[len(places) :], strict=True))
    return begins.get(2, 0.0), begins.get(3, 0.0), ends.get(2, 1.0), ends.get(3, 1.0)


CONVERTERS: Mapping[str, Converter] = {"Pad": _pad, "Resize": _resize, "Upsample": _upsample}
