"""The search for tiles: the cheapest of an operator's candidates that fits.

May import ``isa.config`` and its neighbours. Tests: tests/vta/topi/test_search.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from isa.config import VTAConfig
from vta.topi.tiling.cost import Bus, Work, cycles
from vta.topi.tiling.footprint import Footprint, TilingError

__all__ = ["Candidate", "cheapest", "divisors", "even_parts"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Candidate(Generic[T]):
    """A choice, what it takes and what it does."""

    tiles: T
    footprint: Footprint
    work: Work


def cheapest(candidates: Iterable[Candidate[T]], config: VTAConfig, what: str, bus: Bus | None = None) -> T:
    """Return the tiles that take the fewest cycles; the first of several that take as many.

    If none fits, ``TilingError`` says about ``what`` which buffer is too small for the candidate that comes closest.
    """
    port, capacity = bus or Bus(), Footprint.capacity(config)
    best: tuple[int, T] | None = None
    smallest: Footprint | None = None
    for candidate in candidates:
        if not candidate.footprint.fits(capacity):
            if best is None and (smallest is None or _over(candidate.footprint, capacity) < _over(smallest, capacity)):
                smallest = candidate.footprint
            continue
        cost = cycles(candidate.work, port)
        if best is None or cost < best[0]:
            best = cost, candidate.tiles
    if best is not None:
        return best[1]
    reason = "there are no candidates" if smallest is None else "; ".join(smallest.excess(config))
    raise TilingError(f"{what}: no tiles fit this configuration: even in the smallest ones {reason}")


def _over(need: Footprint, capacity: Footprint) -> float:
    """Return by which factor the worst buffer is too small."""
    pairs = (
        (need.inp, capacity.inp),
        (need.wgt, capacity.wgt),
        (need.acc, capacity.acc),
        (need.uops, capacity.uops),
    )
    return max(wanted / there for wanted, there in pairs)


def divisors(number: int) -> list[int]:
    """Return the divisors of ``number``, from the smallest to the largest."""
    return [d for d in range(1, number + 1) if number % d == 0]


def even_parts(extent: int) -> list[int]:
    """Return the sizes of parts into which ``extent`` can be cut evenly, the largest first: the last may be smaller."""
    return sorted({-(-extent // parts) for parts in range(1, extent + 1)}, reverse=True)
