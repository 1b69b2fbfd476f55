"""What ``Conv2d`` chooses from: everything fits, nothing is left out that has to be there."""

from pathlib import Path

import numpy as np
import pytest

import vta
from bench.layers import LAYERS
from isa.config import VTAConfig
from isa.named_config import named_config
from tests.support.compiler.random_operators import random_operator
from tests.support.configs import CONFIGS
from vta.cost import predict
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_tiling import conv_candidates
from vta.topi.core.epilogue import Bias, Clip, Epilogue, ShiftRight
from vta.topi.core.operator import compile  # noqa: A004
from vta.topi.tiling import Footprint, TilingError

STEPS: Epilogue = (ShiftRight(8), Bias(), Clip(0, 127))


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("seed", range(3))
def test_every_candidate_of_a_random_convolution_fits(seed: int, config: str) -> None:
    env = vta.Environment(CONFIGS[config])
    operator = random_operator(np.random.default_rng(seed), "grouped_conv2d" if seed == 2 else "conv2d")
    assert isinstance(operator, Conv2d)
    capacity = Footprint.capacity(env.config)
    candidates = list(conv_candidates(operator.shape_on(env)))
    assert candidates
    assert all(c.footprint.fits(capacity) for c in candidates)
    assert len({c.tiles for c in candidates}) == len(candidates)


def test_data_stay_while_rows_of_the_kernel_come_where_weights_are_most_of_what_is_read() -> None:
    env = vta.Environment(named_config(Path("block32")), hardware={"data_width": 64})
    layer = LAYERS["C9"]
    tiles = layer.chosen(env)
    assert (tiles.tile_kh, tiles.tile_co) == (1, 16)
    assert tiles.rotate_rows > 1
    followed = predict(compile(layer, env))
    once = layer.in_channels * 14 * 14 + 512 * (layer.in_channels * 9 + 4)
    assert followed.load < 1.01 * once / 8
    assert abs(predict(layer, env=env).cycles / followed.cycles - 1) < 0.02


def test_a_kernel_that_the_weight_buffer_does_not_hold_is_loaded_row_by_row() -> None:
    env = vta.Environment(VTAConfig(log_block=6))  # 64 weights
    operator = Conv2d(1, 100, 11, 12, 70, (9, 9), padding=(4, 4, 4, 4), epilogue=STEPS)
    assert operator.chosen(env).tile_kh in (1, 3)
    rng = np.random.default_rng(2)
    arrays = [rng.integers(-99, 99, operand.shape).astype(operand.dtype) for operand in operator.inputs(env)]
    np.testing.assert_array_equal(compile(operator, env)(*arrays), operator.reference(*arrays))


def test_a_layer_that_cannot_fit_says_which_buffer_is_too_small() -> None:
    env = vta.Environment(VTAConfig(log_block=6, log_inp_buff_size=10))  # 16 inputs
    operator = Conv2d(1, 64, 40, 40, 64, (1, 9))
    assert operator.chosen(env).tile_w < 40
    wide = Conv2d(1, 64, 40, 40, 64, (1, 20))
    with pytest.raises(TilingError) as caught:
        wide.chosen(env)
    assert str(caught.value) == (
        f"{wide}: no tiles fit this configuration: even in the smallest ones the input buffer would need 20 elements "
        "and has 16 (64 bytes each)"
    )
