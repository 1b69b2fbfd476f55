"""Transposed convolutions of any size on every configuration, and the reported cases of output padding."""

import dataclasses

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from tests.support.turns import in_turn
from vta.topi.core.epilogue import Bias, Clip, Relu, Residual, ShiftRight
from vta.topi.core.operator import Compiled, OperatorError, compile  # noqa: A004
from vta.topi.core.resident import Resident
from vta.topi.core.window import WindowError
from vta.topi.tiling import TilingError
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose, conv2d_transpose_sums
from vta.topi.transposed.conv2d_transpose_schedule import TransposeTiles
from vta.topi.transposed.transposed_window import TransposedWindow

EPILOGUE = (ShiftRight(6), Bias(), Residual(), Clip(-100, 100))
SMALL = {"strides": (2, 2), "padding": (1, 1, 1, 1)}
ENGINES = ("sim", "reference", "tsim")


def arrays(operator: Conv2dTranspose, env: vta.Environment) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    limits = {"int8": 128, "int32": 1 << 14}
    return [rng.integers(-limits[o.dtype], limits[o.dtype], o.shape).astype(o.dtype) for o in operator.inputs(env)]


def check(operator: Conv2dTranspose, env: vta.Environment, tiles: object = None) -> Compiled:
    compiled = compile(operator, env, tiles)
    values = arrays(operator, env)
    np.testing.assert_array_equal(compiled(*values), operator.reference(*values))
    return compiled


def on(target: str) -> vta.Environment:
    return vta.Environment(dataclasses.replace(vta.get_env().config, target=target))


OPERATORS = {
    "all_apart": Conv2dTranspose(
        3, 20, 5, 7, 40, (4, 3), (2, 3), (1, 0, 2, 1), output_padding=(1, 2), epilogue=EPILOGUE
    ),
    "dilated": Conv2dTranspose(1, 16, 5, 4, 16, (3, 2), (2, 1), (1, 1, 0, 0), dilation=(3, 2), epilogue=(Relu(),)),
    "kernel_below_stride": Conv2dTranspose(1, 16, 3, 3, 16, (1, 2), (3, 4), output_padding=(2, 1)),
    "pads_beyond_kernel": Conv2dTranspose(2, 8, 6, 6, 24, (2, 2), (1, 1), (3, 2, 1, 2)),
    "grouped": Conv2dTranspose(1, 12, 4, 4, 18, (3, 3), (2, 2), groups=3, epilogue=EPILOGUE),
    "depthwise": Conv2dTranspose(1, 40, 4, 4, 40, (4, 4), (2, 2), (1, 1, 1, 1), groups=40),
}


@pytest.mark.parametrize(("name", "config"), in_turn(OPERATORS, CONFIGS))
def test_a_transposed_convolution_of_any_size_is_numpys(name: str, config: str) -> None:
    check(OPERATORS[name], vta.Environment(CONFIGS[config]))


@pytest.mark.parametrize("tiles", [None, TransposeTiles(36, 18, 1, 1), TransposeTiles(36, 18, 1, 1, run=6)])
def test_a_single_tile_may_end_within_a_stride(tiles: TransposeTiles | None) -> None:
    check(Conv2dTranspose(1, 20, 9, 5, 20, (7, 4), (3, 3), (0, 0, 3, 1), (1, 2)), vta.get_env(), tiles)


def test_products_with_zeros_are_not_made() -> None:
    operator = Conv2dTranspose(1, 32, 8, 8, 16, (4, 4), (2, 2), (1, 1, 1, 1))
    compiled = check(operator, on("sim"))
    places, taps_that_meet, blocks = 16 * 16, 2 * 2, 2
    assert compiled.env.session.device.stats.gemm_counter == places * taps_that_meet * blocks


@pytest.mark.parametrize(
    "tiles",
    [
        TransposeTiles(2, 2),
        TransposeTiles(6, 12, 2, 1, run=3, rotate_tiles=2),
        TransposeTiles(4, 14, 1, 2, run=7, rotate_tiles=4, rotate_steps=2),
        TransposeTiles(14, 2, 2, 2),
        TransposeTiles(14, 4, 1, 1, rotate_tiles=2, rotate_steps=2, resident=Resident.DATA),
        TransposeTiles(8, 4, 1, 1, run=2, rotate_tiles=4, resident=Resident.KERNEL),
    ],
)
def test_any_tiles_give_the_same_result(tiles: TransposeTiles) -> None:
    operator = Conv2dTranspose(1, 32, 7, 7, 32, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), epilogue=EPILOGUE)
    check(operator, vta.get_env(), tiles)


def test_other_tiles_and_groups_are_refused() -> None:
    with pytest.raises(OperatorError) as error:
        compile(OPERATORS["dilated"], vta.get_env(), 3)
    assert str(error.value) == "Conv2dTranspose: tiles are TransposeTiles, not 3"
    with pytest.raises(OperatorError) as error:
        Conv2dTranspose(1, 16, 4, 4, 16, (3, 3), groups=3)
    assert str(error.value) == "Conv2dTranspose: in_channels is a multiple of the 3 groups, not 16"


