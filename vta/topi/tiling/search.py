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


def cheapest(
    candidates: Iterable[Candidate[T]], config: VTAConfig, what: str, bus: Bus | None = None, *, tolerance: float = 0.0
) -> T:
    """Return the tiles that take the fewest cycles; the first of several that take as many.

    With ``tolerance``, those with the fewest steps among all that take at most that part more: they need fewer
    instructions. If none fits, ``TilingError`` says about ``what`` which buffer is too small for the candidate that
    comes closest.
    """
    port, capacity = bus or Bus(), Footprint.capacity(config)
    fitting: list[tuple[int, Candidate[T]]] = []
    smallest: Footprint | None = None
    for candidate in candidates:
        if candidate.footprint.fits(capacity):
            fitting.append((cycles(candidate.work, port), candidate))
        elif not fitting and (smallest is None or _over(candidate.footprint, capacity) < _over(smallest, capacity)):
            smallest = candidate.footprint
    if not fitting:
        reason = "there are no candidates" if smallest is None else "; ".join(smallest.excess(config))
        raise TilingError(f"{what}: no tiles fit this configuration: even in the smallest ones {reason}")
    least = min(cost for cost, _ in fitting)
    if not tolerance:
        return next(candidate.tiles for cost, candidate in fitting if cost == least)
    near = [entry for entry in fitting if entry[0] <= least * (1 + tolerance)]
    return min(near, key=lambda entry: (entry[1].work.tiles * entry[1].work.steps, entry[0]))[1].tiles


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
