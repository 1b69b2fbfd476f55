"""A group of operators as tensor expressions: one stage for all of single elements, in front of it one over windows.

Tests: tests/vta/relay/host/test_stages.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.convolution import Conv2dAttrs
from runtime.executor.operators.pooling import AvgPool2dAttrs, Pool2dAttrs, window_counts
from runtime.executor.operators.qnn.tables import QnnPool2dAttrs
from runtime.executor.operators.types import ElementType
from runtime.executor.operators.windows import Window
from vta import te
from vta.relay.host.elements import ELEMENTS, larger
from vta.relay.host.recipe import Recipe, merged_axes
from vta.tir.expr import Expr, const
from vta.topi.cpu.schedules import schedule_injective
from vta.topi.nn.pad import pad

__all__ = ["Staged", "staged"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A schedule, its arguments (the result last), and arrays that follow the leaves among them."""

    schedule: te.Schedule
    args: tuple[te.Tensor, ...]
    extra: tuple[Array, ...] = ()


def staged(recipe: Recipe) -> Staged:
    """Return the schedule of a recipe; its arguments have the leaves' elements, some axes as one."""
    return _over_windows(recipe) if recipe.is_head else _of_elements(recipe)


def _of_elements(recipe: Recipe) -> Staged:
    groups = merged_axes([recipe.shape, *(leaf.shape for leaf in recipe.leaves)])
    shapes = [
        tuple([prod([leaf.shape[axis] for axis in group]) for group in groups]) for leaf in recipe.leaves
    ]  # fmt: skip
    leaves = [
        te.placeholder(shape, leaf.dtype, name=f"leaf{number}")
        for number, (shape, leaf) in enumerate(zip(shapes, recipe.leaves, strict=True))
    ]
    whole = [prod([recipe.shape[axis] for axis in group]) for group in groups]
    result = te.compute(whole, lambda *at: _element(recipe, leaves, at, []), name="result")
    return Staged(te.create_schedule(result.op), (*leaves, result))


def _element(recipe: Recipe, leaves: Sequence[te.Tensor], at: Sequence[Expr], made: list[Expr]) -> Expr:
    """Return the result's element at a place, with what the first nodes have ``made`` of it."""
    for node in recipe.nodes[len(made) :]:
        values = [made[number] if number >= 0 else _read(leaves[~number], at) for number in node.operands]
        made.append(ELEMENTS[node.op].make(values, node.attrs, node.dtype))
    return made[-1]


def _read(leaf: te.Tensor, at: Sequence[Expr]) -> Expr:
    return leaf(*(0 if str(extent) == "1" else index for extent, index in zip(leaf.shape, at, strict=True)))


# --- windows --------------------------------------------------------------------------------------------------------


def _over_windows(recipe: Recipe) -> Staged:
    leaves = [te.placeholder(leaf.shape, leaf.dtype, name=f"leaf{number}") for number, leaf in enumerate(recipe.leaves)]
    head = recipe.nodes[0]
    own = [leaves[~number] for number in head.operands]
    extra: list[tuple[te.Tensor, Array]] = []
    match head.attrs:
        case QnnPool2dAttrs():
            finish = _integer_sums(own[0], head.attrs, extra)
        case AvgPool2dAttrs():
            finish = _average(own[0], head.attrs, extra)
        case Pool2dAttrs():
            finish = _max_pool(own[0], head.attrs)
        case Conv2dAttrs():
            finish = _depthwise(own[0], own[1], head.attrs)
        case _:
            raise AssertionError(head.op)
    result = te.compute(
        recipe.shape, lambda *at: _element(recipe, leaves, at, [finish(*at)]), name="result", tag="elemwise"
    )
    arguments = (*leaves, *(tensor for tensor, _ in extra), result)
    return Staged(schedule_injective(result), arguments, tuple(array for _, array in extra))


def _padded(data: te.Tensor, window: Window, fill: Expr) -> te.Tensor:
    top, left, bottom, right = window.pads
    height, width = (int(str(extent)) for extent in data.shape[2:])
    below, beside = bottom + window.excess(0, height), right + window.excess(1, width)
    if not any((top, left, below, beside)):
        return data
    return pad(data, [0, 0, top, left], [0, 0, below, beside], fill, name="padded")


