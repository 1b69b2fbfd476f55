"""Any function of one int8 number as steps: a polyline whose floor is the function, bit for bit.

A function is 256 numbers. A polyline that stays between each of them and the next number above needs few pieces where
the function is smooth: hard swish, sigmoid, tanh, leaky relu at any scales. A piece is ``clip(x, begin, end) * slope``;
the pieces are summed, and a shift takes the floor. The corners are found by dynamic programming over the cells and some
heights at each, so that no polyline through those heights takes fewer operations.
Tests: tests/vta/topi/core/test_table_steps.py.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vta.topi.core.epilogue import Add, Clip, Epilogue, Fork, Joint, Multiply, ShiftRight, Step, applied, needs
from vta.topi.core.epilogue_steps import WORD, EpilogueError

__all__ = ["TableError", "table_steps"]

_CELL = (-128, 127)
_HEIGHTS = 8
"""At how many heights above a number the polyline may have a corner, beside those of the longest straight lines."""
_PRECISIONS = ((13, 1 / 32), (20, 1 / 2048))
"""Bits behind the point, and how far a polyline stays away from the numbers: more than rounded slopes add up to.

With the first, slopes below 4 are constants of an instruction; the second finds lines that pass by numbers closely.
"""
_FLAT = 0.25
"""What a piece without a slope costs of one with: it is no term, but limits its neighbours."""

Reals = npt.NDArray[np.float64]


class TableError(EpilogueError):
    """A function that takes too many operations."""


def table_steps(table: npt.ArrayLike, *, low: int = -128, high: int = 127, most: int) -> Epilogue:
    """Return steps that make ``table[x + 128]`` of every x from ``low`` to ``high``, in at most ``most`` operations.

    Raises ``TableError`` if there are none.
    """
    values = np.asarray(table, np.int64)
    if values.shape != (256,) or not -128 <= low <= high <= 127:
        raise TableError(f"a table has 256 numbers for cells, not {values.shape}, and cells are not {low} to {high}")
    best = _cheapest(tuple(values[low + 128 : high + 129].tolist()), low)
    count = needs(best).operations
    if count > most:
        raise TableError(f"as a polyline, this function takes {count} operations for a number, and {most} are the most")
    return best


@functools.lru_cache(maxsize=256)
def _cheapest(wanted: tuple[int, ...], low: int) -> Epilogue:
    """Return the steps of the cheapest polyline that was found."""
    numbers = np.array(wanted, np.int64)
    found = [_tried(numbers, low, *precision, beyond=ends) for ends in (False, True) for precision in _PRECISIONS]
    exact = [steps for steps in found if steps is not None]
    return min(exact, key=lambda steps: needs(steps).operations)


def _tried(wanted: npt.NDArray[np.int64], low: int, shift: int, margin: float, *, beyond: bool) -> Epilogue | None:
    """Return the steps of one polyline, or None if they are not exact, or a slope is no constant of 32 bits.

    With ``beyond``, it may leave the range of cells where the function is at an end of it: a limit follows. A line that
    goes far beyond can need a steep one back.
    """
    corners = _corners(wanted, _Tube.of(wanted, margin, beyond=beyond))
    start, pieces = _pieces(corners, shift)
    if not all(WORD[0] <= piece.slope <= WORD[1] for piece in pieces):
        return None
    steps = _summed((start, pieces), low, shift)
    cells = np.arange(low, low + len(wanted), dtype=np.int32)
    made = applied(cells.reshape(1, 1, -1), steps, []).reshape(-1)
    least = _CELL[0] if made.min() < _CELL[0] else WORD[0]
    most = _CELL[1] if made.max() > _CELL[1] else WORD[1]
    if (least, most) != WORD:
        steps, made = (*steps, Clip(least, most)), np.clip(made, least, most)
    return steps if np.array_equal(made, wanted) else None


@dataclass(frozen=True, slots=True)
class _Tube:
    """Between what the polyline is at every cell; it begins and ends at cells ``first`` and ``last``, straight on."""

    floor: Reals
    ceiling: Reals
    first: int
    last: int

    @staticmethod
    def of(wanted: npt.NDArray[np.int64], margin: float, *, beyond: bool) -> "_Tube":
        """Return the tube of a function."""
        floor: Reals = wanted.astype(np.float64) + margin
        ceiling: Reals = wanted.astype(np.float64) + (1 - margin)
        inner = np.flatnonzero(~np.isin(wanted, _CELL))
        if not beyond or not len(inner):
            return _Tube(floor, ceiling, 0, len(wanted) - 1)
        floor[wanted == _CELL[0]] = -np.inf
        ceiling[wanted == _CELL[1]] = np.inf
        return _Tube(floor, ceiling, max(int(inner[0]) - 1, 0), min(int(inner[-1]) + 1, len(wanted) - 1))


def _corners(wanted: npt.NDArray[np.int64], tube: _Tube) -> list[tuple[int, float]]:
    """Return the cheapest polyline: cells, and heights there."""
    part = slice(tube.first, tube.last + 1)
    floor, ceiling = tube.floor[part], tube.ceiling[part]
    heights = _heights(wanted[part], floor, ceiling)
    count, choices = heights.shape
    cost, before = np.full((count, choices), np.inf), np.zeros((count, choices), np.int64)
    cost[0] = np.where(np.isnan(heights[0]), np.inf, 0)
    for cell in range(count - 1):
        start = heights[cell, :, None]
        distance = np.arange(1, count - cell)
        least = np.maximum.accumulate((floor[cell + 1 :] - start) / distance, axis=1)
        most = np.minimum.accumulate((ceiling[cell + 1 :] - start) / distance, axis=1)
        reach = int(np.argmin(np.append((least <= most).any(axis=0), [False])))
        rise = heights[None, cell + 1 : cell + 1 + reach] - start[:, :, None]
        slope = rise / distance[:reach, None]
        inside = (slope >= least[:, :reach, None] - 1e-12) & (slope <= most[:, :reach, None] + 1e-12)
        price = np.where(inside, cost[cell][:, None, None] + np.where(rise == 0, _FLAT, 1.0), np.inf)
        cheapest = price.argmin(axis=0)
        spent = np.take_along_axis(price, cheapest[None], axis=0)[0]
        region = slice(cell + 1, cell + 1 + reach)
        better = spent < cost[region]
        cost[region] = np.where(better, spent, cost[region])
        before[region] = np.where(better, cell * choices + cheapest, before[region])
    at = (count - 1, int(np.argmin(cost[-1])))
    found = [at]
    while at[0]:
        at = divmod(int(before[at]), choices)
        found.append(at)
    return [(tube.first + cell, float(heights[cell, number])) for cell, number in reversed(found)]


def _heights(wanted: npt.NDArray[np.int64], floor: Reals, ceiling: Reals) -> Reals:
    """Return (cells, choices): heights for corners; NaN where there are fewer."""
    count = len(wanted)
    grid = wanted[:, None] + (2 * np.arange(_HEIGHTS) + 1) / (2 * _HEIGHTS)
    of_lines = np.full((count, 2), np.nan)
    begin = 0
    while begin < count - 1:
        end, slope, height = _longest_line(floor, ceiling, begin)
        of_lines[begin, 0], of_lines[end, 1] = height, height + slope * (end - begin)
        begin = end
    return np.concatenate([grid, of_lines], axis=1)


def _longest_line(floor: Reals, ceiling: Reals, begin: int) -> tuple[int, float, float]:
    """Return the last cell that a straight line from cell ``begin`` reaches in the tube, its slope, where it begins."""
    fits, beyond = begin + 1, len(floor)
    found = _line(floor, ceiling, begin, fits)
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        line = _line(floor, ceiling, begin, middle)
        if line is None:
            beyond = middle
        else:
            fits, found = middle, line
    assert found is not None, "two cells have a line"
    return (fits, *found)


def _line(floor: Reals, ceiling: Reals, begin: int, end: int) -> tuple[float, float] | None:
    """Return slope and first height of a line through the tube from one cell to another, in the middle; or None."""
    low, high = floor[begin : end + 1], ceiling[begin : end + 1]
    cells = np.arange(end + 1 - begin)
    distance = cells[:, None] - cells
    after = distance > 0
    least = float(np.max((low[:, None] - high)[after] / distance[after]))
    most = float(np.min((high[:, None] - low)[after] / distance[after]))
    if least > most:
        return None
    slope = _between(least, most)
    return slope, _between(float((low - slope * cells).max()), float((high - slope * cells).min()))


def _between(low: float, high: float) -> float:
    """Return a number in the middle, or the end that there is."""
    if math.isinf(low) or math.isinf(high):
        return next((end for end in (low, high) if not math.isinf(end)), 0.0)
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class _Piece:
    """From cell ``begin`` to cell ``end``, both counted from the first one: a slope, in units of the last bit."""

    begin: int
    end: int
    slope: int


def _pieces(corners: Sequence[tuple[int, float]], shift: int) -> tuple[int, list[_Piece]]:
    """Return the height at cell 0 and the pieces, in whole numbers; each aims at its corner from where it is."""
    start = now = round(corners[0][1] * (1 << shift))
    pieces = []
    for (begin, _), (end, height) in pairwise(corners):
        slope = round((height * (1 << shift) - now) / (end - begin))
        now += slope * (end - begin)
        pieces.append(_Piece(begin, end, slope))
    return start, pieces


def _summed(polyline: tuple[int, list[_Piece]], low: int, shift: int) -> Epilogue:
    """Return the steps that sum the pieces, for cells from ``low`` on; the first and the last one go straight on."""
    start, pieces = polyline
    sloped = [piece for piece in pieces if piece.slope]
    if not sloped:
        return (Clip(0, 0), *_plus(start), ShiftRight(shift))
    total: tuple[Step, ...] = ()
    for piece in sloped:
        begin = WORD[0] if piece is pieces[0] else low + piece.begin
        end = WORD[1] if piece is pieces[-1] else low + piece.end
        term: tuple[Step, ...] = (Clip(begin, end), Multiply(piece.slope))
        if (begin, end) == WORD:
            term = term[1:]
        total = (Fork(Joint.ADD, total, term),) if total else term
    constant = start - sum(piece.slope * (low + piece.begin) for piece in sloped)
    wrapped = (constant - WORD[0]) % (1 << 32) + WORD[0]
    return (*total, *_plus(wrapped), ShiftRight(shift))


def _plus(constant: int) -> tuple[Step, ...]:
    return (Add(constant),) if constant else ()
