"""Moves as C: loops where elements go in steps, tables where they do not.

Tests: tests/vta/relay/c/test_move_code.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vta.codegen.c.types import literal
from vta.relay.c.moves import CONSTANT, Move
from vta.tir.dtype import DType

__all__ = ["move_code", "table_text"]

Array = npt.NDArray[Any]

_MOST_BOXES = 64
"""Loops are written for up to so many parts of a result; a table is shorter than more of them."""


@dataclass(frozen=True, slots=True)
class _Box:
    """A part of a result: ``begin`` and ``extent`` for every axis, and how the source moves with each of them."""

    begin: tuple[int, ...]
    extent: tuple[int, ...]
    source: int
    steps: tuple[int, ...]


def move_code(move: Move, name: str, kind: str, dtype: DType, operands: Sequence[int]) -> str:
    """Return ``static void name(operands..., result)``; ``operands`` are the inputs that it reads, by number.

    ``kind`` is the type of an element in memory.
    """
    move = Move(*(np.atleast_1d(part) for part in (move.operand, move.place, move.value)))
    parameters = [f"const {kind} *restrict in{number}" for number in operands]
    lines = [*_constants(move, dtype)]
    for number in operands:
        lines += _from_operand(move, number)
    body = "".join(f"    {line}\n" for line in lines)
    return f"static void {name}({', '.join([*parameters, f'{kind} *restrict out'])})\n{{\n{body}}}\n"


def table_text(numbers: Array, name: str) -> Iterator[str]:
    """Yield the lines of a table of numbers from 0, in the smallest type that holds them."""
    bits = next(bits for bits in (8, 16, 32) if int(numbers.max(initial=0)) < 1 << bits)
    yield f"static const uint{bits}_t {name}[] = {{"
    values = numbers.reshape(-1).tolist()
    for begin in range(0, len(values), 24):
        yield "    " + ", ".join(map(str, values[begin : begin + 24])) + ","
    yield "};"


def _constants(move: Move, dtype: DType) -> Iterator[str]:
    """Yield lines that fill in what is constant: all of it with the commonest number, then the others."""
    is_constant = move.operand == CONSTANT
    if not is_constant.any():
        return
    numbers, counts = np.unique(move.value[is_constant], return_counts=True)
    commonest = numbers[np.argmax(counts)]
    yield f"for (long i = 0; i < {move.operand.size}; ++i)"
    yield f"    out[i] = {literal(dtype, commonest.item())};"
    for position, number in enumerate(numbers):
        if number != commonest and not (number != number and commonest != commonest):
            at = np.flatnonzero((is_constant & (move.value == number)).reshape(-1))
            yield from table_text(at, f"at{position}")
            yield f"for (long i = 0; i < {len(at)}; ++i)"
            yield f"    out[at{position}[i]] = {literal(dtype, number.item())};"


def _from_operand(move: Move, number: int) -> Iterator[str]:
    mask = move.operand == number
    boxes = _boxes(mask, move.place)
    if boxes is not None:
        for box in boxes:
            yield from _box_code(box, mask.shape, number)
        return
    to, source = np.flatnonzero(mask.reshape(-1)), move.place[mask]
    yield from table_text(to, f"to{number}")
    yield from table_text(source, f"from{number}")
    yield f"for (long i = 0; i < {len(to)}; ++i)"
    yield f"    out[to{number}[i]] = in{number}[from{number}[i]];"


# --- boxes ----------------------------------------------------------------------------------------------------------


def _boxes(mask: npt.NDArray[np.bool_], place: Array) -> list[_Box] | None:
    """Return parts in which the source goes in steps: the whole, or a slice each along one axis."""
    whole = _box(mask, place)
    if whole is not None:
        return [whole]
    for axis in sorted(range(mask.ndim), key=lambda axis: mask.shape[axis]):
        if not 1 < mask.shape[axis] <= _MOST_BOXES:
            continue
        taken = [np.s_[(slice(None),) * axis + (slice(at, at + 1),)] for at in range(mask.shape[axis])]
        wanted = [at for at, where in enumerate(taken) if mask[where].any()]
        slices = [_box(mask[taken[at]], place[taken[at]]) for at in wanted]
        found = [_moved_box(box, axis, at) for at, box in zip(wanted, slices, strict=True) if box is not None]
        if len(found) == len(wanted):
            return found
    return None


def _moved_box(box: _Box, axis: int, at: int) -> _Box:
    begin = tuple(at if dim == axis else start for dim, start in enumerate(box.begin))
    return _Box(begin, box.extent, box.source, box.steps)


def _box(mask: npt.NDArray[np.bool_], place: Array) -> _Box | None:
    """Return the one box that ``mask`` is, if the source goes in steps in it."""
    where = np.nonzero(mask)
    begin = tuple(int(axis.min()) for axis in where)
    extent = tuple(int(axis.max()) - start + 1 for axis, start in zip(where, begin, strict=True))
    inside = tuple(slice(start, start + count) for start, count in zip(begin, extent, strict=True))
    if not mask[inside].all():
        return None
    part = place[inside]
    origin = (0,) * part.ndim
    steps = tuple(
        int(part[(*origin[:axis], 1, *origin[axis + 1 :])] - part[origin]) if count > 1 else 0
        for axis, count in enumerate(extent)
    )
    expected = int(part[origin]) + sum(np.indices(extent)[axis] * step for axis, step in enumerate(steps))
    return _Box(begin, extent, int(part[origin]), steps) if np.array_equal(part, expected) else None


def _box_code(box: _Box, shape: Sequence[int], number: int) -> Iterator[str]:
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    loops: list[tuple[int, int, int]] = []
    for count, to, source in zip(box.extent, strides, box.steps, strict=True):
        if count == 1:
            continue
        if loops and loops[-1][1:] == (to * count, source * count):
            loops[-1] = (loops[-1][0] * count, to, source)
        else:
            loops.append((count, to, source))
    to = sum(start * stride for start, stride in zip(box.begin, strides, strict=True))
    for depth, (count, _, _) in enumerate(loops):
        yield f"{'    ' * depth}for (long i{depth} = 0; i{depth} < {count}; ++i{depth})"
    left = _place(to, [loop[1] for loop in loops])
    right = _place(box.source, [loop[2] for loop in loops])
    yield f"{'    ' * len(loops)}out[{left}] = in{number}[{right}];"


def _place(begin: int, steps: Sequence[int]) -> str:
    terms = [f"{step} * i{depth}" if step != 1 else f"i{depth}" for depth, step in enumerate(steps) if step]
    return " + ".join([*([str(begin)] if begin or not terms else []), *terms])
