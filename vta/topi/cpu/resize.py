"""Images of other sizes and pools of any size: ``topi.image.resize2d``, ``topi.nn.adaptive_pool``.

Tests: tests/vta/topi/cpu/test_resize.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vta import te
from vta.tir import ops
from vta.tir.expr import Expr, const
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.rearrange import sizes_of

__all__ = ["adaptive_pool", "resize2d"]

_MODES = ("half_pixel", "align_corners", "asymmetric")


def _places(name: str, layout: str, rank: int) -> tuple[int, int]:
    if layout not in ("NCHW", "NHWC") or rank != 4:
        raise OperatorError(f"{name}: expected images NCHW or NHWC, got {rank} dimensions, {layout!r}")
    return layout.index("H"), layout.index("W")


def _source(at: Expr, before: int, after: int, mode: str) -> Expr:
    """Return where element ``at`` of ``after`` comes from among ``before``, a float."""
    x = at.astype("float32")
    if mode == "half_pixel":
        return (x + 0.5) * const(before / after, "float32") - 0.5
    if mode == "align_corners":
        return x * const((before - 1) / (after - 1) if after > 1 else 0.0, "float32")
    return x * const(before / after, "float32")


def resize2d(
    data: te.Tensor,
    roi: Sequence[float] | None,
    size: Sequence[int],
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
) -> te.Tensor:
    """Return images of ``size`` (height, width): the nearest element ("nearest_neighbor"), or four weighed ("linear").

    ``rounding_method`` of the nearest one: "round" (halves up; the default of align_corners), or "floor".
    """
    what = "topi.image.resize2d"
    where = _places(what, layout, data.ndim)
    if coordinate_transformation_mode not in _MODES:
        raise OperatorError(f"{what}: coordinates are {', '.join(_MODES)}, not {coordinate_transformation_mode!r}")
    if any(roi or ()):
        raise OperatorError(f"{what}: a region of interest is not done; slice the image first")
    sizes, wanted = sizes_of(data, "image.resize2d"), [int(s) for s in size]
    mode = coordinate_transformation_mode
    if method == "linear":
        return _linear(data, where, sizes, wanted, mode)
    if method != "nearest_neighbor":
        raise OperatorError(f"{what}: method is 'nearest_neighbor' or 'linear', not {method!r}")
    rounding = rounding_method or ("round" if mode == "align_corners" else "floor")
    if rounding not in ("round", "floor"):
        raise OperatorError(f"{what}: rounding_method is 'round' or 'floor', not {rounding_method!r}")

    def nearest(at: Expr, before: int, after: int) -> Expr:
        x = _source(at, before, after, mode)
        near = ops.floor(x + 0.5 if rounding == "round" else x + 1e-5).astype("int32")
        return ops.max(ops.min(near, before - 1), 0)

    return _picked(data, where, sizes, wanted, nearest)


def _picked(
    data: te.Tensor,
    where: tuple[int, int],
    sizes: Sequence[int],
    wanted: Sequence[int],
    place: Callable[[Expr, int, int], Expr],
) -> te.Tensor:
    def element(*i: Expr) -> Expr:
        at = list(i)
        for d, after in zip(where, wanted, strict=True):
            at[d] = place(i[d], sizes[d], after)
        return data(*at)

    return te.compute(_shape(data, where, wanted), element, name="T_resize", tag="injective")


def _shape(data: te.Tensor, where: tuple[int, int], wanted: Sequence[int]) -> list[Expr]:
    shape = list(data.shape)
    for d, after in zip(where, wanted, strict=True):
        shape[d] = const(after)
    return shape


def _linear(
    data: te.Tensor, where: tuple[int, int], sizes: Sequence[int], wanted: Sequence[int], mode: str
) -> te.Tensor:
    if not data.dtype.is_float:
        raise OperatorError(f"topi.image.resize2d: linear means are of floats, not {data.dtype}")
    kind = data.dtype

    def element(*i: Expr) -> Expr:
        ends, shares = [], []
        for d, after in zip(where, wanted, strict=True):
            x = _source(i[d], sizes[d], after, mode)
            low = ops.floor(x).astype("int32")
            shares.append((x - ops.floor(x)).astype(kind))
            ends.append([ops.max(ops.min(end, sizes[d] - 1), 0) for end in (low, low + 1)])

        def at(row: int, column: int) -> Expr:
            place = list(i)
            place[where[0]], place[where[1]] = ends[0][row], ends[1][column]
            return data(*place)

        one = const(1, kind)
        top, bottom = (at(row, 0) * (one - shares[1]) + at(row, 1) * shares[1] for row in (0, 1))
        return top * (one - shares[0]) + bottom * shares[0]

    return te.compute(_shape(data, where, wanted), element, name="T_resize", tag="injective")


def adaptive_pool(data: te.Tensor, output_size: Sequence[int], pool_type: str, layout: str = "NCHW") -> te.Tensor:
    """Return the largest elements ("max") or averages ("avg") of ``output_size`` windows that cover each image."""
    what = "topi.nn.adaptive_pool"
    where = _places(what, layout, data.ndim)
    if pool_type not in ("max", "avg") or (pool_type == "avg" and not data.dtype.is_float):
        raise OperatorError(f"{what}: pool_type is 'max', or 'avg' of floats, not {pool_type!r} of {data.dtype}")
    wanted, sizes = [int(s) for s in output_size], sizes_of(data, "nn.adaptive_pool")
    kind = data.dtype
    empty = te.min_value(kind) if pool_type == "max" else const(0, kind)
    walks = [
        te.reduce_axis((0, max(_end(o, sizes[d], n) - o * sizes[d] // n for o in range(n))), f"r{d}")
        for d, n in zip(where, wanted, strict=True)
    ]

    def window(i: Sequence[Expr]) -> list[tuple[Expr, Expr]]:
        starts = [(i[d] * sizes[d]) // n for d, n in zip(where, wanted, strict=True)]
        ends = [((i[d] + 1) * sizes[d] + (n - 1)) // n for d, n in zip(where, wanted, strict=True)]
        return list(zip(starts, ends, strict=True))

    def element(*i: Expr) -> Expr:
        at, inside = list(i), []
        for d, walk, (start, end) in zip(where, walks, window(i), strict=True):
            at[d] = start + walk
            inside.append(at[d] < end)
        value = ops.if_then_else(ops.all(*inside), data(*at), empty)
        return te.max(value, axis=walks) if pool_type == "max" else te.sum(value, axis=walks)

    shape = _shape(data, where, wanted)
    pooled = te.compute(shape, element, name=f"adaptive_pool_{pool_type}", tag=f"adaptive_pool_{pool_type}")
    if pool_type == "max":
        return pooled

    def average(*i: Expr) -> Expr:
        count = const(1)
        for start, end in window(i):
            count = count * (end - start)
        return pooled(*i) / count.astype(kind)

    return te.compute(shape, average, name="adaptive_pool_avg", tag="elemwise")


def _end(o: int, size: int, count: int) -> int:
    return -(-(o + 1) * size // count)
