"""Reductions: ``te.sum``, ``te.max``, ``te.min`` and ``te.comm_reducer`` for others.

Tests: tests/vta/te/test_reducer.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, overload

from vta.te.operation import ComputeError, Scalar
from vta.te.tensor import TensorError
from vta.tir import ops
from vta.tir.dtype import BOOL
from vta.tir.expr import CommReducer, Expr, IntImm, IterKind, IterVar, Reduce, Var, const, convert

__all__ = ["Reducer", "comm_reducer", "max", "min", "sum"]

_Combine: TypeAlias = "Callable[..., Scalar | Sequence[Scalar]]"
_Axes: TypeAlias = IterVar | Sequence[IterVar]


class Reducer(Protocol):
    """A reduction: of one expression over axes, or of several together."""

    @overload
    def __call__(
        self, expr: Scalar, axis: _Axes | Scalar, where: Scalar | None = None, init: Scalar | None = None
    ) -> Expr: ...
    @overload
    def __call__(
        self,
        expr: Sequence[Scalar],
        axis: _Axes,
        where: Scalar | None = None,
        init: Sequence[Scalar] | None = None,
    ) -> tuple[Expr, ...]: ...
    def __call__(
        self,
        expr: Scalar | Sequence[Scalar],
        axis: _Axes | Scalar,
        where: Scalar | None = None,
        init: Scalar | Sequence[Scalar] | None = None,
    ) -> Expr | tuple[Expr, ...]:
        """Combine ``expr`` over ``axis`` where ``where`` holds, starting from ``init``.

        With another expression in place of the axes, combine the two: ``te.max(a, b)``.
        """
        ...


def comm_reducer(
    fcombine: _Combine, fidentity: Callable[..., Scalar | Sequence[Scalar]] | None = None, name: str = "reduce"
) -> Reducer:
    """Return a reduction that combines with ``fcombine`` (commutative, associative).

    ``fidentity`` gets the element types and returns the neutral elements. For several values at once, both arguments
    of ``fcombine`` are tuples, and it returns a tuple. Without ``fidentity`` it combines values alone.
    """

    def reducer(
        expr: Scalar | Sequence[Scalar],
        axis: _Axes | Scalar,
        *more: Scalar,
        where: Scalar | None = None,
        init: Scalar | Sequence[Scalar] | None = None,
    ) -> Expr | tuple[Expr, ...]:
        axes = _reduce_axes(axis, name)
        if axes is None:
            if isinstance(expr, tuple | list) or where is not None or init is not None:
                raise ComputeError(f"{name} of values takes nothing else; for a reduction give axis=")
            return _combined(fcombine, [expr, axis, *more])
        if fidentity is None:
            raise ComputeError(f"{name} reduces over axes with a neutral element: comm_reducer(fcombine, fidentity)")
        where, init = (more[0] if more else where), (more[1] if len(more) > 1 else init)
        single = not isinstance(expr, tuple | list)
        source = tuple(convert(e) for e in (expr if isinstance(expr, tuple | list) else [expr]))
        if not axes:  # what is combined is one value
            if where is not None or init is not None:
                raise ComputeError(f"{name}: no axis to reduce over was given, but a condition or a start value")
            return source[0] if single else source
        combiner = _combiner(fcombine, fidentity, source, single=single)
        condition = _condition(where, name)
        start = _start_values(init, source, name)
        values = tuple(Reduce(combiner, source, axes, condition, i, start) for i in range(len(source)))
        return values[0] if single else values

    reducer.__name__ = reducer.__qualname__ = name
    return reducer  # type: ignore[return-value]  # one body behind both overloads


def _combined(fcombine: _Combine, values: Sequence[object]) -> Expr:
    """Return the values combined from left to right."""
    result = values[0]
    for value in values[1:]:
        result = fcombine(result, value)
    return convert(result)


def _reduce_axes(axis: object, name: str) -> tuple[IterVar, ...] | None:
    """Return the axes, or None if ``axis`` is a value to combine with."""
    if isinstance(axis, IterVar):
        axes: tuple[object, ...] = (axis,)
    elif isinstance(axis, tuple | list):
        axes = tuple(axis)
    else:
        return None
    for item in axes:
        if not isinstance(item, IterVar) or item.kind is not IterKind.COMM_REDUCE:
            label = item.name if isinstance(item, IterVar) else repr(item)
            raise ComputeError(f"{name}: {label} is not a reduction axis; make one with te.reduce_axis((begin, end))")
    return tuple(item for item in axes if isinstance(item, IterVar))


def _combiner(
    fcombine: _Combine,
    fidentity: Callable[..., Scalar | Sequence[Scalar]],
    source: tuple[Expr, ...],
    *,
    single: bool,
) -> CommReducer:
    lhs = tuple(Var(f"x_{i}" if len(source) > 1 else "x", e.dtype) for i, e in enumerate(source))
    rhs = tuple(Var(f"y_{i}" if len(source) > 1 else "y", e.dtype) for i, e in enumerate(source))
    result = fcombine(lhs[0], rhs[0]) if single else fcombine(lhs, rhs)
    neutral = fidentity(*(e.dtype for e in source))
    results, identity = _values(result), _values(neutral)
    if len(results) != len(source) or len(identity) != len(source):
        raise ComputeError(
            f"a reduction of {len(source)} values: the combination returned {len(results)}, "
            f"the identity {len(identity)}"
        )
    return CommReducer(lhs, rhs, results, tuple(_typed(v, e) for v, e in zip(identity, source, strict=True)))


def _values(value: Scalar | Sequence[Scalar]) -> tuple[Expr, ...]:
    return tuple(convert(v) for v in (value if isinstance(value, tuple | list) else [value]))


def _typed(value: Expr, like: Expr) -> Expr:
    return value if value.dtype == like.dtype else value.astype(like.dtype)


def _condition(where: Scalar | None, name: str) -> Expr:
    if where is None:
        return IntImm(1, BOOL)
    condition = convert(where)
    if condition.dtype != BOOL:
        raise ComputeError(f"{name}: where= takes a condition (bool), not {condition.dtype}")
    return condition


def _start_values(init: Scalar | Sequence[Scalar] | None, source: tuple[Expr, ...], name: str) -> tuple[Expr, ...]:
    if init is None:
        return ()
    values = tuple(init) if isinstance(init, tuple | list) else (init,)
    if len(values) != len(source):
        raise TensorError(f"{name}: init= has {len(values)} values for {len(source)} sources")
    return tuple(_typed(convert(v), e) for v, e in zip(values, source, strict=True))


sum = comm_reducer(lambda x, y: x + y, lambda dtype: const(0, dtype), name="sum")  # noqa: A001  # TVM's name
max = comm_reducer(ops.max, ops.min_value, name="max")  # noqa: A001  # TVM's name
min = comm_reducer(ops.min, ops.max_value, name="min")  # noqa: A001  # TVM's name
