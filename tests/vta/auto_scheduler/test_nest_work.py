"""What tiles take, beside what the library says of its own convolutions."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

import vta
from tests.support.tuning import definitions as d
from vta import te
from vta.auto_scheduler.nest import Nest
from vta.auto_scheduler.nest_schedule import schedule_nest
from vta.auto_scheduler.nest_tiles import NestTiles
from vta.auto_scheduler.nest_work import Layout
from vta.auto_scheduler.parts import parts_of
from vta.passes.storage.tagged_merge import CapacityError
from vta.topi import Conv2d
from vta.topi.conv.conv2d_footprint import conv_footprint
from vta.topi.conv.conv2d_work import conv_work
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.tiling import Footprint


def nest_of(tensors: list[te.Tensor]) -> Nest:
    env = vta.get_env()
    return Nest(parts_of(tensors[-1], env), env)


@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (1, 2)])
def test_a_convolution_takes_what_the_library_says_of_its_tiles(kernel: int, stride: int) -> None:
    env = vta.get_env()
    steps = (ShiftRight(6), Bias(), Clip(-100, 100))
    layer = Conv2d(1, 64, 28, 28, 64, (kernel,) * 2, (stride,) * 2, (kernel // 2,) * 4, epilogue=steps)
    shape = layer.shape_on(env)
    chosen = layer.chosen(env)
    tiles = NestTiles(
        (1, chosen.tile_co, chosen.tile_h, chosen.tile_w),
        ((chosen.tile_ci, chosen.tile_kh or kernel, kernel),),
        resident={"none": (), "data": (2, 3), "kernel": (1,)}[chosen.resident.value],
    )
    layout = Layout(nest_of(d.convolution(4, 28, 4, kernel, stride)), tiles)
    work, wanted = layout.work(), conv_work(shape, replace(chosen, rotate_tiles=1, rotate_steps=1), shape.bus)
    for name in ("tiles", "steps", "load", "weights", "gemm", "alu", "epilogue_load", "store", "uops", "run"):
        assert getattr(work, name) == getattr(wanted, name), name
    copies = (chosen.rotate_tiles, (chosen.rotate_steps,))
    assert layout.footprint(*copies) == conv_footprint(shape, chosen)


def test_what_fits_by_the_formula_fits_and_what_does_not_is_too_much() -> None:
    env = vta.get_env()
    for rows, fits in ((4, True), (16, False)):
        *inputs, output = d.gated(2, 64, 32, 1)
        nest = nest_of([output])
        tiles = NestTiles((1, 1, rows, 32), ((1, 3, 3),) * 2, 4, (2, 2))
        assert Layout(nest, tiles).footprint(4, (2, 2)).fits(Footprint.capacity(env.config)) is fits
        with nullcontext() if fits else pytest.raises(CapacityError):
            vta.build(schedule_nest(nest, tiles), [*inputs, output], target=env.target)


def test_the_alu_alone_takes_as_long_as_what_is_slowest() -> None:
    nest = nest_of(d.pool_with_residual(4, 28))
    layout = Layout(nest, NestTiles((1, 1, 4, 28), (), 1, ()))
    one, two = layout.alone(1), layout.alone(2)
    assert (two.load, two.alu, two.store, two.gemm) == (31_360, 18_816, 6_272, 0)
    assert one.cycles > 1.5 * two.cycles
    assert 31_360 < two.cycles < 1.2 * 31_360
