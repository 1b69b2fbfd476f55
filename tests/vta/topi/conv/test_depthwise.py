"""Depthwise convolutions with GEMM's flag: numpy's results for every kernel, stride and pad, in few steps."""

from dataclasses import replace

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from isa.instructions import Gemm
from runtime.session import Session
from tests.support.compiler.random_operators import check
from tests.support.odd_configs import ODD_CONFIGS
from vta.nd import EXT_DEV, Device, empty
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.depthwise import depthwise_taps, filled_window, pack_depthwise_kernel
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.operator import compile  # noqa: A004
from vta.topi.core.window import Window

TAPS = ODD_CONFIGS["depthwise"]


def layer(channels: int, kernel: tuple[int, int], **fields: object) -> Conv2d:
    """Return a depthwise layer of images of 9 by 11."""
    return Conv2d(1, channels, 9, 11, channels, kernel, groups=channels, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("config", ["depthwise", "depthwise_int4"])
@pytest.mark.parametrize(
    ("channels", "kernel", "fields"),
    [
        (19, (3, 3), {"padding": (1, 1, 1, 1)}),
        (8, (5, 5), {"padding": (2, 0, 1, 3), "epilogue": (ShiftRight(3), Clip(-5, 7))}),
        (5, (1, 7), {"strides": (1, 2), "zero_point": 3, "padding": (0, 3, 0, 3)}),
        (16, (3, 2), {"strides": (2, 2), "dilation": (2, 1)}),
        (9, (2, 4), {"strides": (3, 3)}),
    ],
)
def test_results_are_numpys(config: str, channels: int, kernel: tuple[int, int], fields: dict[str, object]) -> None:
    check(layer(channels, kernel, **fields), config)


@pytest.mark.parametrize(
    ("window", "steps"),
    [
        (Window((3, 3)), 3),
        (Window((3, 5)), 3 * 2),
        (Window((3, 1)), 3),  # a column has no neighbours
        (Window((3, 3), dilation=(1, 2)), 9),  # nor are these neighbours
    ],
)
def test_a_row_of_the_window_takes_as_few_steps_as_hold_it(window: Window, steps: int) -> None:
    height, width = window.span(8, 8)
    operator = Conv2d(1, 8, height, width, 8, window.kernel, dilation=window.dilation, groups=8)
    compiled = compile(operator, vta.Environment(TAPS))
    session = Session(TAPS, "sim", record=True)
    arrays = [empty(t.shape, str(t.dtype), Device(EXT_DEV, 0, session)) for t in compiled.scheduled.args]
    compiled.module(*arrays)
    [launch] = session.queue.launcher.launches
    gemms = [each for each in launch.program(session.memory).instructions if isinstance(each, Gemm) and not each.reset]
    assert sum(each.iter_out * each.iter_in * (each.uop_end - each.uop_bgn) for each in gemms) == 64 * steps
    assert {each.depthwise for each in gemms} == {window.kernel[1] > 1 and window.dilation[1] == 1}


def test_steps_of_several_taps_are_for_a_channel_to_each_channel_and_neighbours() -> None:
    window = Window((3, 3))
    channels = {"groups": 32, "in_channels": 32, "out_channels": 32}
    assert depthwise_taps(TAPS, window, **channels) == 3
    assert depthwise_taps(VTAConfig(), window, **channels) == 0
    assert depthwise_taps(TAPS, window, **{**channels, "out_channels": 64}) == 0
    assert depthwise_taps(TAPS, window, **{**channels, "groups": 16}) == 0
    assert depthwise_taps(TAPS, window, groups=1, in_channels=1, out_channels=1) == 0
    assert depthwise_taps(TAPS, Window((3, 1)), **channels) == 0
    assert depthwise_taps(TAPS, Window((1, 2)), **channels) == 3
    assert depthwise_taps(TAPS, replace(window, dilation=(1, 2)), **channels) == 0
    assert depthwise_taps(TAPS, replace(window, dilation=(2, 1)), **channels) == 3


@pytest.mark.parametrize("columns", range(1, 9))
def test_a_filled_window_gives_as_many_places(columns: int) -> None:
    window = Window((3, columns), (1, 2), (1, 2, 0, 3))
    filled = filled_window(window, 3)
    assert filled.kernel[1] % 3 == 0
    assert 0 <= filled.kernel[1] - columns < 3
    assert filled.output(10, 20) == window.output(10, 20)


def test_a_packed_kernel_has_the_taps_of_a_channel_in_its_row() -> None:
    kernel = np.arange(1, 6 * 2 * 4 + 1, dtype=np.int8).reshape(6, 1, 2, 4)
    packed = pack_depthwise_kernel(kernel, 3, block=4)
    assert packed.shape == (2, 1, 2, 2, 4, 4)
    for channel in range(8):
        for row in range(2):
            taps = packed[channel // 4, 0, row, :, channel % 4, :3].reshape(-1)
            wanted = [*kernel[channel, 0, row], 0, 0] if channel < 6 else [0] * 6
            assert taps.tolist() == wanted
    assert not packed[..., 3].any()
