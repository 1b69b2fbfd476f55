"""Random reductions on the tensor ALU: windows, weights, shifts by the reduction's variable, conditions, start values.

An element is reduced over one or two axes; what it reads is bent in every way that te allows: flipped, strided, with
divisions and remainders. ``expected`` is numpy's, element by element.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import vta
from vta import te
from vta.tir.expr import Expr, IterVar

__all__ = ["AluReduction", "alu_reduction"]

_ROWS, _COLUMNS = 4, 8
"""The extents of what is read."""


@dataclass(frozen=True, slots=True)
class AluReduction:
    """A schedule, its arguments (data, result), and what the result is for given data."""

    schedule: te.Schedule
    args: tuple[te.Tensor, te.Tensor]
    expected: Callable[[np.ndarray], np.ndarray]
    text: str


@dataclass(frozen=True, slots=True)
class _Term:
    """``x[row(i, r), column(j, r, s)]``, weighted; ``where`` may leave steps out."""

    row: tuple[int, int, int]
    column: tuple[int, int, int, int]
    weight: tuple[str, int, int]
    where: tuple[int, int, int] | None
    start: int | None
    kind: str


def _in_range(value: Expr | int, size: int) -> Expr | int:
    return value % size


def alu_reduction(rng: Random) -> AluReduction:
    """Return a reduction in the current environment."""
    env = vta.get_env()
    rows, columns = rng.randint(1, 4), rng.randint(1, 5)
    steps, more = rng.randint(1, 4), rng.choice([1, 1, 2, 3])
    term = _Term(
        row=(rng.choice([0, 1, 1, 2]), rng.choice([0, 0, 1, -1]), rng.randint(0, 2)),
        column=(rng.choice([0, 1, 1, 2]), rng.choice([0, 1, 1, -1, 2]), rng.choice([0, 1, -1]), rng.randint(0, 3)),
        weight=(rng.choice(["none", "none", "times", "plus", "shift"]), rng.choice([-2, -1, 1, 2]), rng.randint(0, 3)),
        where=rng.choice([None, None, (rng.randint(-1, 1), rng.randint(-1, 1), rng.randint(0, 3))]),
        start=rng.choice([None, None, 3, 70_000]),
        kind=rng.choice(["sum", "sum", "max", "min"]),
    )
    lanes = (env.BATCH, env.BLOCK_OUT)
    data = te.placeholder((_ROWS, _COLUMNS, *lanes), env.acc_dtype, "data")
    loaded = te.compute(data.shape, lambda *i: data(*i), "loaded")
    r, s = te.reduce_axis((0, steps), "r"), te.reduce_axis((0, more), "s")
    reducer = {"sum": te.sum, "max": te.max, "min": te.min}[term.kind]

    def element(i: Expr, j: Expr, b: Expr, c: Expr) -> Expr:
        value, condition = _value(term, lambda y, x: loaded[y, x, b, c], i, j, r.var, s.var)
        where = None if condition is None else (condition >= 0)
        return reducer(value, axis=[r, s], where=where, init=term.start)

    reduced = te.compute((rows, columns, *lanes), element, "reduced")
    result = te.compute(reduced.shape, lambda *i: reduced(*i).astype(env.out_dtype), "result")
    schedule = te.create_schedule(result.op)
    text = _scheduled(rng, schedule, (loaded, reduced, result), (r, s), env)

    def expected(values: np.ndarray) -> np.ndarray:
        wide = values.astype(np.int64)
        found = np.zeros((rows, columns, *lanes), np.int64)
        for i in range(rows):
            for j in range(columns):
                total = _neutral(term, lanes)
                for step in range(steps):
                    for other in range(more):
                        value, condition = _value(term, lambda y, x: wide[y, x], i, j, step, other)
                        if condition is None or condition >= 0:
                            total = _combined(term.kind, total, _wrapped(value))
                found[i, j] = total
        return found.astype(np.int32).astype(np.int8)

    return AluReduction(schedule, (data, result), expected, f"{term} {(rows, columns, steps, more)} {text}")


def _value(term: _Term, read: Callable[..., Any], i: Any, j: Any, r: Any, s: Any) -> tuple[Any, Any]:
    """Return the value of one step, and what must not be negative for it to count."""
    y = _in_range(i * term.row[0] + r * term.row[1] + term.row[2] + 4, _ROWS)
    x = _in_range(j * term.column[0] + r * term.column[1] + s * term.column[2] + term.column[3] + 8, _COLUMNS)
    value = read(y, x)
    kind, factor, offset = term.weight
    if kind == "times":
        value = value * (r * factor + offset)
    elif kind == "plus":
        value = value + (s * factor + offset)
    elif kind == "shift":
        value = value >> (r + offset)
    condition = None if term.where is None else r * term.where[0] + j * term.where[1] + term.where[2]
    return value, condition


def _neutral(term: _Term, lanes: tuple[int, int]) -> np.ndarray:
    ends = {"sum": 0, "max": -(1 << 31), "min": (1 << 31) - 1}
    return np.full(lanes, ends[term.kind] if term.start is None else term.start, np.int64)


def _combined(kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    match kind:
        case "sum":
            return _wrapped(a + b)
        case "max":
            return np.maximum(a, b)
        case _:
            return np.minimum(a, b)


def _wrapped(value: np.ndarray) -> np.ndarray:
    return np.asarray(value).astype(np.int64).astype(np.int32).astype(np.int64)


def _scheduled(
    rng: Random,
    schedule: te.Schedule,
    stages: tuple[te.Tensor, te.Tensor, te.Tensor],
    axes: tuple[IterVar, IterVar],
    env: vta.Environment,
) -> str:
    loaded, reduced, result = stages
    for tensor in (loaded, reduced):
        schedule[tensor].set_scope(env.acc_scope)
    notes = []
    stage = schedule[reduced]
    i, j, b, c = stage.op.axis
    order = [[i, j, b, c, *axes], [i, *axes, j, b, c], [*axes, i, j, b, c], [j, i, axes[1], axes[0], b, c]]
    chosen = rng.randrange(5)
    if chosen < 4:
        stage.reorder(*order[chosen])
        notes.append(f"order {chosen}")
    if rng.random() < 0.3:
        outer, inner = schedule[result].split(schedule[result].op.axis[0], factor=2)
        stage.compute_at(schedule[result], outer)
        schedule[result].pragma(inner, env.dma_copy)
        notes.append("tiled")
    else:
        schedule[result].pragma(schedule[result].op.axis[0], env.dma_copy)
    schedule[loaded].pragma(schedule[loaded].op.axis[0], env.dma_copy)
    stage.pragma(stage.fuse() if chosen == 2 else stage.leaf_iter_vars[0], env.alu)
    return ", ".join(notes)
