"""``Conv2d``: its terms, its twin, its schedule with tiles of every kind, against numpy."""

import numpy as np
import pytest

import vta
from isa.check.checker import is_valid
from isa.config import VTAConfig
from runtime.session import Session
from tests.support.compiler.random_operators import check
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from vta.nd import EXT_DEV, Device, empty
from vta.tir.dtype import DType
from vta.topi.conv.conv2d import ConvTiles
from vta.topi.conv.conv2d_operator import Conv2d, conv2d_sums
from vta.topi.conv.conv2d_work import conv_work
from vta.topi.core.epilogue import Bias, Clip, Residual, ShiftRight
from vta.topi.core.operand import Operand
from vta.topi.core.operator import OperatorError, compile  # noqa: A004
from vta.topi.core.resident import Resident
from vta.topi.core.window import Window, WindowError
from vta.topi.tiling import Bus, TilingError, cycles

STEPS = (ShiftRight(6), Bias(), Residual(), Clip(-100, 100))
OPERATOR = Conv2d(1, 48, 12, 10, 40, (3, 3), padding=(1, 1, 1, 1), epilogue=STEPS)


def test_the_twin_is_a_convolution() -> None:
    rng = np.random.default_rng(5)
    data = rng.integers(-128, 128, (2, 6, 7, 9)).astype(np.int8)
    kernel = rng.integers(-128, 128, (4, 3, 3, 2)).astype(np.int8)
    window = Window((3, 2), (2, 1), (1, 0, 2, 3), (2, 3))
    found = conv2d_sums(data, kernel, window, groups=2)
    padded = np.pad(data, ((0, 0), (0, 0), (1, 2), (0, 3))).astype(int)
    for n, o, y, x in np.ndindex(found.shape):
        first = o // 2 * 3
        taken = padded[n, first : first + 3, 2 * y : 2 * y + 5 : 2, x : x + 4 : 3]
        assert found[n, o, y, x] == (taken * kernel[o]).sum()


def test_sums_beyond_32_bits_wrap() -> None:
    data = np.full((1, 1 << 17, 1, 2), -128, np.int8)
    sums = conv2d_sums(data, data[:, :, :, :1], Window((1, 1)), groups=1)
    np.testing.assert_array_equal(sums, np.full((1, 1, 1, 2), -(1 << 31), np.int32))


def test_it_describes_its_tensors_and_its_work() -> None:
    operator = Conv2d(2, 6, 7, 9, 4, (3, 2), (2, 1), (1, 0, 2, 3), (2, 3), groups=2, epilogue=(Bias(),))
    env = vta.get_env()
    assert operator.inputs(env) == (
        Operand("data", (2, 6, 7, 9), "int8"),
        Operand("kernel", (4, 3, 3, 2), "int8"),
        Operand("bias", (4,), "int32"),
    )
    assert operator.output(env) == Operand("res", (2, 4, 3, 9), "int8")
    assert operator.macs == 2 * 4 * 3 * 9 * 3 * 2 * 3


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    "operator",
    [
        OPERATOR,
        Conv2d(3, 20, 13, 11, 70, (3, 2), (2, 1), (0, 1, 2, 0), (2, 3), epilogue=STEPS),
        Conv2d(1, 33, 14, 15, 17, (1, 1), (2, 3), (1, 0, 2, 1), epilogue=STEPS),
        Conv2d(1, 24, 9, 9, 48, (5, 1), (1, 2), (2, 0, 2, 0), groups=6, epilogue=STEPS),
        Conv2d(1, 1, 5, 130, 1, (2, 2)),
    ],
    ids=["same", "uneven", "gaps", "groups", "wide"],
)
def test_the_tiles_that_the_search_picks_compute_what_numpy_computes(operator: Conv2d, config: str) -> None:
    check(operator, config)


