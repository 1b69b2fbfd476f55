"""Following the first rounds of a schedule: what goes on at their pace, and how far from the hardware that is."""

from dataclasses import replace

import pytest

import vta
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import HardwareSetup
from runtime.session import Session
from vta.cost import predict
from vta.nd import EXT_DEV, Device, empty
from vta.topi.conv.conv2d import ConvTiles
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_work import conv_work
from vta.topi.core.epilogue import Bias, Clip, Epilogue, ShiftRight
from vta.topi.core.operator import compile  # noqa: A004
from vta.topi.core.resident import Resident
from vta.topi.matmul.dense import Dense
from vta.topi.matmul.matmul_schedule import MatmulTiles
from vta.topi.tiling import Bus, Work, followed_cycles, priced

WORK = Work(
    tiles=16, steps=4, tile_copies=2, step_copies=2, load=500, load_instructions=2, gemm=7000, alu=3000,
    epilogue_load=16, store=1500, accumulators=784, kernels=4, uops=126, stages=4,
)  # fmt: skip
BUS = Bus()
STEPS: Epilogue = (ShiftRight(8), Bias(), Clip(0, 127))


def test_products_set_the_pace_where_everything_else_hides_behind_them() -> None:
    products = 16 * 4 * 7000
    assert products < followed_cycles(WORK, BUS) < products * 1.02


def test_without_copies_everything_is_one_behind_the_other() -> None:
    alone = replace(WORK, tile_copies=1, step_copies=1)
    assert followed_cycles(alone, BUS) > 16 * (4 * (7000 + 500) + 3000 + 1500)


@pytest.mark.parametrize("field", ["gemm", "load", "alu", "store", "epilogue_load", "tiles", "steps"])
def test_more_work_never_takes_less(field: str) -> None:
    costs = [followed_cycles(replace(WORK, **{field: getattr(WORK, field) * n + n}), BUS) for n in (1, 2, 5, 20)]
    assert costs == sorted(costs)


def test_tiles_that_are_not_followed_go_on_at_the_pace_of_those_that_are() -> None:
    few, more, many = (followed_cycles(replace(WORK, tiles=tiles), BUS) for tiles in (100, 200, 1000))
    assert many - more == 8 * (more - few)


def test_what_is_resident_is_loaded_again_for_each_group_of_tiles() -> None:
    kept = replace(WORK, resident_load=4000, resident_loads=1)
    again = replace(WORK, resident_load=4000, resident_loads=8)
    assert followed_cycles(again, BUS) > followed_cycles(kept, BUS) + 6 * 4000


def test_without_copies_what_is_resident_is_loaded_when_the_tile_before_is_done() -> None:
    operator, tiles = Dense(91, 46, 15, STEPS), MatmulTiles(rows=6, inner=1, columns=1, resident=Resident.DATA)
    env = vta.Environment(vta.get_env().config, hardware={"memory_latency": 1})
    searched, followed = predict(operator, tiles=tiles, env=env).cycles, predict(compile(operator, env, tiles)).cycles
    assert searched == pytest.approx(followed, rel=0.03)


def test_many_short_loads_wait_for_the_memory_although_it_is_not_busy() -> None:
    slow = Bus(latency=200)
    cut = replace(WORK, load=200, load_instructions=40, gemm=300, alu=100, store=100)
    assert followed_cycles(cut, slow) > 2 * followed_cycles(replace(cut, load_instructions=2), slow)
    wider = Bus(latency=200, sizes=HardwareConfig(load_jobs=16))
    assert followed_cycles(cut, wider) < followed_cycles(cut, slow) / 2


def test_a_short_run_of_accumulators_slows_the_alu() -> None:
    bound = replace(WORK, gemm=1000, alu=4000)
    assert followed_cycles(replace(bound, run=5), BUS) > 1.04 * followed_cycles(replace(bound, run=56), BUS)


def test_a_price_says_what_every_part_does() -> None:
    price = priced(replace(WORK, resident_load=9, resident_loads=2), BUS)
    assert (price.load, price.gemm, price.alu, price.store) == (16 * 2016 + 18, 448_000, 48_000, 24_000)


@pytest.mark.parametrize(
    ("operator", "tiles"),
    [
        (
            Conv2d(1, 64, 14, 14, 64, (3, 3), padding=(1, 1, 1, 1), epilogue=STEPS),
            ConvTiles(tile_h=7, tile_w=14, tile_co=1, run=14, rotate_tiles=4, rotate_steps=4),
        ),
        (
            Conv2d(1, 64, 28, 28, 128, (1, 1), (2, 2), epilogue=STEPS),
            ConvTiles(tile_h=7, tile_w=14, tile_ci=4, tile_co=1, run=14, rotate_tiles=4, resident=Resident.DATA),
        ),
        (
            Conv2d(1, 128, 7, 7, 128, (3, 3), padding=(1, 1, 1, 1)),
            ConvTiles(tile_h=7, tile_w=7, tile_co=8, run=7),
        ),
    ],
    ids=["products", "epilogue", "no copies"],
)
@pytest.mark.parametrize("latency", [1, 64])
def test_the_prediction_is_close_to_what_the_hardware_takes(operator: Conv2d, tiles: ConvTiles, latency: int) -> None:
    env = vta.get_env()
    compiled = compile(operator, env, tiles)
    session = Session(env.config, "tsim", setup=HardwareSetup(latency=latency))
    arrays = [empty(t.shape, str(t.dtype), Device(EXT_DEV, 0, session)) for t in compiled.scheduled.args]
    compiled.module(*arrays)
    bus = Bus(latency=latency)
    predicted = followed_cycles(conv_work(operator.shape_on(env), tiles, bus), bus)
    assert predicted == pytest.approx(session.device.stats.cycles, rel=0.03)