def test_a_kernel_of_as_many_taps_as_the_weight_buffer_holds_is_the_largest() -> None:
    check(Conv2dTranspose(1, 16, 2, 2, 16, (32, 32), epilogue=(ShiftRight(6), Clip(-128, 127))), vta.get_env())
    with pytest.raises(TilingError, match="the weight buffer would need 1025 elements and has 1024"):
        compile(Conv2dTranspose(1, 16, 2, 2, 16, (25, 41)), vta.get_env())


def test_a_kernel_that_fits_nowhere_is_refused() -> None:
    operator = Conv2dTranspose(1, 16, 64, 64, 16, (40, 40))
    with pytest.raises(TilingError) as error:
        compile(operator, vta.get_env())
    assert str(error.value) == (
        f"{operator!r}: no tiles fit this configuration: even in the smallest ones the weight buffer would need 1600 "
        "elements and has 1024 (256 bytes each)"
    )


# --- a report in full: output padding -----------------------------------------------------------------------------

ONES = np.ones((2, 2), np.int8)
COUNTED = np.array([[1, 2], [3, 4]], np.int8)
NINE = np.arange(1, 10, dtype=np.int8).reshape(3, 3)


def one_channel(data: np.ndarray, kernel: np.ndarray, more: int, target: str) -> list[list[int]]:
    """Return the result for one channel, by numpy and by the accelerator, which must agree."""
    height, width = data.shape
    operator = Conv2dTranspose(1, 1, height, width, 1, (3, 3), output_padding=(more, more), **SMALL)
    values = data[None, None], kernel[None, None]
    result = compile(operator, on(target))(*values)
    np.testing.assert_array_equal(result, operator.reference(*values))
    return result[0, 0].tolist()


@pytest.mark.parametrize("target", ENGINES)
def test_br_097_output_padding_continues_the_result(target: str) -> None:
    assert one_channel(ONES, np.ones((3, 3), np.int8), 0, target) == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]
    assert one_channel(ONES, np.ones((3, 3), np.int8), 1, target) == [
        [1, 2, 1, 1], [2, 4, 2, 2], [1, 2, 1, 1], [1, 2, 1, 1]
    ]  # fmt: skip
    assert one_channel(COUNTED, NINE, 0, target) == [[5, 14, 10], [14, 36, 24], [15, 34, 20]]
    assert one_channel(COUNTED, NINE, 1, target) == [
        [5, 14, 10, 12], [14, 36, 24, 30], [15, 34, 20, 24], [24, 55, 32, 36]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "total", "last_row"),
    [(0, 100, [88, 178, 55, -75, -80, 97, 142]), (1, 288, [144, 3, -176, -127, 99, 168, 34, -145])],
)
def test_br_097_sixteen_channels(more: int, total: int, last_row: list[int]) -> None:
    k = np.arange(16 * 16 * 9)
    data = ((7 * k[: 16 * 16]) % 17 - 8).astype(np.int8).reshape(1, 16, 4, 4)
    kernel = ((5 * k) % 13 - 6).astype(np.int8).reshape(16, 16, 3, 3)
    window = TransposedWindow((3, 3), (2, 2), (1, 1, 1, 1), (more, more))
    sums = conv2d_transpose_sums(data, kernel, window, 1)
    assert sums.shape == (1, 16, 7 + more, 7 + more)
    assert sums.sum() == total
    assert sums[0, 0, -1].tolist() == last_row
    operator = Conv2dTranspose(1, 16, 4, 4, 16, (3, 3), output_padding=(more, more), **SMALL)
    for target in ENGINES:
        np.testing.assert_array_equal(compile(operator, on(target))(data, kernel), sums.astype(np.int8))


def test_br_097_output_padding_is_smaller_than_the_stride() -> None:
    with pytest.raises(WindowError, match="output_padding is smaller than the stride"):
        Conv2dTranspose(1, 16, 4, 4, 16, (3, 3), (2, 2), output_padding=(2, 2))


def test_br_097_operators_with_and_without_output_padding_differ() -> None:
    one, other = (Conv2dTranspose(1, 16, 4, 4, 16, (3, 3), (2, 2), output_padding=(n, n)) for n in (0, 1))
    assert one != other
    assert repr(one) != repr(other)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_zero_point_is_taken_off_the_data(config: VTAConfig) -> None:
    env = vta.Environment(config)
    layer = Conv2dTranspose(
        2, 20, 5, 4, 24, (3, 4), (2, 2), (1, 0, 1, 1), zero_point=-128, epilogue=(ShiftRight(9), Bias())
    )
    rng = np.random.default_rng(6)
    arrays = [rng.integers(-99, 99, operand.shape).astype(operand.dtype) for operand in layer.inputs(env)]
    np.testing.assert_array_equal(compile(layer, env)(*arrays), layer.reference(*arrays))
    centred = conv2d_transpose_sums(arrays[0].astype(np.int32) + 128, arrays[1], layer.window, 1)
    expected = ((centred >> 9) + arrays[2].reshape(1, -1, 1, 1)).astype(np.int8)
    np.testing.assert_array_equal(layer.reference(*arrays), expected)