@pytest.mark.parametrize(
    "tiles",
    [
        ConvTiles(),
        ConvTiles(tile_h=5, tile_w=4, tile_co=3, tile_ci=3),
        ConvTiles(tile_h=12, tile_w=10, run=5, rotate_tiles=3, rotate_steps=3),
        ConvTiles(tile_h=3, tile_w=5, tile_ci=3, run=5, rotate_tiles=2),
        ConvTiles(tile_h=4, tile_w=7, tile_ci=1, tile_kh=1, run=7, rotate_tiles=3, rotate_steps=3),
        ConvTiles(tile_h=5, tile_w=10, tile_ci=3, tile_kh=1, run=2, rotate_steps=3),
        ConvTiles(tile_h=4, tile_w=10, tile_ci=1, tile_kh=1, run=10, rotate_tiles=3, rotate_steps=3, rotate_rows=3),
        ConvTiles(tile_h=6, tile_w=10, tile_ci=3, tile_kh=1, run=10, rotate_rows=2),
        ConvTiles(tile_h=12, tile_w=5, tile_ci=1, run=5, rotate_tiles=3, rotate_steps=3, resident=Resident.DATA),
        ConvTiles(tile_h=3, tile_w=10, tile_ci=1, tile_co=3, run=10, rotate_tiles=4, resident=Resident.KERNEL),
        ConvTiles(tile_h=6, tile_w=10, tile_co=1, oc_nthread=3, h_nthread=2),
    ],
    ids=repr,
)
def test_every_kind_of_tiles_computes_what_numpy_computes(tiles: ConvTiles) -> None:
    check(OPERATOR, "default", tiles=tiles)
    if tiles != ConvTiles():  # a hundred thousand cycles
        check(OPERATOR, "default", tiles=tiles, engine="tsim")


def test_numbers_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        Conv2d(0, 1, 1, 1, 1, (1, 1))
    assert str(caught.value) == "Conv2d: batch takes a number from 1, not 0"
    with pytest.raises(OperatorError) as caught:
        Conv2d(1, 6, 1, 1, 4, (1, 1), groups=4)
    assert str(caught.value) == "Conv2d: in_channels is a multiple of the 4 groups, not 6"
    with pytest.raises(OperatorError) as caught:
        Conv2d(1, 1, 3, 1, 1, (1, 1), (2, 2), (0, 1, 0, 0))
    assert str(caught.value) == (
        "Conv2d: Window(kernel=(1, 1), strides=(2, 2), padding=(0, 1, 0, 0), dilation=(1, 1)) on 3x1 reads padding "
        "alone, no data"
    )
    with pytest.raises(WindowError, match="reaches over 3x3"):
        Conv2d(1, 1, 2, 2, 1, (3, 3))


def test_tiles_that_do_not_fit_are_refused_with_buffer_need_and_limit() -> None:
    env = vta.get_env()
    operator = Conv2d(1, 64, 56, 56, 64, (3, 3), padding=(1, 1, 1, 1))
    tiles = ConvTiles(tile_h=56, tile_w=56, tile_co=4, tile_ci=4)
    with pytest.raises(TilingError) as caught:
        operator.schedule(env, tiles)
    assert str(caught.value) == (
        f"{operator} with {tiles}: the input buffer would need 13456 elements and has 2048 (16 bytes each); "
        "the accumulator buffer would need 12548 elements and has 2048 (64 bytes each); "
        "take smaller tiles or fewer copies"
    )


@pytest.mark.parametrize(
    ("tiles", "message"),
    [
        (ConvTiles(tile_co=2), "tile_co divides the 3 blocks of output channels, 2 does not"),
        (ConvTiles(tile_ci=2), "tile_ci divides the 3 blocks of input channels, 2 does not"),
        (ConvTiles(tile_kh=2), "tile_kh divides the 3 rows of the kernel, 2 does not"),
        (ConvTiles(tile_w=5, run=3), "run divides the 5 places of a tile's row, 3 does not"),
        (ConvTiles(tile_h=0), "tile_h is 1 or more, not 0"),
        (ConvTiles(rotate_tiles=0), "rotate_tiles is 1 or more, not 0"),
        (ConvTiles(rotate_steps=0), "rotate_steps is 1 or more, not 0"),
        (ConvTiles(rotate_rows=2), "rotate_rows is 0 unless tile_kh cuts the kernel and nothing is resident, not 2"),
        (
            ConvTiles(rotate_rows=2, tile_kh=1, resident=Resident.DATA),
            "rotate_rows is 0 unless tile_kh cuts the kernel and nothing is resident, not 2",
        ),
        (ConvTiles(rotate_rows=-1, tile_kh=1), "rotate_rows is 0 or more, not -1"),
        (ConvTiles(oc_nthread=0), "oc_nthread is 1 or more, not 0"),
        (ConvTiles(h_nthread=0), "h_nthread is 1 or more, not 0"),
    ],
)
def test_tiles_that_cannot_be_are_refused(tiles: ConvTiles, message: str) -> None:
    with pytest.raises(TilingError) as caught:
        OPERATOR.schedule(vta.get_env(), tiles)
    assert str(caught.value) == f"{OPERATOR} with {tiles}: {message}"


