"""Random choices of a schedule, which its trace remembers: ``sample_categorical``, ``sample_perfect_tile``.

Tests: tests/vta/tir/schedule/test_sampling.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from vta.tir.expr import IntImm
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.stmt import For

__all__ = ["chosen", "perfect_tile", "place_among"]


def chosen(rng: Random, candidates: Sequence[int], probs: Sequence[float], decision: object) -> int:
    """Return the place of the candidate that was decided for, or of a random one."""
    if len(candidates) != len(probs) or not candidates:
        raise BlockScheduleError(f"sample_categorical: {len(candidates)} candidates have {len(probs)} probabilities")
    if any(not isinstance(p, int | float) or not p >= 0 for p in probs) or abs(sum(probs) - 1) > 1e-6:
        raise BlockScheduleError(f"sample_categorical: probabilities are at least 0 and sum to 1, not {list(probs)}")
    if decision is None:
        return rng.choices(range(len(candidates)), weights=list(probs))[0]
    if not isinstance(decision, int) or not 0 <= decision < len(candidates):
        raise BlockScheduleError(f"sample_categorical: {decision!r} is no place among {len(candidates)} candidates")
    return decision


def place_among(rng: Random, loops: Sequence[For], block: str, decision: int | None) -> int:
    """Return the place of the loop that was decided for, or of a random one."""
    if not loops:
        raise BlockScheduleError(f"sample_compute_location: block {block!r} can be computed in no loop that reads it")
    if decision is None:
        return rng.randrange(len(loops))
    if not isinstance(decision, int) or not 0 <= decision < len(loops):
        raise BlockScheduleError(f"sample_compute_location: {decision!r} is no place among {len(loops)} loops")
    return decision


def perfect_tile(rng: Random, loop: For, n: int, most: int, decision: Sequence[int] | None) -> list[int]:
    """Return ``n`` factors whose product is the loop's iterations, the last at most ``most``: random, or as decided."""
    name = loop.loop_var.name
    if not isinstance(loop.extent, IntImm):
        raise BlockScheduleError(f"sample_perfect_tile: loop {name!r} has {loop.extent} iterations, no constant number")
    if not isinstance(n, int) or n < 1 or not isinstance(most, int) or most < 1:
        raise BlockScheduleError(f"sample_perfect_tile: loop {name!r}: expected one factor or more, got n={n}")
    extent = loop.extent.value
    if decision is not None:
        return _checked(extent, n, decision, name)
    last = rng.choice([f for f in _divisors(extent) if f <= most])
    rest, factors = extent // last, [last]
    for _ in range(n - 2):
        factor = rng.choice(_divisors(rest))
        rest //= factor
        factors.insert(0, factor)
    return [extent] if n == 1 else [rest, *factors]


def _checked(extent: int, n: int, decision: Sequence[int], name: str) -> list[int]:
    """Return factors that were decided for; where they were for another extent, the first one fits the rest."""
    factors = [int(factor) for factor in decision]
    inner = 1
    for factor in factors[1:]:
        inner *= factor
    if len(factors) != n or inner < 1 or extent % inner:
        raise BlockScheduleError(
            f"sample_perfect_tile: loop {name!r} has {extent} iterations, which {list(decision)} does not divide into "
            f"{n} factors"
        )
    return [extent // inner, *factors[1:]]


def _divisors(number: int) -> list[int]:
    return [factor for factor in range(1, number + 1) if number % factor == 0]
