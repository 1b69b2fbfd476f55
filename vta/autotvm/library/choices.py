"""The knobs of the library's schedules: what there is to choose, which tiles a choice means, and what it would take.

A choice is valid if its tiles fit the scratchpads, with copies and residents that the library's searches would look at.
Tests: tests/vta/autotvm/library/test_choices.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from isa.printable import short
from vta.autotvm.errors import TuningError
from vta.autotvm.made import Made
from vta.autotvm.space import ConfigEntity, ConfigSpace, Entity, OtherOptionEntity, SpaceError, SplitEntity
from vta.autotvm.space.config_space import value_of
from vta.autotvm.space.entities import Option
from vta.environment import Environment
from vta.topi.alu.alu_operator import AluOperator
from vta.topi.alu.alu_schedule import MOST_THREADS, AluTiles
from vta.topi.alu.alu_tiles import AluProblem
from vta.topi.alu.resize import Upsample2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.conv.conv2d_tiling import conv_allows, copies_of_rows, longest_run
from vta.topi.conv.conv2d_work import conv_price
from vta.topi.core.operator import Operator
from vta.topi.core.resident import Resident
from vta.topi.matmul.batch_matmul import Matmul
from vta.topi.matmul.dense import Dense, DenseTemplate
from vta.topi.matmul.matmul_schedule import MatmulTiles, Product
from vta.topi.tiling import Price, divisors, even_parts
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose
from vta.topi.transposed.conv2d_transpose_schedule import TransposeTiles
from vta.topi.transposed.conv2d_transpose_tiling import TransposeSearch

__all__ = [
    "Choices",
    "alu_choices",
    "convolution_choices",
    "define",
    "has_choices",
    "index_of_tiles",
    "make",
    "model_of",
    "tiles_of",
]

T = TypeVar("T")

_FIELDS_OF_PRODUCTS = {"tile_b": "rows", "tile_ci": "inner", "tile_co": "columns"}
"""TVM's names of knobs, and the fields of ``MatmulTiles`` that they are."""

_RESIDENTS = tuple(resident.value for resident in Resident)


@dataclass(frozen=True, slots=True)
class Choices(Generic[T]):
    """What there is to choose of one operator: ``knobs`` defines it, ``tiles`` says what a choice means.

    ``allows`` says whether tiles can be, ``price`` what they take.
    """

    knobs: Callable[[ConfigSpace], None]
    tiles: Callable[[ConfigEntity], T]
    allows: Callable[[T], bool]
    price: Callable[[T], Price]


def has_choices(operator: Operator) -> bool:
    """Return whether there is something to choose of ``operator``."""
    return isinstance(operator, Conv2d | Matmul | Dense | Conv2dTranspose | AluOperator | Upsample2d)


def define(space: ConfigSpace, operator: Operator, env: Environment) -> None:
    """Put the knobs of ``operator`` into ``space``."""
    found = choices_of(operator, env)
    space.add_flop(operator.flops)
    found.knobs(space)
    space.multi_filter(lambda config: found.allows(found.tiles(config)))


def make(config: ConfigEntity, operator: Operator, env: Environment) -> Made:
    """Return the schedule of a choice."""
    scheduled = operator.schedule(env, tiles_of(operator, config, env))
    return scheduled.schedule, scheduled.args


def tiles_of(operator: Operator, config: ConfigEntity, env: Environment) -> object:
    """Return the tiles that ``config`` means."""
    return choices_of(operator, env).tiles(config)


def index_of_tiles(space: ConfigSpace, tiles: object) -> int | None:
    """Return the number of the choice that means ``tiles``, None if there is none that is valid."""
    values: dict[str, Entity] = {}
    fields = _FIELDS_OF_PRODUCTS if isinstance(tiles, MatmulTiles) else {}
    for name, knob in space.knobs.items():
        value = getattr(tiles, fields.get(name, name), None)
        values[name] = SplitEntity((-1, value)) if isinstance(knob[0], SplitEntity) else OtherOptionEntity(value)  # type: ignore[arg-type]
    if isinstance(tiles, ConvTiles) and tiles.rotate_rows and "rotate_rows" not in values:
        return None
    try:
        index = space.index_of(ConfigEntity(None, values))
    except SpaceError:
        return None
    return index if space.is_index_valid(index) else None


def model_of(operator: Operator, env: Environment) -> Callable[[ConfigEntity], Price | None]:
    """Return what says of choices what they take; None of TVM-VTA's, whose virtual threads have no model."""
    found = choices_of(operator, env)

    def price(config: ConfigEntity) -> Price | None:
        tiles = found.tiles(config)
        threads = isinstance(tiles, ConvTiles) and tiles.oc_nthread * tiles.h_nthread > 1
        return None if threads or isinstance(tiles, DenseTemplate) else found.price(tiles)

    return price


def choices_of(operator: Operator, env: Environment) -> "Choices[object]":
    match operator:
        case Conv2d():
            return _erased(convolution_choices(operator.shape_on(env)))
        case Matmul():
            return choices_of(operator.layer, env)
        case Dense():
            return _erased(_of_product(operator.problem(env)))
        case Conv2dTranspose():
            return _erased(_of_transposed(operator.problem(env)))
        case AluOperator() | Upsample2d():
            return _erased(alu_choices(operator.problem(env)))
        case _:
            raise TuningError(f"there is no template for {type(operator).__name__}")


def _erased(choices: "Choices[T]") -> "Choices[object]":
    return choices  # type: ignore[return-value]  # what takes tiles is given what ``tiles`` made


