"""The te face: ``conv2d``, ``group_conv2d`` and the template with its knobs, against numpy."""

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.compiler.run_schedule import run_schedule
from tests.support.configs import CONFIGS
from vta import te
from vta.topi.conv.conv2d import Conv2dError, ConvTiles, conv2d, schedule_conv2d
from vta.topi.conv.conv2d_grouped import group_conv2d
from vta.topi.conv.conv2d_operator import Conv2d, conv2d_sums
from vta.topi.conv.conv2d_search import conv_shape, searched_tiles
from vta.topi.conv.conv2d_work import conv_work
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Bias, Clip, Residual, ShiftRight, append
from vta.topi.core.fused import fused_layer
from vta.topi.core.layout import pack_activations, pack_channels, pack_kernel, unpack_activations
from vta.topi.core.resident import Resident
from vta.topi.core.window import Window
from vta.topi.tiling import Bus, TilingError

STEPS = (ShiftRight(6), Bias(), Clip(-100, 100))


def result_of(
    env: vta.Environment,
    images: tuple[int, ...],
    outputs: int,
    window: Window,
    tiles: ConvTiles | None,
    groups: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the functional simulator and what numpy make of random numbers."""
    rng = np.random.default_rng(11)
    data = rng.integers(-128, 128, images).astype(np.int8)
    kernel = rng.integers(-128, 128, (outputs, images[1] // groups, *window.kernel)).astype(np.int8)
    bias = rng.integers(-99, 99, outputs).astype(np.int32)
    packed = [
        pack_activations(data, batch=env.BATCH, block=env.BLOCK_IN),
        pack_kernel(kernel, block_in=env.BLOCK_IN, block_out=env.BLOCK_OUT),
        pack_channels(bias, batch=env.BATCH, block=env.BLOCK_OUT),
    ]
    x = te.placeholder(packed[0].shape, name="x", dtype=env.inp_dtype)
    w = te.placeholder(packed[1].shape, name="w", dtype=env.wgt_dtype)
    arguments = (window.strides, window.padding, window.dilation)
    sums = conv2d(x, w, *arguments) if groups == 1 else group_conv2d(x, w, *arguments, groups)
    appended = append(sums, STEPS, env)
    schedule = schedule_conv2d(appended.result, tiles, env)
    outcome = run_schedule(schedule, [x, w, *appended.inputs, appended.result], packed, env.config)
    expected = epilogue.reference(conv2d_sums(data, kernel, window, groups), STEPS, (bias,))
    return unpack_activations(outcome.output, images[0], outputs), expected


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize(
    ("window", "tiles"),
    [
        (Window((3, 3), padding=(1, 1, 1, 1)), ConvTiles(4, 8, 1, 1, 2, 2)),
        (Window((3, 2), (2, 1), (1, 0, 2, 1), (2, 3)), ConvTiles(2, 6, 1, 2, run=1)),
        (Window((1, 1)), ConvTiles(8, 8, 2, 2, oc_nthread=1)),
        (Window((5, 3), padding=(2, 1, 2, 1)), ConvTiles(8, 4, 1, 2, h_nthread=1, tile_kh=1, run=1)),
    ],
)
def test_the_template_computes_what_numpy_computes(window: Window, tiles: ConvTiles, config: VTAConfig) -> None:
    env = vta.Environment(config)
    shape = (env.BATCH, 2 * env.BLOCK_IN, 8, 8)
    found, expected = result_of(env, shape, 2 * env.BLOCK_OUT, window, tiles)
    np.testing.assert_array_equal(found, expected)


COMBINED = [
    ConvTiles(2, 4, 1, 1, oc_nthread=2, rotate_tiles=2),
    ConvTiles(2, 4, 1, 1, h_nthread=2, rotate_tiles=3),
    ConvTiles(2, 4, 1, 1, oc_nthread=2, h_nthread=2, rotate_tiles=2, rotate_steps=2),
    ConvTiles(2, 4, 1, 1, oc_nthread=2, rotate_tiles=2, resident=Resident.DATA),
    ConvTiles(2, 4, 1, 1, oc_nthread=2, h_nthread=2, resident=Resident.DATA),
    ConvTiles(2, 4, 1, 1, oc_nthread=2, rotate_steps=2, resident=Resident.KERNEL),
    ConvTiles(4, 8, 1, 1, oc_nthread=2, h_nthread=2, rotate_tiles=2, resident=Resident.KERNEL),
]


@pytest.mark.parametrize("tiles", COMBINED, ids=map(str, range(len(COMBINED))))
def test_threads_copies_in_turn_and_residents_go_together(tiles: ConvTiles) -> None:
    env = vta.get_env()
    window = Window((3, 3), padding=(1, 1, 1, 1))
    found, expected = result_of(env, (2, 2 * env.BLOCK_IN, 8, 12), 4 * env.BLOCK_OUT, window, tiles)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["default", "in16out32"])
@pytest.mark.parametrize("tiles", [ConvTiles(4, 8, 1, 1, oc_nthread=2), ConvTiles(8, 4, 2, 2)])
def test_groups_of_whole_blocks_compute_what_numpy_computes(name: str, tiles: ConvTiles) -> None:
    env = vta.Environment(CONFIGS[name])
    shape = (env.BATCH, 4 * env.BLOCK_IN, 8, 8)
    window = Window((3, 3), padding=(1, 1, 1, 1))
    found, expected = result_of(env, shape, 4 * env.BLOCK_OUT, window, tiles, groups=2)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    ("window", "groups"),
    [(Window((3, 3), padding=(1, 1, 1, 1)), 1), (Window((1, 1), (2, 2)), 1), (Window((3, 2), (2, 1), (0, 1, 2, 0)), 2)],
)
def test_tiles_are_searched_where_none_are_given(window: Window, groups: int, config: str) -> None:
    env = vta.Environment(CONFIGS[config])
    shape = (env.BATCH, 4 * env.BLOCK_IN, 15, 14)
    with env:
        found, expected = result_of(env, shape, 4 * env.BLOCK_OUT, window, None, groups)
    np.testing.assert_array_equal(found, expected)


def layer(env: vta.Environment) -> tuple[te.Tensor, list[te.Tensor]]:
    x = te.placeholder((1, 4, 28, 28, 1, 16), name="x", dtype=env.inp_dtype)
    w = te.placeholder((8, 4, 3, 3, 16, 16), name="w", dtype=env.wgt_dtype)
    appended = append(conv2d(x, w, 1, 1), (Bias(), Residual(), Clip(0, 127)), env)
    return appended.result, [x, w, *appended.inputs, appended.result]


def test_searched_tiles_divide_the_output_and_are_no_tiles_of_one() -> None:
    env = vta.get_env()
    result, _ = layer(env)
    tiles = searched_tiles(fused_layer(result), env)
    assert 28 % tiles.tile_h == 28 % tiles.tile_w == 0
    assert tiles.tile_h * tiles.tile_w * tiles.tile_co >= 32
    assert tiles.rotate_tiles > 1


def test_the_search_knows_a_layer_as_the_operator_knows_it() -> None:
    env = vta.get_env()
    result, _ = layer(env)
    work = conv_work(conv_shape(fused_layer(result), env), ConvTiles(tile_h=7, tile_w=14), Bus())
    operator = Conv2d(1, 64, 28, 28, 128, (3, 3), padding=(1, 1, 1, 1), epilogue=(Bias(), Residual(), Clip(0, 127)))
    assert work == conv_work(operator.shape_on(env), ConvTiles(tile_h=7, tile_w=14), Bus())


def test_tiles_of_a_computation_that_is_not_the_librarys_have_to_be_given() -> None:
    env = vta.get_env()
    data = te.placeholder((1, 1, 4, 4, 1, 16), name="data", dtype="int32")
    taps = te.placeholder((3,), name="taps", dtype="int32")
    k = te.reduce_axis((0, 3), name="k")
    total = te.compute(
        (1, 1, 4, 2, 1, 16), lambda *i: te.sum(data(*i[:3], i[3] + k, *i[4:]) * taps[k], axis=k), name="total"
    )
    result = te.compute(total.shape, lambda *i: total(*i).astype("int8"), name="result")
    with pytest.raises(TilingError) as caught:
        schedule_conv2d(result, env=env)
    assert str(caught.value) == (
        "stage 'total': tiles are searched for topi.conv2d and topi.group_conv2d; give schedule_conv2d the tiles of "
        "another computation"
    )


def placeholders(x: tuple[int, ...], w: tuple[int, ...]) -> tuple[te.Tensor, te.Tensor]:
    return te.placeholder(x, name="x", dtype="int8"), te.placeholder(w, name="w", dtype="int8")


def test_tensors_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(Conv2dError) as caught:
        conv2d(*placeholders((1, 2, 8, 8), (1, 2, 3, 3, 16, 16)))
    assert str(caught.value) == "conv2d: 'x' has 4 dimensions, not the 6 of (N/batch, C/block, H, W, batch, block)"
    with pytest.raises(Conv2dError) as caught:
        conv2d(*placeholders((1, 2, 8, 8, 1, 16), (1, 1, 3, 3, 16, 16)))
    assert str(caught.value) == (
        "conv2d: data 'x' has 2 blocks of channels, and kernel 'w' takes 1; group_conv2d takes groups"
    )
    with pytest.raises(Conv2dError) as caught:
        conv2d(*placeholders((1, 2, 8, 8, 1, 16), (1, 2, 3, 3, 16, 8)))
    assert str(caught.value) == "conv2d: data 'x' has blocks of 16 channels, and kernel 'w' of 8"
    x, w = placeholders((1, 4, 8, 8, 1, 16), (3, 2, 3, 3, 16, 16))
    with pytest.raises(Conv2dError) as caught:
        group_conv2d(x, w, 1, 0, 1, 2)
    assert str(caught.value) == (
        "group_conv2d: 2 groups with whole blocks of 2 blocks of input channels each, of 4 in all, and 3 blocks of "
        "output channels do not go together; vta.topi.Conv2d takes any groups"
    )
    size = te.var("n")
    with pytest.raises(Conv2dError) as caught:
        conv2d(te.placeholder((1, 1, size, 8, 1, 16), name="x", dtype="int8"), w)
    assert (
        str(caught.value)
        == "conv2d: data 'x' has 1 blocks of channels, and kernel 'w' takes 2; group_conv2d takes groups"
    )
    with pytest.raises(Conv2dError) as caught:
        conv2d(te.placeholder((1, 2, size, 8, 1, 16), name="x", dtype="int8"), w)
    assert str(caught.value) == "tensor 'x': dimension 2 is a number, not n"
