"""Shifts to the nearest number, ties to the even one, in place: four or five operations of the ALU, and no copy.

Of the numbers between two even results, those of the even one are ``2**bits + 1``, with both ties, and those of the odd
one ``2**bits - 1``. A product and a shift make one number of two neighbours that have the same even result, so that
both kinds of results have the same share, ``2**bits - 1/2``; what is left is another product and shift::

    y = t * (2**(bits + 1) - 1) >> bits + 1
    result = (y * factor + addend) >> shift

``factor`` is ``2**(shift + 1) / (2**(bits + 1) - 1)``, as nearly as 32 bits allow. Both steps are monotonous, so they
are right for every t if they are right on both sides of where results begin.
Tests: tests/vta/topi/core/test_even_shift.py.
"""

import functools
from dataclasses import dataclass

import numpy as np

from vta.topi.core.epilogue_steps import WORD

__all__ = ["EvenShift", "even_shift"]


@dataclass(frozen=True, slots=True)
class EvenShift:
    """``(((t << bits + 1) - t >> bits + 1) * factor + addend) >> shift``."""

    bits: int
    factor: int
    addend: int
    shift: int

    @property
    def lead(self) -> int:
        """What t is multiplied by first."""
        return (1 << (self.bits + 1)) - 1


@functools.lru_cache(maxsize=256)
def even_shift(bits: int, low: int, high: int, zero_point: int = 0) -> EvenShift | None:
    """Return what shifts by ``bits``, right for results from ``low`` to ``high``; ``zero_point`` is added to these.

    Beyond, results are beyond as well. None where 32 bits are not enough: of 11 bits and more, or for results of
    more than 8 bits.
    """
    results = np.arange(low, high + 2, dtype=np.int64)
    first = (results << bits) - (1 << bits >> 1) + (results & 1)
    lead = (1 << (bits + 1)) - 1
    begin, before = (numbers * lead >> (bits + 1) for numbers in (first, first - 1))
    if not _is_word(int(before.min()) * (lead + 1), int(begin.max()) * (lead + 1)):
        return None
    for shift in range(bits, 31):
        factor = ((1 << (shift + 2)) + lead) // (2 * lead)
        least = int(((results << shift) - begin * factor).max())
        most = int((((results - 1) << shift) + (1 << shift) - 1 - before * factor).min())
        if least <= most:
            addend = (least + most) // 2 + (zero_point << shift)
            ends = (int(before.min()) * factor + addend, int(begin.max()) * factor + addend)
            return EvenShift(bits, factor, addend, shift) if _is_word(*ends) and _is_word(addend, addend) else None
    return None


def _is_word(low: int, high: int) -> bool:
    return WORD[0] <= low and high <= WORD[1]