def convolution_choices(shape: ConvShape) -> Choices[ConvTiles]:
    """Return what there is to choose of a convolution."""

    def knobs(space: ConfigSpace) -> None:
        rows, columns = shape.output
        _sides(space, {"tile_h": shape.parts(rows), "tile_w": shape.parts(columns)})
        space.define_split("tile_ci", shape.channels.count)
        space.define_split("tile_co", shape.blocks_out)
        space.define_knob("tile_kh", [0, *divisors(shape.window.kernel[0])[:-1]])
        _copies(space, (1, 2, 3, 4, 5, 7))
        cuts = divisors(shape.window.kernel[0])[:-1]
        if copies := {turns for rows in cuts for turns in copies_of_rows(shape, shape.blocks_out, rows)}:
            space.define_knob("rotate_rows", [0, *sorted(copies)])

    return Choices(
        knobs,
        lambda config: _conv_tiles(shape, config),
        lambda tiles: conv_allows(shape, tiles),
        lambda tiles: conv_price(shape, tiles),
    )


def _conv_tiles(shape: ConvShape, config: ConfigEntity) -> ConvTiles:
    def number(name: str, without: int) -> int:
        return _number(config, name) if name in config else without

    template = ConvTiles(  # TVM-VTA's knobs, and its order of the loops
        tile_h=number("tile_h", 1),
        tile_w=number("tile_w", 1),
        tile_ci=number("tile_ci", 1),
        tile_co=number("tile_co", 1),
        oc_nthread=number("oc_nthread", 1),
        h_nthread=number("h_nthread", 1),
        tile_kh=number("tile_kh", 0),
    )
    if "rotate_tiles" not in config:
        return template
    run = longest_run(shape, template.tile_w, template.tile_kh or shape.window.kernel[0])
    return replace(
        template,
        run=run,
        rotate_tiles=number("rotate_tiles", 1),
        rotate_steps=number("rotate_steps", 1),
        rotate_rows=number("rotate_rows", 0),
        resident=_resident(config),
    )


def _of_product(problem: Product) -> Choices[MatmulTiles | DenseTemplate]:
    def knobs(space: ConfigSpace) -> None:
        _sides(space, {"tile_b": even_parts(problem.rows)})
        space.define_split("tile_ci", problem.inner)
        _sides(space, {"tile_co": even_parts(problem.columns)})
        _copies(space, (1, 2, 3, 4))

    def allows(tiles: MatmulTiles | DenseTemplate) -> bool:
        return isinstance(tiles, MatmulTiles) and problem.allows(tiles)

    def price(tiles: MatmulTiles | DenseTemplate) -> Price:
        assert isinstance(tiles, MatmulTiles)
        return problem.price(tiles)

    return Choices(knobs, _dense_tiles, allows, price)


def _dense_tiles(config: ConfigEntity) -> MatmulTiles | DenseTemplate:
    rows, inner, columns = (_number(config, name) for name in ("tile_b", "tile_ci", "tile_co"))
    if "rotate_tiles" not in config:
        threads = _number(config, "oc_nthread") if "oc_nthread" in config else 1
        return DenseTemplate(rows, inner, columns, threads)
    tiles, steps = (_number(config, name) for name in ("rotate_tiles", "rotate_steps"))
    return MatmulTiles(rows, inner, columns, tiles, steps, _resident(config))


def _of_transposed(problem: TransposeSearch) -> Choices[TransposeTiles]:
    def knobs(space: ConfigSpace) -> None:
        heights, widths = problem.sides
        _sides(space, {"tile_h": sorted(heights, reverse=True), "tile_w": sorted(widths, reverse=True)})
        space.define_split("tile_ci", problem.layer.taken)
        space.define_split("tile_co", problem.layer.blocks_out)
        _copies(space, (1, 2, 3, 4))

    def tiles(config: ConfigEntity) -> TransposeTiles:
        height, width, inner, outer, turns, steps = (
            _number(config, name) for name in ("tile_h", "tile_w", "tile_ci", "tile_co", "rotate_tiles", "rotate_steps")
        )
        run = problem.longest_run(width)
        return TransposeTiles(height, width, inner, outer, run, turns, steps, _resident(config))

    return Choices(knobs, tiles, problem.allows, problem.price)


def alu_choices(problem: AluProblem) -> Choices[AluTiles]:
    """Return what there is to choose of what the ALU does alone."""
    names = ("tile_b", "tile_co", "tile_h", "tile_w")

    def knobs(space: ConfigSpace) -> None:
        _sides(space, {name: even_parts(extent) for name, extent in zip(names, problem.extents, strict=True)})
        space.define_knob("threads", range(1, MOST_THREADS + 1))
        space.define_knob("thread_axis", (1, 2, 0, 3))

    def tiles(config: ConfigEntity) -> AluTiles:
        b, co, h, w = (_number(config, name) for name in names)
        return AluTiles(b, co, h, w, _number(config, "threads"), _number(config, "thread_axis"))

    return Choices(knobs, tiles, problem.allows, problem.price)


def _sides(space: ConfigSpace, sizes: Mapping[str, list[int]]) -> None:
    """Define tiles that need not divide, by their sizes, the largest first; small ones become the first values."""
    for name, parts in sizes.items():
        space.define_split(name, max(parts), "candidate", candidate=[(-1, part) for part in reversed(parts)])


def _copies(space: ConfigSpace, choices: tuple[int, ...]) -> None:
    space.define_knob("rotate_tiles", choices)
    space.define_knob("rotate_steps", choices)
    space.define_knob("resident", _RESIDENTS)


def _resident(config: ConfigEntity) -> Resident:
    value = value_of(config, "resident")
    if value not in _RESIDENTS:
        raise TuningError(f"knob 'resident' is one of {', '.join(_RESIDENTS)}, not {short(value)}")
    return Resident(value)


def _number(config: ConfigEntity, name: str) -> int:
    value: Option = value_of(config, name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TuningError(f"knob {name!r} is a whole number, not {short(value)}")
    return value
