"""What there is to choose for a definition with sums of products, and which choices the analytic model likes.

Tests: tests/vta/auto_scheduler/test_nest_search.py.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from vta.auto_scheduler.nest import Nest
from vta.auto_scheduler.nest_tiles import NestTiles, Steps
from vta.auto_scheduler.nest_work import Layout
from vta.auto_scheduler.products import extent_of
from vta.autotvm.library.choices import Choices
from vta.autotvm.space import ConfigEntity, ConfigSpace
from vta.autotvm.space.config_space import value_of
from vta.topi.core.memory_port import bus_of
from vta.topi.tiling import Footprint, Price, TilingError, copies_in_turn, priced
from vta.topi.tiling.cost import Turns

__all__ = ["nest_choices", "ranked"]

_COPIES = (1, 2, 3, 4, 5, 7)
_SMALLEST = 64
"""The smallest tile that the search looks at is this part of the accumulator, if there are larger ones."""

_FINALISTS = 48
"""Choices whose instructions are followed."""


def nest_choices(nest: Nest) -> Choices[NestTiles]:
    """Return the knobs of ``nest``, what they mean, which are valid, and what they take."""
    products = nest.parts.products
    steps = [nest.step_choices(product) for product in products]

    def knobs(space: ConfigSpace) -> None:
        for place in range(len(nest.parts.outer)):
            space.define_knob(f"tile_{place}", nest.sides(place))
        for number, choices in enumerate(steps):
            space.define_knob(f"step_{number}", [_text(each) for each in reversed(choices)])
            space.define_knob(f"rotate_steps_{number}", _COPIES)
        space.define_knob("rotate_tiles", _COPIES)
        space.define_knob("resident", [_text(each) for each in ((), *nest.residents)])
        space.define_knob("shared", (0, 1) if nest.has_shared else (0,))

    def tiles(config: ConfigEntity) -> NestTiles:
        def number(name: str) -> int:
            value = value_of(config, name)
            assert isinstance(value, int)
            return value

        count = range(len(products))
        return NestTiles(
            sides=tuple(number(f"tile_{place}") for place in range(len(nest.parts.outer))),
            steps=tuple(_numbers(value_of(config, f"step_{each}")) for each in count),
            rotate_tiles=number("rotate_tiles"),
            rotate_steps=tuple(number(f"rotate_steps_{each}") for each in count),
            resident=_numbers(value_of(config, "resident")),
            shared=bool(number("shared")),
        )

    return Choices(knobs, tiles, lambda chosen: _allows(nest, chosen), lambda chosen: _price(nest, chosen))


def knob_values(tiles: NestTiles) -> dict[str, int | str]:
    """Return the values of the knobs that mean ``tiles``."""
    values: dict[str, int | str] = {f"tile_{place}": side for place, side in enumerate(tiles.sides)}
    for number, (steps, copies) in enumerate(zip(tiles.steps, tiles.rotate_steps, strict=True)):
        values[f"step_{number}"] = _text(steps)
        values[f"rotate_steps_{number}"] = copies
    values["rotate_tiles"] = tiles.rotate_tiles
    values["resident"] = _text(tiles.resident)
    values["shared"] = int(tiles.shared)
    return values


def _text(numbers: Steps) -> str:
    return "x".join(map(str, numbers)) or "none"


def _numbers(value: object) -> Steps:
    assert isinstance(value, str)
    return () if value == "none" else tuple(map(int, value.split("x")))


def _allows(nest: Nest, tiles: NestTiles) -> bool:
    copies = (tiles.rotate_tiles, tiles.rotate_steps)
    fits = Layout(nest, tiles).footprint(*copies).fits(Footprint.capacity(nest.env.config))
    return fits and copies in set(_copies(nest, tiles))


def _price(nest: Nest, tiles: NestTiles) -> Price:
    if not nest.parts.products:
        return Layout(nest, tiles).alone(tiles.rotate_tiles)
    work = Layout(nest, _plain(tiles)).work()
    return priced(work.turned(tiles.rotate_tiles, _fewest(nest, tiles, tiles.rotate_steps)), bus_of(nest.env))


def _plain(tiles: NestTiles) -> NestTiles:
    return replace(tiles, rotate_tiles=1, rotate_steps=(1,) * len(tiles.steps))


def _fewest(nest: Nest, tiles: NestTiles, copies: tuple[int, ...]) -> int:
    """Return the copies of the product that has the fewest of those that have several steps: the others wait for it."""
    return min((own for number, own in enumerate(copies) if prod(nest.step_trips(number, tiles)) > 1), default=1)


def _copies(nest: Nest, tiles: NestTiles) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield numbers of copies that go with ``tiles``: of tiles, and of the steps of each product."""
    trips = nest.trips(tiles)
    around = copies_in_turn(tuple(trips[place] for place in nest.turning(tiles)), _COPIES)
    of_steps = [copies_in_turn(nest.step_trips(number, tiles) or (1,), _COPIES) for number in range(len(tiles.steps))]
    for copies in around:
        for steps in itertools.product(*of_steps):
            yield copies, steps


