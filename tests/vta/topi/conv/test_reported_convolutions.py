"""Reports about convolutions and operators, each with the smallest input that showed it."""

import numpy as np
import pytest

import vta
from isa.config import ConfigError, VTAConfig
from isa.instructions import Store
from runtime.memory.array import DeviceArray
from runtime.session import Session
from tests.support.compiler.random_operators import check
from tests.support.configs import CONFIGS
from vta import te
from vta.nd import EXT_DEV, Device, empty
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.operator import compile  # noqa: A004

LAYER = (ShiftRight(8), Bias(), Clip(0, 127))


@pytest.mark.parametrize(("channels", "size", "outputs"), [(16, 8, 16), (64, 56, 128)], ids=["8x8x16", "resnet-18 C4"])
def test_br_099_a_1x1_convolution_with_stride_2_reads_every_second_pixel(
    channels: int, size: int, outputs: int
) -> None:
    env = vta.get_env()
    operator = Conv2d(1, channels, size, size, outputs, (1, 1), (2, 2), epilogue=(ShiftRight(6),))
    rng = np.random.default_rng(99)
    data = rng.integers(-128, 128, (1, channels, size, size)).astype(np.int8)
    kernel = rng.integers(-128, 128, (outputs, channels, 1, 1)).astype(np.int8)
    expected = np.einsum("nihw,oi->nohw", data[:, :, ::2, ::2].astype(np.int32), kernel[:, :, 0, 0].astype(np.int32))
    np.testing.assert_array_equal(compile(operator, env)(data, kernel), (expected >> 6).astype(np.int8))


def test_br_099_resnet_18_c5_is_right_too() -> None:
    check(Conv2d(1, 128, 28, 28, 128, (3, 3), padding=(1, 1, 1, 1), epilogue=LAYER), "default")


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    ("channels", "groups"), [(32, 2), (16, 16), (24, 3)], ids=["two groups", "depthwise", "groups of 8"]
)
def test_br_101_groups_of_any_size(channels: int, groups: int, config: str) -> None:
    operator = Conv2d(1, channels, 9, 7, channels, (3, 3), padding=(1, 1, 1, 1), groups=groups, epilogue=LAYER)
    check(operator, config)


def test_br_050_a_block_above_16_works_from_the_import_on_and_a_convolution_pads_its_channels() -> None:
    check(Conv2d(1, 16, 14, 14, 64, (3, 3), padding=(1, 1, 1, 1), epilogue=LAYER), "block32")


def test_br_057_pads_with_a_batch_of_two() -> None:
    check(Conv2d(2, 16, 8, 8, 16, (3, 3), padding=(1, 1, 1, 1), epilogue=LAYER), "b2k16")


def test_br_022_a_timed_convolution_gives_the_same_output_and_the_same_cycles_every_time() -> None:
    env = vta.get_env()
    operator = Conv2d(1, 16, 7, 7, 16, (3, 3), padding=(1, 1, 1, 1), epilogue=LAYER)
    compiled = compile(operator, env)
    session = Session(env.config, "tsim", record=True)
    device = Device(EXT_DEV, 0, session)
    rng = np.random.default_rng(22)
    plain = [rng.integers(-99, 99, operand.shape).astype(operand.dtype) for operand in operator.inputs(env)]
    arrays = [vta.nd.array(values, device) for values in operator.pack(env, *plain)]
    out = empty(compiled.scheduled.args[-1].shape, "int8", device)
    compiled.module.time_evaluator(compiled.module.entry_name, device, number=3, repeat=2)(*arrays, out)
    np.testing.assert_array_equal(operator.unpack(env, out.numpy()), operator.reference(*plain))
    assert len(session.queue.launcher.launches) >= 6
    assert len({stats.cycles for stats in session.queue.launcher.launch_stats}) == 1


# --- block_in unlike block_out ---------------------------------------------------------------------------------------


def pattern(shape: tuple[int, ...], factor: int, modulus: int, offset: int) -> np.ndarray:
    """Return ``(factor * k) % modulus - offset`` for the flat index k."""
    k = np.arange(np.prod(shape))
    return ((factor * k) % modulus - offset).astype(np.int8).reshape(shape)


