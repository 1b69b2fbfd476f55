"""The cost model: what it says of simple cases, and how far from the hardware it is."""

from dataclasses import replace

import numpy as np
import pytest

import vta
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from vta.nd import EXT_DEV, Device, empty
from vta.topi.conv.conv2d import ConvTiles
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_work import conv_work
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.operator import compile  # noqa: A004
from vta.topi.core.resident import Resident
from vta.topi.tiling import Bus, Work, cycles
from vta.topi.tiling.cost import Turns, loading

WORK = Work(
    tiles=16, steps=4, tile_copies=2, step_copies=2, load=500, load_instructions=2, gemm=7000, alu=3000,
    epilogue_load=16, store=1500, accumulators=784, kernels=4, uops=126, stages=4,
)  # fmt: skip
BUS = Bus()


def test_products_set_the_pace_where_everything_else_hides_behind_them() -> None:
    products = 16 * 4 * 7000
    assert products < cycles(WORK, BUS) < products * 1.02


def test_without_copies_everything_is_one_behind_the_other() -> None:
    alone = replace(WORK, tile_copies=1, step_copies=1)
    assert cycles(alone, BUS) > 16 * (4 * (7000 + 500) + 3000 + 1500)


@pytest.mark.parametrize("field", ["gemm", "load", "alu", "store", "epilogue_load", "tiles", "steps", "resident_load"])
def test_more_work_never_takes_less(field: str) -> None:
    costs = [cycles(replace(WORK, **{field: getattr(WORK, field) * n + n}), BUS) for n in (1, 2, 5, 20)]
    assert costs == sorted(costs)


def test_what_is_slowest_sets_the_pace() -> None:
    for field, factor in (("alu", 1), ("store", 1), ("load", 4)):
        slow = replace(WORK, **{field: 100_000})
        assert 16 * factor * 100_000 < cycles(slow, BUS) < 16 * factor * 100_000 * 1.25


def test_a_long_epilogue_holds_up_the_release_of_inputs() -> None:
    # Two steps can be done before the epilogue of the tile before is; the others wait for it.
    short_steps = replace(WORK, gemm=1000, steps=8, alu=6000)
    assert cycles(short_steps, BUS) > 16 * (6000 + 6 * 1000)
    assert cycles(replace(short_steps, step_copies=4), BUS) < cycles(short_steps, BUS) - 16 * 1000


def test_the_next_tiles_first_load_waits_for_the_epilogue_where_all_steps_are_on_the_chip() -> None:
    both = replace(WORK, steps=2, gemm=2000, load=1900, alu=3000)
    assert cycles(both, BUS) > 16 * (3000 + 1900)
    assert cycles(replace(both, step_copies=3), BUS) < 16 * (3000 + 1900)


def test_a_row_takes_a_beat_at_least_and_so_does_an_element() -> None:
    assert BUS.beats(10, 16) == 20
    assert BUS.beats(3, 8, rows=5) == 5
    assert BUS.beats(10, 1, rows=5) == 10
    assert Bus(beat_bytes=16).beats(10, 16) == Bus(beat_bytes=32).beats(10, 16) == 10
    assert BUS.beats(0, 16) == 0


def test_no_copies_take_less_than_the_least() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        drawn = {
            name: int(rng.choice([0, 1, 10, 1000, 9000])) for name in ("gemm", "alu", "store", "load", "resident_load")
        }
        work = replace(WORK, **drawn, tiles=int(rng.integers(1, 9)), accumulators=int(rng.integers(1, 900)))
        turns = Turns(work, BUS)
        for copies in ((1, 1), (2, 2), (1, 4), (4, 4), (7, 1)):
            assert turns.least <= turns.cycles(*copies)


def test_copies_are_priced_as_those_of_the_work() -> None:
    assert Turns(WORK, BUS).cycles(4, 3) == cycles(WORK.turned(4, 3), BUS)


def test_loads_that_are_many_wait_for_those_under_way() -> None:
    many = replace(WORK, load=200, load_instructions=40)
    assert loading(many, Bus(latency=200)) == 40 * (200 + 5 + 3) // 4
    assert loading(many, Bus(latency=1)) == 200 + 40 * 2


@pytest.mark.parametrize(
    ("operator", "tiles"),
    [
        (
            Conv2d(1, 64, 14, 14, 64, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(8), Bias(), Clip(0, 127))),
            ConvTiles(tile_h=7, tile_w=14, tile_co=1, run=14, rotate_tiles=4, rotate_steps=4),
        ),
        (
            Conv2d(1, 64, 28, 28, 128, (1, 1), (2, 2), epilogue=(ShiftRight(8), Bias(), Clip(0, 127))),
            ConvTiles(tile_h=7, tile_w=14, tile_ci=4, tile_co=1, run=14, rotate_tiles=4, resident=Resident.DATA),
        ),
        (
            Conv2d(1, 128, 7, 7, 128, (3, 3), padding=(1, 1, 1, 1)),
            ConvTiles(tile_h=7, tile_w=7, tile_co=8, run=7),
        ),
    ],
    ids=["products", "epilogue", "no copies"],
)
def test_the_prediction_is_close_to_what_the_hardware_takes(operator: Conv2d, tiles: ConvTiles) -> None:
    env = vta.get_env()
    compiled = compile(operator, env, tiles)
    device = RtlSimulator(env.config, DeviceMemory(1 << 28))
    session = Session(env.config, device)
    arrays = [empty(t.shape, str(t.dtype), Device(EXT_DEV, 0, session)) for t in compiled.scheduled.args]
    compiled.module(*arrays)
    assert device.stats.cycles is not None
    predicted = cycles(conv_work(operator.shape_on(env), tiles, BUS), Bus(latency=1))
    assert predicted == pytest.approx(device.stats.cycles, rel=0.1)


def test_an_incomplete_last_round_lets_only_its_own_loads_run_ahead_of_the_epilogue() -> None:
    # Of 17 steps, rounds of 6 leave 5 and rounds of 7 leave 3; rounds of 3 leave 2.
    long = replace(WORK, steps=17, gemm=800, load=700, alu=6000)
    five, three, two = (cycles(replace(long, step_copies=copies), BUS) for copies in (6, 7, 3))
    assert two - three == 16 * 800
    assert three - five == 16 * 2 * 800
