"""Steps of the host that only move elements: where each element of the result comes from.

Nothing is known here of an operator's meaning, but that it may be such a one. It is evaluated on arrays whose elements
are all different, once to see where they go, and once more with others to see that they only went.
Tests: tests/vta/relay/c/test_moves.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from runtime.executor.host_operators import LAYOUT_OPERATORS, prepared
from runtime.executor.network import Home, HostStep, Network
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern
from runtime.executor.operators.table import operator

__all__ = ["CONSTANT", "Move", "moves_of"]

Array = npt.NDArray[Any]

_COPIES = frozenset((Op.BROADCAST_TO, Op.COPY, Op.DROPOUT, Op.STOP_FUSION))
"""Operators that move nothing, or repeat elements."""

CONSTANT = -1
"""The operand of elements that are the same whatever the operands are."""


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Where the elements of a result come from, in its shape.

    ``operand`` numbers the step's inputs (``CONSTANT``: none of them), ``place`` counts elements of that one, ``value``
    has what is constant.
    """

    operand: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
    value: Array


def moves_of(step: HostStep, network: Network) -> list[Move] | None:
    """Return where every output of ``step`` gets its elements from, None for a step that computes something.

    Constants of the host among its inputs are taken as they are, as the indices of a selection.
    """
    if not _may_move(step.operator):
        return None
    run = prepared(step, network)
    moved = [n for n, name in enumerate(step.inputs) if network.tensor(name).home is not Home.HOST_CONSTANT]
    shapes = [network.tensor(step.inputs[number]).shape for number in moved]
    random = np.random.default_rng(0)

    def made(labels: Sequence[Array]) -> list[Array] | None:
        arrays: list[Array] = [network.host_constants.get(name, np.empty(0)) for name in step.inputs]
        for number, array in zip(moved, labels, strict=True):
            arrays[number] = array
        return _tried(run, arrays)

    kinds = [network.tensor(name).dtype for name in step.inputs]
    if {kinds[number] for number in moved} - {network.tensor(name).dtype for name in step.outputs}:
        return None
    kind = np.float64 if np.dtype(network.tensor(step.outputs[0]).dtype).kind == "f" else np.int64
    first, second = (_labels(random, shapes, kind) for _ in range(2))
    one, two = made(first), made(second)
    plain = made([np.zeros(shape, kinds[number]) for number, shape in zip(moved, shapes, strict=True)])
    other = made([np.ones(shape, kinds[number]) for number, shape in zip(moved, shapes, strict=True)])
    if one is None or two is None or plain is None or other is None:
        return None
    found = [
        _move(first, second, results, dtype)
        for results, dtype in zip(
            zip(one, two, plain, other, strict=True), (network.tensor(name).dtype for name in step.outputs), strict=True
        )
    ]
    whole = [each for each in found if each is not None]
    if len(whole) != len(found):
        return None
    numbers = np.array([*moved, CONSTANT])
    return [replace(each, operand=numbers[each.operand]) for each in whole]


def _may_move(name: str) -> bool:
    """Return whether an operator moves elements for some attributes: a minimum of labels would look as if it did."""
    if name in LAYOUT_OPERATORS:
        return True
    definition = operator(Op(name))
    return definition.pattern is Pattern.INJECTIVE or Op(name) in _COPIES


def _labels(random: np.random.Generator, shapes: Sequence[tuple[int, ...]], kind: npt.DTypeLike) -> list[Array]:
    """Return arrays of whole numbers that are all different, of both signs, and that no operator would make."""
    count = sum(int(np.prod(shape)) for shape in shapes)
    numbers = (random.permutation(count) + (1 << 40) + random.integers(1 << 20)) * random.choice([-1, 1], count)
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(numbers.astype(kind), ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _tried(run: Callable[[Sequence[Array]], Sequence[Any]], arrays: Sequence[Array]) -> list[Array] | None:
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(result) for result in run(arrays)]
    except (VTAError, TypeError, ValueError, OverflowError):
        return None  # it computes with its operands, and cannot with these


def _move(
    first: Sequence[Array], second: Sequence[Array], results: tuple[Array, Array, Array, Array], dtype: str
) -> Move | None:
    """Return where ``results`` come from: those of both sets of labels, of zeros, and of ones."""
    one, two, plain, other = results
    labels, others = (
        np.concatenate([array.reshape(-1) for array in arrays] or [one[:0]]) for arrays in (first, second)
    )
    if one.dtype != labels.dtype or str(plain.dtype) != dtype:
        return None
    order = np.argsort(labels)
    at = np.searchsorted(labels, one, sorter=order).clip(0, max(len(labels) - 1, 0))
    number = order[at] if len(labels) else np.zeros(one.shape, np.int64)
    is_moved = labels[number] == one if len(labels) else np.zeros(one.shape, bool)
    is_same = np.where(is_moved, False, (one == two) & _equal(plain, other))
    if not np.all(is_moved | is_same) or not np.array_equal(others[number[is_moved]], two[is_moved]):
        return None
    begins = np.cumsum([0, *(array.size for array in first)])
    operand = np.searchsorted(begins, number, side="right") - 1
    place = number - begins[operand]
    return Move(
        np.where(is_moved, operand, CONSTANT), np.where(is_moved, place, 0), np.where(is_moved, 0, plain).astype(dtype)
    )


def _equal(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    return np.asarray((a == b) | ((a != a) & (b != b)))
