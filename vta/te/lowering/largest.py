"""The largest value that an index takes while loops run: by trying all iterations if they are few, else by bounds.

Tests: tests/vta/te/test_largest.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from vta.arith.simplify import Analyzer
from vta.te.iteration import Loop
from vta.tir.deep import deep
from vta.tir.expr import Add, Expr, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Sub, Var, const
from vta.tir.traverse import walk

__all__ = ["largest_value"]

_TRIED = 1 << 16
"""Up to so many iterations are tried."""

_UNKNOWN = 1 << 30
"""A bound from here on comes from the type alone."""


def largest_value(expr: Expr, around: Sequence[Loop], analyzer: Analyzer) -> Expr:
    """Return the largest value of ``expr`` while the loops ``around`` run, or ``expr`` itself if that is not known."""
    loops = {loop.var: loop for loop in around}
    used = {node for node in walk(expr) if isinstance(node, Var)}
    if not used <= loops.keys():
        return expr
    sizes: dict[Var, int] = {}
    for var in used:
        bound = analyzer.const_bounds(loops[var].extent).hi
        if bound is None or bound >= _UNKNOWN:
            return expr
        sizes[var] = max(bound, 1)
    if prod(sizes.values()) <= _TRIED:
        grid = np.meshgrid(*(np.arange(size) for size in sizes.values()), indexing="ij", sparse=True)
        values = _evaluate(expr, dict(zip(sizes, grid, strict=True)))
        if values is not None:
            return const(int(values.max()))
    bound = analyzer.const_bounds(expr).hi
    return expr if bound is None or bound >= _UNKNOWN else const(bound)


@deep
def _evaluate(expr: Expr, values: Mapping[Var, NDArray[np.int64]]) -> NDArray[np.int64] | None:
    """Return the values of ``expr`` for arrays of values, or None if it has other nodes than index arithmetic."""
    match expr:
        case Var():
            return values[expr]
        case IntImm():
            return np.asarray(expr.value, dtype=np.int64)
        case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max():
            a, b = _evaluate(expr.a, values), _evaluate(expr.b, values)
            return None if a is None or b is None else _apply(expr, a, b)
        case _:
            return None


def _apply(
    expr: Add | Sub | Mul | FloorDiv | FloorMod | Min | Max, a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    match expr:
        case Add():
            return a + b
        case Sub():
            return a - b
        case Mul():
            return a * b
        case Min():
            return np.minimum(a, b)
        case Max():
            return np.maximum(a, b)
        case FloorDiv():
            return None if (b == 0).any() else a // b
        case FloorMod():
            return None if (b == 0).any() else a % b
