"""The search for tiles: the cheapest of an operator's candidates that fits.

Tests: tests/vta/topi/tiling/test_search.py.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from isa.config import VTAConfig
from isa.progress import counted
from vta.topi.tiling.cost import Bus, Work, cycles
from vta.topi.tiling.footprint import Footprint, TilingError
from vta.topi.tiling.rounds import followed_cycles

__all__ = ["Candidate", "cheapest", "copies_in_turn", "divisors", "even_parts", "turning_loop"]

_FINALISTS = 8
"""Choices whose instructions are followed."""

T = TypeVar("T")
Loop = TypeVar("Loop")


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

    Those that take the fewest by the quick model are followed by the better one. With ``tolerance``, it is those with
    the fewest steps among all of these that take at most that part more: they need fewer instructions. If none fits,
    ``TilingError`` says about ``what`` which buffer is too small for the candidate that comes closest.
    """
    port, capacity = bus or Bus(), Footprint.capacity(config)
    fitting: list[tuple[int, Candidate[T]]] = []
    smallest: Footprint | None = None
    for candidate in counted(candidates, f"searching tiles for {what}", unit="candidates"):
        if candidate.footprint.fits(capacity):
            fitting.append((cycles(candidate.work, port), candidate))
        elif not fitting and (smallest is None or _over(candidate.footprint, capacity) < _over(smallest, capacity)):
            smallest = candidate.footprint
    if not fitting:
        reason = "there are no candidates" if smallest is None else "; ".join(smallest.excess(config))
        raise TilingError(f"{what}: no tiles fit this configuration: even in the smallest ones {reason}")
    finalists = sorted(fitting, key=lambda entry: entry[0])[:_FINALISTS]
    followed = [(followed_cycles(candidate.work, port), candidate) for _, candidate in finalists]
    least = min(cost for cost, _ in followed)
    near = [entry for entry in followed if entry[0] <= least * (1 + tolerance)]
    if not tolerance:
        return near[0][1].tiles
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


def turning_loop(trips: Mapping[Loop, int], copies: int) -> Loop | None:
    """Return the loop whose iterations use ``copies`` of their memory in turn: the first one that ``copies`` divides.

    If there is none, it is the longest loop, and its last round is incomplete; None if it has not even one whole round.
    """
    for loop, count in trips.items():
        if count % copies == 0:
            return loop
    longest = max(trips, key=lambda loop: trips[loop])
    return longest if trips[longest] > copies else None


@functools.lru_cache(maxsize=4096)
def copies_in_turn(trips: tuple[int, ...], choices: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ``choices`` of copies that are worth pricing for loops of so many ``trips``.

    They divide one of them. Where only 1 does, as for prime numbers, an incomplete last round is better than no copies,
    if it has two iterations or more: a single one would leave its copy no time to be filled for the next round.
    """
    dividing = tuple(copies for copies in choices if any(count % copies == 0 for count in trips))
    if any(copies > 1 for copies in dividing):
        return dividing
    return tuple(copies for copies in choices if copies == 1 or (copies < max(trips) and max(trips) % copies > 1))
