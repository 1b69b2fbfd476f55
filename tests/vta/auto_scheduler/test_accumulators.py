"""Accumulators and operations of tiles, beside what the compiler makes of them."""

from tests.support.tuning import definitions as d
from vta import te, topi
from vta.auto_scheduler.accumulators import Taken, taken
from vta.auto_scheduler.nest import Nest
from vta.auto_scheduler.nest_tiles import NestTiles
from vta.auto_scheduler.nest_work import Layout
from vta.auto_scheduler.parts import parts_of
from vta.environment import get_env


def of(output: te.Tensor, *sides: int) -> Taken:
    env = get_env()
    nest = Nest(parts_of(output, env), env)
    steps = tuple(nest.step_choices(product)[0] for product in nest.parts.products)
    return Layout(nest, NestTiles(sides, steps, 1, (1,) * len(steps))).taken


def test_stages_write_over_what_nobody_reads_any_more() -> None:
    place = 3 * 4
    assert of(d.convolution(2, 6, 2)[-1], 1, 2, 2, 3) == Taken(place + 2, 4 * place, 4)  # and two of the bias
    assert of(d.gated(1, 4, 4, 2)[-1], 1, 1, 3, 4) == Taken(2 * place, 8 * place, 8)


def test_what_is_read_again_is_copied_first() -> None:
    data = te.placeholder((1, 1, 3, 4, 1, 16), "int32", "data")
    scaled = topi.right_shift(data, 2)
    output = topi.cast(topi.add(scaled, data), "int8")
    assert of(output, 1, 1, 3, 4) == Taken(2 * 12, (2 + 1 + 1) * 12, 2)


def test_windows_are_reduced_in_place_or_begin_with_something() -> None:
    place = 2 * 2
    assert of(d.pool_with_residual(1, 4)[-1], 1, 1, 2, 2) == Taken((4 + 1) * place, (3 + 3) * place, 4)
    data = te.placeholder((1, 1, 5, 5, 1, 16), "int32", "data")
    pool = topi.nn.pool2d(data, (3, 3), (2, 2), (1, 1), (0,) * 4, "max", layout="NCHW1n16c")
    assert of(topi.cast(pool, "int8"), 1, 1, 2, 2) == Taken(25 + place, (9 + 2) * place, 1)


def test_products_on_the_alu_take_a_copy_for_each() -> None:
    data, weights = (te.placeholder((4, 1, 16), "int32", name) for name in ("data", "weights"))
    k = te.reduce_axis((0, 4), "k")
    summed = te.compute((1, 1, 16), lambda _, b, o: te.sum(data(k, b, o) + weights(k, b, o), axis=k), name="sum")
    assert of(topi.cast(summed, "int8"), 1).operations == 4 * (1 + 1 + 2) + 1
    assert taken((), frozenset(), summed, {}) == Taken(0, 0, 0)
