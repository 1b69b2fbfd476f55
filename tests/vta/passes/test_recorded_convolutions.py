"""Programs beyond the spine: what they ask of the runtime is what the recordings ask; threads change no result.

The recordings pin down what memory shares what, where each place lies, and how threads interleave.
"""

import re

import numpy as np
import pytest

import vta
from runtime.session import Session
from tests.support.golden.conv_cases import packed_convolution, schedule_beyond_spine
from tests.support.golden.golden import load_case
from tests.support.runtime.call_log import CallLog
from vta import te
from vta.nd import EXT_DEV, Device, empty
from vta.topi.conv.conv2d import ConvTiles

CASES = [
    "tut.convolution_opt",
    "alu.residual_add_int32",
    "alu.residual_add_int8",
    "group_conv2d.mobilenet.D1",
    "group_conv2d.mobilenet.D8",
    "conv2d.resnet-18.C2",
    "conv2d.resnet-18.C7",
    "conv2d.resnet-18.C9",
]

_ADDRESS = re.compile(r"dram=\d+")


@pytest.mark.parametrize("cse", [True, False], ids=["cse", "no_cse"])
@pytest.mark.parametrize("name", CASES)
def test_runtime_calls_equal_the_recorded_ones(name: str, cse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = load_case("default", name)
    session = Session(case.config, "sim")
    disabled = set() if cse else {"tir.CommonSubexprElimTIR"}
    with vta.Environment(case.config) as env, vta.build_config(disabled_pass=disabled):
        scheduled = schedule_beyond_spine(case, env)
        module = vta.build(scheduled.schedule, scheduled.args, target=env.target, name="main")
    module.replays = False
    arrays = [empty(tuple(shape), dtype, Device(EXT_DEV, 0, session)) for _, shape, dtype in case.record["args"]]
    with CallLog().installed(monkeypatch) as log:
        module(*arrays)
        calls = log.take()
    assert [_ADDRESS.sub("dram", line) for line in calls] == [_ADDRESS.sub("dram", line) for line in case.calls]


@pytest.mark.parametrize("threads", [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_two_nested_thread_axes_give_the_same_result_as_one_thread(threads: tuple[int, int]) -> None:
    work = {"height": 8, "in_filter": 32, "out_filter": 64, "hkernel": 3, "hstride": 1, "hpad": 1}
    tiles = ConvTiles(tile_co=2, tile_h=4, tile_w=8, oc_nthread=threads[0], h_nthread=threads[1])
    with vta.get_env() as env:
        session = Session(env.config, "sim")
        scheduled = packed_convolution(env, work, tiles)
        module = vta.build(scheduled.schedule, scheduled.args, target=env.target, name="main")
    rng = np.random.default_rng(7)
    values = [_random(rng, tensor) for tensor in scheduled.args]
    arrays = [empty(v.shape, v.dtype.name, Device(EXT_DEV, 0, session)) for v in values]
    for array, value in zip(arrays, values, strict=True):
        array.copyfrom(value)
    module(*arrays)
    np.testing.assert_array_equal(arrays[-1].numpy(), _convolution(*values[:3]))


def _random(rng: np.random.Generator, tensor: te.Tensor) -> np.ndarray:
    shape = tuple(int(extent) for extent in tensor.shape)
    return rng.integers(-100, 100, shape).astype(str(tensor.dtype))


def _convolution(data: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """A 3x3 convolution with pad 1, shifted, with bias, clipped."""
    padded = np.pad(data, [(0, 0), (0, 0), (1, 1), (1, 1), (0, 0), (0, 0)]).astype(np.int32)
    rows, columns = data.shape[2:4]
    total = np.zeros((1, kernel.shape[0], rows, columns, data.shape[4], kernel.shape[4]), np.int32)
    for di in range(3):
        for dj in range(3):
            window = padded[:, :, di : di + rows, dj : dj + columns]
            total += np.einsum("nkijbc,okdc->noijbd", window, kernel[:, :, di, dj].astype(np.int32))
    return np.clip((total >> 8) + bias, 0, 127).astype(np.int8)
