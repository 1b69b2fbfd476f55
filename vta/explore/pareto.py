"""Which outcomes nothing beats in everything at once. Tests: tests/vta/explore/test_pareto.py."""

from collections.abc import Sequence

__all__ = ["by_rank", "front"]


def front(costs: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the places of the costs that no other is below in one and above in none, in their order."""
    return [place for place, cost in enumerate(costs) if not any(_beats(other, cost) for other in costs)]


def by_rank(costs: Sequence[tuple[float, ...]]) -> list[int]:
    """Return all places: the front first, then the front of what is left, and so on; each by its first cost."""
    left, ranked = list(range(len(costs))), []
    while left:
        places = front([costs[place] for place in left])
        chosen = sorted((left[place] for place in places), key=lambda place: costs[place])
        ranked += chosen
        left = [place for place in left if place not in chosen]
    return ranked


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
