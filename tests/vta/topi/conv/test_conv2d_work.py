"""What a convolution's schedule does, and what it takes at least."""

import pytest

import vta
from bench.layers import LAYERS
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_tiling import conv_candidates
from vta.topi.conv.conv2d_work import conv_least, conv_work
from vta.topi.core.epilogue import Bias, Clip, Epilogue, ShiftRight
from vta.topi.tiling import Bus, cycles

STEPS: Epilogue = (ShiftRight(8), Bias(), Clip(0, 127))


@pytest.mark.parametrize("name", ["C2", "C4", "C9", "C11"])
def test_a_layer_of_resnet_18_is_bound_by_its_products(name: str) -> None:
    operator, env = LAYERS[name], vta.get_env()
    tiles = operator.chosen(env)
    work = conv_work(operator.shape_on(env), tiles, Bus())
    assert work.tiles * work.steps * work.gemm * 256 == operator.macs
    assert tiles.rotate_tiles > 1
    assert tiles.tile_h * tiles.tile_w * tiles.tile_co >= 32


def test_no_candidate_takes_less_than_its_products_at_least() -> None:
    shape = Conv2d(1, 32, 9, 9, 48, (3, 3), padding=(1, 1, 1, 1), epilogue=STEPS).shape_on(vta.get_env())
    found = list(conv_candidates(shape))
    assert found
    assert all(conv_least(shape, each.tiles) <= cycles(each.work, shape.bus) for each in found)