_Finish = Callable[..., Expr]


def _lowest(dtype: str) -> Expr:
    return const(-inf if ElementType(dtype).is_float else ElementType(dtype).bounds[0], dtype)


_MOST = te.comm_reducer(larger, _lowest, name="most")


def _walks(window: Window) -> list[Any]:
    return [te.reduce_axis((0, extent), name) for extent, name in zip(window.kernel, ("ry", "rx"), strict=True)]


def _place(window: Window, walks: Sequence[Any], y: Expr, x: Expr) -> tuple[Expr, Expr]:
    rows, columns = (
        at * stride + walk * step
        for at, stride, walk, step in zip((y, x), window.strides, walks, window.dilation, strict=True)
    )
    return rows, columns


def _max_pool(data: te.Tensor, attrs: Pool2dAttrs) -> _Finish:
    window, walks = attrs.window, _walks(attrs.window)
    padded = _padded(data, window, _lowest(str(data.dtype)))
    most = te.compute(
        _outputs(data, window),
        lambda n, c, y, x: _MOST(padded(n, c, *_place(window, walks, y, x)), axis=walks),
        name="most",
    )
    return lambda *at: most(*at)


def _average(data: te.Tensor, attrs: AvgPool2dAttrs, extra: list[tuple[te.Tensor, Array]]) -> _Finish:
    window, walks = attrs.window, _walks(attrs.window)
    padded = _padded(data, window, const(0, data.dtype))
    sums = te.compute(
        _outputs(data, window),
        lambda n, c, y, x: te.sum(padded(n, c, *_place(window, walks, y, x)), axis=walks),
        name="sums",
    )
    height, width = (int(str(extent)) for extent in data.shape[2:])
    counts = window_counts((height, width), window, count_include_pad=attrs.count_include_pad)
    divisors = te.placeholder(counts.shape, str(data.dtype), name="counts")
    extra.append((divisors, counts.astype(str(data.dtype))))
    return lambda n, c, y, x: sums(n, c, y, x) / divisors(y, x)


def _integer_sums(data: te.Tensor, attrs: QnnPool2dAttrs, extra: list[tuple[te.Tensor, Array]]) -> _Finish:
    window, walks = attrs.window, _walks(attrs.window)
    padded = _padded(data, window, const(attrs.zero_point, data.dtype))
    zero = const(attrs.zero_point, "int32")
    sums = te.compute(
        _outputs(data, window),
        lambda n, c, y, x: te.sum(padded(n, c, *_place(window, walks, y, x)).astype("int32") - zero, axis=walks),
        name="sums",
    )
    for name, factors in (("row_factors", attrs.row_factors), ("column_factors", attrs.column_factors)):
        if factors:
            extra.append((te.placeholder((len(factors),), "int32", name=name), np.array(factors, np.int32)))
    tensors = {str(tensor.op.name): tensor for tensor, _ in extra}

    def finish(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        whole = sums(n, c, y, x)
        for name, at in (("row_factors", y), ("column_factors", x)):
            whole = whole * tensors[name](at) if name in tensors else whole
        return whole

    return finish


def _depthwise(data: te.Tensor, weight: te.Tensor, attrs: Conv2dAttrs) -> _Finish:
    height, width = (int(str(extent)) for extent in weight.shape[2:])
    window = Window((height, width), attrs.strides, attrs.padding, attrs.dilation)
    walks = _walks(window)
    padded = _padded(data, window, const(0, data.dtype))

    def element(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        product = padded(n, c, *_place(window, walks, y, x)) * weight(c, 0, walks[0].var, walks[1].var)
        return te.sum(product, axis=walks)

    sums = te.compute(_outputs(data, window), element, name="sums")
    return lambda *at: sums(*at)


def _outputs(data: te.Tensor, window: Window) -> tuple[int, ...]:
    images, channels, height, width = (int(str(extent)) for extent in data.shape)
    return (images, channels, window.outputs(0, height), window.outputs(1, width))