def ranked(nest: Nest, what: str) -> list[NestTiles]:
    """Return the choices that the model likes best, the best first; raises ``TilingError`` about ``what`` if none fits.

    A quick formula prices all of them, and the first instructions of the best ones are followed.
    """
    capacity = Footprint.capacity(nest.env.config)
    best: list[tuple[int, int, NestTiles]] = []
    number = itertools.count()
    for plain in _plain_tiles(nest):
        layout = Layout(nest, plain)
        if not layout.footprint(1, plain.rotate_steps).fits(capacity):
            continue
        if not nest.parts.products:
            found = [(replace(plain, rotate_tiles=copies), copies) for copies, _ in _copies(nest, plain)]
            best += [
                (_price(nest, tiles).cycles, next(number), tiles)
                for tiles, copies in found
                if Layout(nest, tiles).footprint(copies, ()).fits(capacity)
            ]
            continue
        turns = Turns(layout.work(), layout.bus)
        limit = best[-1][0] if len(best) == _FINALISTS else None
        if limit is not None and turns.least >= limit:
            continue
        costs = [
            (turns.cycles(copies, _fewest(nest, plain, steps)), next(number), (copies, steps))
            for copies, steps in _copies(nest, plain)
            if layout.footprint(copies, steps).fits(capacity)
        ]
        for cost, at, (copies, steps) in sorted(costs)[:2]:
            best.append((cost, at, replace(plain, rotate_tiles=copies, rotate_steps=steps)))
        best.sort(key=lambda each: each[:2])
        del best[_FINALISTS:]
    best = sorted(best, key=lambda each: each[:2])[:_FINALISTS]
    if not best:
        smallest = NestTiles(
            (1,) * len(nest.parts.outer),
            tuple(nest.step_choices(product)[-1] for product in nest.parts.products),
            1,
            (1,) * len(nest.parts.products),
        )
        excess = Layout(nest, smallest).footprint(1, smallest.rotate_steps).excess(nest.env.config)
        raise TilingError(f"{what}: no tiles fit this configuration: even in the smallest ones {'; '.join(excess)}")
    return [tiles for _, _, tiles in sorted((_price(nest, tiles).cycles, at, tiles) for _, at, tiles in best)]


def _plain_tiles(nest: Nest) -> Iterator[NestTiles]:
    """Yield tiles without copies: large ones first, no small ones if there are larger ones that fit."""
    products = nest.parts.products
    depth = nest.env.config.acc_depth
    sides = sorted(
        itertools.product(*(nest.sides(place) for place in range(len(nest.parts.outer)))),
        key=lambda each: (-prod(each), each),
    )
    steps = _steps(nest)
    residents = ((), *nest.residents)
    sharing = (False, True) if nest.has_shared else (False,)
    for each in sides:
        if prod(each) * len(products) > depth or (
            prod(each) * _SMALLEST < depth and prod(each) * 2 < prod(nest.parts.outer)
        ):
            continue
        for choice in steps:
            for resident in residents:
                for shared in sharing:
                    yield NestTiles(each, choice, 1, (1,) * len(products), resident, shared)


def _steps(nest: Nest) -> list[tuple[Steps, ...]]:
    """Return how the sums of all products are cut: those with equal sums in the same way."""
    groups: dict[tuple[int, ...], list[Steps]] = {}
    for product in nest.parts.products:
        groups.setdefault(tuple(map(extent_of, product.sums)), nest.step_choices(product))
    keys = list(groups)
    found = []
    for chosen in itertools.product(*groups.values()):
        of = dict(zip(keys, chosen, strict=True))
        found.append(tuple(of[tuple(map(extent_of, product.sums))] for product in nest.parts.products))
    return found