@pytest.mark.parametrize("one_store_each", [True, False])
def test_case_06_stores_of_32_channels_from_inputs_of_16_go_to_the_right_place(one_store_each: bool) -> None:
    env = vta.Environment(CONFIGS["in16out32"])
    a, b = pattern((1, 2, 1, 16), 7, 17, 8), pattern((3, 2, 32, 16), 5, 13, 6)
    x = te.placeholder(a.shape, name="x", dtype=env.inp_dtype)
    w = te.placeholder(b.shape, name="w", dtype=env.wgt_dtype)
    n, i = te.reduce_axis((0, 2), name="n"), te.reduce_axis((0, 16), name="i")
    product = te.compute(
        (1, 3, 1, 32),
        lambda o, m, r, j: te.sum(
            x[o, n, r, i].astype(env.acc_dtype) * w[m, n, j, i].astype(env.acc_dtype), axis=[n, i]
        ),
        name="product",
    )
    out = te.compute(product.shape, lambda *at: product(*at).astype(env.out_dtype), name="out")
    s = te.create_schedule(out.op)
    for tensor, scope in ((x, env.inp_scope), (w, env.wgt_scope)):
        cache = s.cache_read(tensor, scope, [product])
        s[cache].pragma(s[cache].leaf_iter_vars[0], env.dma_copy)
    o, m, r, j, n, i = s[product].leaf_iter_vars
    s[product].set_scope(env.acc_scope)
    s[product].reorder(o, m, n, r, j, i)
    s[product].tensorize(r, env.gemm)
    s[out].pragma(s[out].leaf_iter_vars[2 if one_store_each else 1], env.dma_copy)

    session = Session(env.config, "sim", record=True)
    device = Device(EXT_DEV, 0, session)
    with env:
        module = vta.build(s, [x, w, out], target=env.target)
    arrays = [vta.nd.array(a, device), vta.nd.array(b, device), empty((1, 3, 1, 32), "int8", device)]
    assert isinstance(arrays[2], DeviceArray)
    area = session.memory.view(arrays[2].allocation.address, 96 + 64)
    area[:] = 0x55
    module(*arrays)
    sums = np.einsum("onbi,mnji->ombj", a.astype(np.int64), b.astype(np.int64))
    assert (sums.min(), sums.max(), sums.sum()) == (-197, 162, 123)
    assert sums[0, 1, 0, :6].tolist() == [150, 156, 162, -40, -190, -197]
    found = arrays[2].numpy()
    np.testing.assert_array_equal(found, sums.astype(np.int8))
    assert found.astype(int).sum() == 891
    assert found[0, 2, 0, -4:].tolist() == [-100, -94, -40, 66]
    assert area[96:].tolist() == [0x55] * 64
    [launch] = session.queue.launcher.launches
    stores = [i for i in launch.instructions if isinstance(i, Store) and i.x_size]
    assert [i.x_size for i in stores] == ([1, 1, 1] if one_store_each else [3])


def test_case_07_a_weight_element_larger_than_a_page_is_refused_with_both_sizes() -> None:
    with pytest.raises(ConfigError, match="element of 16384 bytes is larger than a page of 4096 bytes"):
        vta.Environment(VTAConfig(log_block=7))
    # The largest block that is legal, with buffers of a few elements, has schedules: nothing is decided at import.
    config = VTAConfig(log_block=6)
    operator = Conv2d(1, 70, 9, 9, 130, (3, 3), padding=(1, 1, 1, 1), epilogue=LAYER)
    check_on(operator, vta.Environment(config))


def check_on(operator: Conv2d, env: vta.Environment) -> None:
    """Compare the operator with numpy."""
    rng = np.random.default_rng(7)
    arrays = [rng.integers(-99, 99, operand.shape).astype(operand.dtype) for operand in operator.inputs(env)]
    np.testing.assert_array_equal(compile(operator, env)(*arrays), operator.reference(*arrays))
