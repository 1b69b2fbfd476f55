"""The choices of a schedule for a definition with sums of products. Tests: tests/vta/auto_scheduler/test_nest.py."""

from dataclasses import dataclass

__all__ = ["NestTiles", "Steps"]

Steps = tuple[int, ...]
"""How many iterations of each of a product's outer sums one step has."""


@dataclass(frozen=True, slots=True)
class NestTiles:
    """How a result is cut into tiles, and the sums of each product into steps.

    A tile has ``sides`` of the output's outer dimensions, each of which divides its dimension. A product's operands are
    loaded in each of its ``steps``, but for those of which all dimensions are in ``resident``, places of the output's
    dimensions: these are loaded where only other loops are inside, and stay for all tiles of these. What several
    products read is loaded once for a tile, if ``shared``.

    Tiles use ``rotate_tiles`` copies of their memory in turn, the steps of product i ``rotate_steps[i]``.
    """

    sides: tuple[int, ...]
    steps: tuple[Steps, ...]
    rotate_tiles: int = 1
    rotate_steps: tuple[int, ...] = ()
    resident: tuple[int, ...] = ()
    shared: bool = False
