"""Reductions over axes: ``topi.sum``, ``topi.max``, ``topi.argmax``, ...

Tests: tests/vta/topi/cpu/test_reductions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from operator import mul
from typing import cast

from vta import te
from vta.te.operation import Scalar
from vta.tir import ops
from vta.tir.dtype import BOOL
from vta.tir.expr import Expr, IntImm, IterVar, const
from vta.topi.core.operator import OperatorError

__all__ = ["all", "any", "argmax", "argmin", "axes_of", "max", "mean", "min", "prod", "sum"]


def axes_of(name: str, rank: int, axis: int | Sequence[int] | None) -> list[int]:
    """Return the axes as numbers from 0, in order: all of them for None; negative ones count from the end."""
    chosen = range(rank) if axis is None else [axis] if isinstance(axis, int | IntImm) else axis
    result = []
    for one in chosen:
        number = int(one)
        if not -rank <= number < rank:
            raise OperatorError(f"topi.{name}: axis {number} is outside {-rank} to {rank - 1}")
        result.append(number % rank)
    if len(set(result)) != len(result):
        raise OperatorError(f"topi.{name}: an axis is given twice: {list(chosen)}")
    return sorted(result)


def _shape(data: te.Tensor, axes: Sequence[int], *, keepdims: bool) -> list[Expr]:
    return [const(1) if d in axes else e for d, e in enumerate(data.shape) if keepdims or d not in axes]


def _reduced(
    name: str,
    data: te.Tensor,
    axis: int | Sequence[int] | None,
    keepdims: bool,
    of: Callable[[Expr, list[IterVar], list[int]], object],
) -> te.Tensor | tuple[te.Tensor, ...]:
    axes = axes_of(name, data.ndim, axis)
    if not axes:
        raise OperatorError(f"topi.{name}: expected an axis to reduce over")
    walks = [te.reduce_axis((0, data.shape[d]), name=f"k{d}") for d in axes]

    def element(*indices: Expr) -> object:
        place: list[Expr] = []
        kept = iter(indices)
        for dim in range(data.ndim):
            if dim in axes:
                place.append(walks[axes.index(dim)].var)
                if keepdims:
                    next(kept)
            else:
                place.append(next(kept))
        return of(data(*place), walks, axes)

    shape = _shape(data, axes, keepdims=keepdims)
    return te.compute(shape, cast("Callable[..., Scalar]", element), name=f"{data.name}_red", tag="comm_reduce")


_Axis = int | Sequence[int] | None


def sum(data: te.Tensor, axis: _Axis = None, keepdims: bool = False) -> te.Tensor:  # noqa: A001  # TVM's names, below too
    """Return the sums over ``axis`` (all axes if left out); with ``keepdims``, these have one element."""
    return _reduced("sum", data, axis, keepdims, lambda value, walks, _: te.sum(value, axis=walks))  # type: ignore[return-value]


def max(data: te.Tensor, axis: _Axis = None, keepdims: bool = False) -> te.Tensor:  # noqa: A001
    """Return the largest elements along ``axis``."""
    return _reduced("max", data, axis, keepdims, lambda value, walks, _: te.max(value, axis=walks))  # type: ignore[return-value]


def min(data: te.Tensor, axis: _Axis = None, keepdims: bool = False) -> te.Tensor:  # noqa: A001
    """Return the smallest elements along ``axis``."""
    return _reduced("min", data, axis, keepdims, lambda value, walks, _: te.min(value, axis=walks))  # type: ignore[return-value]


_PRODUCT = te.comm_reducer(lambda x, y: x * y, lambda dtype: const(1, dtype), name="prod")
_ALL = te.comm_reducer(lambda x, y: ops.all(x, y), lambda _: const(1, BOOL), name="all")
_ANY = te.comm_reducer(lambda x, y: ops.any(x, y), lambda _: const(0, BOOL), name="any")


def prod(data: te.Tensor, axis: _Axis = None, keepdims: bool = False) -> te.Tensor:
    """Return the products over ``axis``."""
    return _reduced("prod", data, axis, keepdims, lambda value, walks, _: _PRODUCT(value, axis=walks))  # type: ignore[return-value]


def all(data: te.Tensor, axis: _Axis = None, keepdims: bool = False) -> te.Tensor:  # noqa: A001
    """Return whether all elements along ``axis`` hold."""
    return _reduced("all", data, axis, keepdims, lambda value, walks, _: _ALL(value, axis=walks))  # type: ignore[return-value]


def any(data: te.Tensor, axis: _Axis = None, keepdims: bool = False) -> te.Tensor:  # noqa: A001
    """Return whether an element along ``axis`` holds."""
    return _reduced("any", data, axis, keepdims, lambda value, walks, _: _ANY(value, axis=walks))  # type: ignore[return-value]


def mean(data: te.Tensor, axis: _Axis = None, keepdims: bool = False) -> te.Tensor:
    """Return the averages over ``axis``, of floats."""
    if not data.dtype.is_float:
        raise OperatorError(f"topi.mean: expected floats, got {data.dtype}")
    count = fold(mul, (data.shape[d] for d in axes_of("mean", data.ndim, axis)))
    total = sum(data, axis, keepdims)
    return te.compute(total.shape, lambda *i: total(*i) / count.astype(data.dtype), name="T_mean", tag="elemwise")


def argmax(data: te.Tensor, axis: _Axis = None, keepdims: bool = False, select_last_index: bool = False) -> te.Tensor:
    """Return the places of the largest elements along ``axis``, the first ones (or the last) of several.

    Over several axes, or all, the place counts in the order of memory. int32.
    """
    return _place("argmax", data, axis, keepdims, last=select_last_index)


def argmin(data: te.Tensor, axis: _Axis = None, keepdims: bool = False, select_last_index: bool = False) -> te.Tensor:
    """Return the places of the smallest elements along ``axis``, see ``argmax``."""
    return _place("argmin", data, axis, keepdims, last=select_last_index)


def _place(name: str, data: te.Tensor, axis: _Axis, keepdims: bool, *, last: bool) -> te.Tensor:
    largest = name == "argmax"

    def better(x: tuple[Expr, Expr], y: tuple[Expr, Expr]) -> Expr:
        """Whether x stays: it is better, or as good and on the wanted side; -1 is no place."""
        beats = x[1] > y[1] if largest else x[1] < y[1]
        side = x[0] > y[0] if last else x[0] < y[0]
        even = ops.all((x[1] == y[1]).asexpr(), side)
        return ops.all(x[0] >= 0, ops.any(y[0] < 0, beats, even))

    def combine(x: tuple[Expr, Expr], y: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
        keep = better(x, y)
        return ops.select(keep, x[0], y[0]), ops.select(keep, x[1], y[1])

    def start(index: str, value: str) -> tuple[Expr, Expr]:
        return const(-1, index), te.min_value(value) if largest else te.max_value(value)

    reducer = te.comm_reducer(combine, start, name=name)

    def element(value: Expr, walks: list[IterVar], axes: list[int]) -> object:
        place: Expr = walks[0].var
        for walk, dim in zip(walks[1:], axes[1:], strict=True):
            place = place * data.shape[dim] + walk.var
        return reducer((place, value), axis=walks)

    found = _reduced(name, data, axis, keepdims, element)
    assert isinstance(found, tuple)
    return te.compute(found[0].shape, lambda *i: found[0](*i), name=f"{data.name}_{name}", tag="injective")
