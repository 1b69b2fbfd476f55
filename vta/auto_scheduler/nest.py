"""A definition as its loops see it: loops, operands and where these are loaded.

Tests: tests/vta/auto_scheduler/test_nest.py.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from vta import te
from vta.auto_scheduler.nest_tiles import NestTiles, Steps
from vta.auto_scheduler.parts import Parts
from vta.auto_scheduler.products import Product, extent_of
from vta.auto_scheduler.regions import Box, Regions
from vta.environment import Environment
from vta.tir.expr import Var
from vta.topi.tiling import divisors, even_parts

__all__ = ["Kernel", "Level", "Load", "Nest"]

_LONGEST_KERNEL = 512
"""Micro-ops of a kernel that are looked for; binding and loading take a cycle or half of one for each."""

_BANKS = 4
"""Neighbours of a run that lie in different banks of the accumulator."""


class Level(enum.Enum):
    """The loops inside of which an operand is loaded."""

    STEP = "step"
    TILE = "tile"
    RESIDENT = "resident"


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """An operand of GEMM that is loaded at ``level`` for some ``readers``, numbers of products."""

    tensor: te.Tensor
    is_data: bool
    level: Level
    readers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """The loops of a step: ``outer`` are places in the product's loops, the longest first, ``run`` the innermost.

    ``run`` is the part of loop ``along`` that neighbouring micro-ops go through; the rest of it is among ``outer``.
    ``uops`` are what the two longest loops leave.
    """

    along: int
    run: int
    outer: tuple[int, ...]
    taps: tuple[int, ...]
    uops: int


class Nest:
    """The loops of ``parts`` on ``env``."""

    def __init__(self, parts: Parts, env: Environment) -> None:
        self.parts = parts
        self.env = env
        self.regions = Regions(parts.output)
        self._cell = (env.BATCH, env.BLOCK_OUT)
        self._boxes: dict[tuple[tuple[int, ...], tuple[Steps, ...]], dict[te.Tensor, Box]] = {}

    @cached_property
    def dimensions(self) -> Mapping[te.Tensor, frozenset[int]]:
        """Of each tensor the outer dimensions of the output that it depends on and that have more than one place."""
        outer = {place for place, extent in enumerate(self.parts.outer) if extent > 1}
        return {tensor: found & outer for tensor, found in self.regions.dimensions().items()}

    @cached_property
    def residents(self) -> tuple[tuple[int, ...], ...]:
        """What ``resident`` may be: the dimensions of an operand that does not depend on all of them."""
        outer = [place for place, extent in enumerate(self.parts.outer) if extent > 1]
        found = dict.fromkeys(
            tuple(sorted(self.dimensions[tensor])) for tensor in self._operands if self.dimensions[tensor]
        )
        return tuple(places for places in found if len(places) < len(outer))

    @cached_property
    def _operands(self) -> dict[te.Tensor, tuple[int, ...]]:
        """The operands of all products, with the numbers of those that read each."""
        found: dict[te.Tensor, tuple[int, ...]] = {}
        for number, product in enumerate(self.parts.products):
            for tensor in (product.data, product.weights):
                found[tensor] = (*found.get(tensor, ()), number)
        return found

    @cached_property
    def has_shared(self) -> bool:
        """Whether several products read one operand."""
        return any(len(set(readers)) > 1 for readers in self._operands.values())

    def loads(self, tiles: NestTiles) -> list[Load]:
        """Return what is loaded where."""
        found: list[Load] = []
        data = {product.data for product in self.parts.products}
        for tensor, readers in self._operands.items():
            is_data = tensor in data
            if tiles.resident and self.dimensions[tensor] <= set(tiles.resident):
                found.append(Load(tensor, is_data, Level.RESIDENT, readers))
            elif tiles.shared and len(readers) > 1:
                found.append(Load(tensor, is_data, Level.TILE, readers))
            else:
                found.extend(Load(tensor, is_data, self._level(reader), (reader,)) for reader in readers)
        return found

    def _level(self, product: int) -> Level:
        """Return where a product loads its own operands."""
        return Level.STEP if self.parts.products[product].sums else Level.TILE

    def boxes(self, tiles: NestTiles, *, step: bool) -> dict[te.Tensor, Box]:
        """Return how much of each tensor a tile takes, or with ``step`` a step of each product."""
        key = (tiles.sides, tiles.steps if step else ())
        if key not in self._boxes:
            self._boxes[key] = self.regions.boxes((*tiles.sides, *self._cell), self._sums(tiles) if step else None)
        return self._boxes[key]

    def _sums(self, tiles: NestTiles) -> dict[Var, int]:
        return {
            axis.var: size
            for product, steps in zip(self.parts.products, tiles.steps, strict=True)
            for axis, size in zip(product.sums, steps, strict=True)
        }

    def sides(self, place: int) -> list[int]:
        """Return the sizes that tiles may have along an outer dimension of the output, the smallest first.

        GEMM has no incomplete tiles: what it computes must be there.
        """
        extent = self.parts.outer[place]
        return divisors(extent) if self.parts.products else list(reversed(even_parts(extent)))

    @cached_property
    def in_place(self) -> frozenset[te.Tensor]:
        """The reductions whose windows do not overlap, in numbers that nothing else reads: done where these lie."""
        held = {tensor for tensor in self.parts.computed if tensor not in self.parts.direct}
        return frozenset(
            tensor
            for tensor in self.parts.stages
            if (source := self.regions.apart(tensor)) in held
            and sum(source in each.op.input_tensors for each in self.parts.computed) == 1
        )

    def step_choices(self, product: Product) -> list[Steps]:
        """Return how the sums of a product can be cut: whole, or the first ones of them one by one and part of one.

        The first choice is the whole, the last one the smallest step.
        """
        extents = [extent_of(axis) for axis in product.sums]
        found = [tuple(extents)]
        for place, extent in enumerate(extents):
            for part in reversed(divisors(extent)[:-1]):
                found.append((*[1] * place, part, *extents[place + 1 :]))
        return found

    def trips(self, tiles: NestTiles) -> tuple[int, ...]:
        """Return how many tiles there are along each of the output's outer dimensions."""
        return tuple(-(-extent // side) for extent, side in zip(self.parts.outer, tiles.sides, strict=True))

    def step_trips(self, number: int, tiles: NestTiles) -> tuple[int, ...]:
        """Return how many iterations the loops around the steps of a product have."""
        sums = self.parts.products[number].sums
        return tuple(-(-extent_of(axis) // size) for axis, size in zip(sums, tiles.steps[number], strict=True))

    def order(self, tiles: NestTiles) -> list[int]:
        """Return the output's outer dimensions as the loops around tiles go through them, the outermost first."""
        count = len(self.parts.outer)
        natural = [0, 2, 1, 3] if count == 4 else list(range(count))  # channels inside of rows: rows are read once
        if not tiles.resident:
            return natural
        return [*tiles.resident, *(place for place in natural if place not in tiles.resident)]

    def turning(self, tiles: NestTiles) -> list[int]:
        """Return the dimensions whose loops tiles may take turns in, the ones that are tried first in front."""
        return [place for place in reversed(self.order(tiles)) if place not in tiles.resident]

    def kernel(self, number: int, tiles: NestTiles) -> Kernel:
        """Return the loops of a step of a product; places count the product's outer axes, then its sums."""
        product = self.parts.products[number]
        box = self.boxes(tiles, step=False)[product.tensor][:-2]
        return _kernel(box, tiles.steps[number])


def _kernel(box: Box, steps: Steps) -> Kernel:
    """Return the order of the loops over a ``box`` of places and ``steps`` of sums.

    The first sum, over blocks of channels, is a loop among the places; the others are those of a window.
    """
    places = range(len(box))
    wide = [place for place in places if box[place] >= _BANKS]
    along = wide[-1] if wide else max(places, key=lambda place: (box[place], place))
    window = [len(box) + place for place in range(1, len(steps))]
    taps = prod(steps[1:])
    run = max((d for d in divisors(box[along]) if d * taps <= _LONGEST_KERNEL), default=1)
    extents = {place: box[place] for place in places if place != along}
    extents[along] = box[along] // run
    if steps:
        extents[len(box)] = steps[0]
    outer = sorted(extents, key=lambda place: -extents[place])
    uops = prod(extents[place] for place in outer[2:]) * taps * run
    return Kernel(along, run, tuple(outer), tuple(window), uops)