def test_blocks_whose_groups_read_different_channels_cannot_be_joined() -> None:
    operator = Conv2d(1, 64, 5, 5, 128, (3, 3), groups=4)
    tiles = ConvTiles(tile_co=4)
    with pytest.raises(TilingError) as caught:
        operator.schedule(vta.get_env(), tiles)
    assert str(caught.value) == (
        f"{operator} with {tiles}: tile_co 4 joins blocks whose groups read different channels; take 1"
    )


@pytest.mark.parametrize("engine", ["sim", "tsim"])
@pytest.mark.parametrize(
    "tiles",
    [
        ConvTiles(tile_h=7, tile_w=7, run=7, rotate_steps=2),
        ConvTiles(tile_h=7, tile_w=7, run=7, rotate_tiles=3, rotate_steps=3),
        ConvTiles(tile_h=3, tile_w=7, run=7, rotate_tiles=4, rotate_steps=4),
        ConvTiles(tile_h=2, tile_w=2, run=2, tile_ci=5, rotate_tiles=5, resident=Resident.DATA),
        ConvTiles(tile_h=2, tile_w=7, run=7, rotate_tiles=3, rotate_steps=3, resident=Resident.KERNEL),
    ],
    ids=repr,
)
def test_the_last_round_of_memory_in_turn_may_be_incomplete(tiles: ConvTiles, engine: str) -> None:
    operator = Conv2d(1, 5 * 16, 7, 7, 7 * 16, (3, 3), padding=(1, 1, 1, 1), epilogue=(Bias(), ShiftRight(4)))
    check(operator, "default", tiles=tiles, engine=engine)


def test_prime_numbers_of_blocks_are_as_busy_as_others() -> None:
    env = vta.get_env()
    for count in (13, 17, 31, 61):
        operator = Conv2d(1, count * 16, 14, 14, count * 16, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(8),))
        work = conv_work(operator.shape_on(env), operator.chosen(env), Bus())
        assert operator.macs / 256 / cycles(work, Bus()) > 0.97


def test_tiles_of_another_operator_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        OPERATOR.schedule(vta.get_env(), 4)
    assert str(caught.value) == "Conv2d: tiles are ConvTiles, not int"


def test_copies_for_which_no_loop_is_long_enough_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        OPERATOR.schedule(vta.get_env(), ConvTiles(tile_h=12, tile_w=10, rotate_tiles=7))
    assert str(caught.value) == (
        "stage 'res': no loop around its tiles or steps has 7 trips or more, as memory that is used in turn "
        "needs: 1, 3, 1, 1"
    )


def test_a_planned_program_runs_under_force_serial_and_again_with_other_arrays() -> None:
    env = vta.Environment(CONFIGS["default"])
    rng = np.random.default_rng(8)
    for context in (vta.build_config(debug_flag=env.DEBUG_FORCE_SERIAL), vta.build_config()):
        with context:
            compiled = compile(OPERATOR, env)
        for _ in range(3):
            arrays = [rng.integers(-99, 99, o.shape).astype(o.dtype) for o in OPERATOR.inputs(env)]
            np.testing.assert_array_equal(compiled(*arrays), OPERATOR.reference(*arrays))


def test_a_searched_program_is_valid_and_the_same_every_time() -> None:
    env = vta.Environment(CONFIGS["b1k8"])
    words = []
    for _ in range(2):
        compiled = compile(OPERATOR, env)
        session = Session(env.config, "sim", record=True)
        arrays = [empty(t.shape, str(t.dtype), Device(EXT_DEV, 0, session)) for t in compiled.scheduled.args]
        compiled.module(*arrays)
        compiled.module(*arrays)
        first, second = session.queue.launcher.launches
        assert first.words == second.words
        assert is_valid(first.program(session.memory))
        words.append(first.words)
    assert words[0] == words[1]


@pytest.mark.parametrize("config", ODD_CONFIGS.values(), ids=ODD_CONFIGS)
def test_operands_of_any_width_and_blocks_of_any_size(config: VTAConfig) -> None:
    env = vta.Environment(config)
    low, high = DType(env.out_dtype).bounds
    operator = Conv2d(2, 20, 9, 7, 12, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(4), Bias(), Clip(low, high)))
    rng = np.random.default_rng(4)
    arrays = []
    for operand in operator.inputs(env):
        bounds = (-9, 9) if operand.name == "bias" else DType(operand.dtype).bounds
        dtype = np.int32 if operand.name == "bias" else np.int8
        arrays.append(rng.integers(*bounds, operand.shape, endpoint=True).astype(dtype))
    np.testing.assert_array_equal(compile(operator, env)(*arrays), operator.reference(*arrays))
