"""Exact sets of scratchpad elements: what two loops over micro-ops touch, without stepping through the loops.

A set is a bit mask while it is built (doubling makes a loop of n steps log n shifts) and a slice or an array of indices
when it is used. Tests: ``tests/isa/test_index_sets.py``.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["Elements", "affine_elements", "count_of", "spans_text"]

Elements = slice | npt.NDArray[np.int64]
"""Indices of elements, ascending and each once: a contiguous slice, or an array."""


def affine_elements(bases: Iterable[int], loops: Sequence[tuple[int, int]]) -> Elements:
    """Return the indices ``base + i * factor + ...`` for all bases and, for each loop (steps, factor), all i < steps.

    Steps are at least 1; the largest index should be small (a scratchpad's), since a bit is kept for each.
    """
    mask = 0
    for base in bases:
        mask |= 1 << base
    for steps, factor in loops:
        covered = 1 if factor else steps
        while covered < steps:
            more = min(covered, steps - covered)
            mask |= mask << more * factor
            covered += more
    return _from_mask(mask)


def _from_mask(mask: int) -> Elements:
    end = mask.bit_length()
    begin = (mask & -mask).bit_length() - 1 if mask else 0
    if mask == (1 << end) - (1 << begin):
        return slice(begin, end)
    bits = np.frombuffer(mask.to_bytes(-(-end // 8), "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.int64)


def count_of(elements: Elements) -> int:
    """Return how many elements there are."""
    return elements.stop - elements.start if isinstance(elements, slice) else len(elements)


def spans_text(indices: Sequence[int] | npt.NDArray[np.int64]) -> str:
    """Return ascending ``indices`` in words: ``elements 3 to 7``, ``element 5``, ``elements 0 to 3 and 12 more``."""
    numbers = np.asarray(indices)
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    run = int(breaks[0]) + 1 if breaks.size else len(numbers)
    first, last, rest = int(numbers[0]), int(numbers[run - 1]), len(numbers) - run
    text = f"element {first}" if first == last else f"elements {first} to {last}"
    return f"{text} and {rest} more" if rest else text
