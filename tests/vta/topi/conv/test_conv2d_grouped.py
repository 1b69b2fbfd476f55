import numpy as np
import pytest

from tests.support.compiler.random_operators import check
from vta.tir.expr import IntImm
from vta.topi.conv.conv2d_grouped import ChannelBlocks, channel_blocks, channel_index, pack_grouped_kernel
from vta.topi.conv.conv2d_operator import Conv2d

SIZES = [  # groups, in_channels, out_channels, block_in, block_out
    (1, 40, 24, 16, 16),
    (32, 32, 32, 16, 16),
    (12, 36, 108, 16, 16),
    (2, 32, 64, 16, 32),
    (40, 40, 40, 32, 8),
    (8, 64, 16, 8, 8),
    (5, 20, 50, 8, 4),
]


@pytest.mark.parametrize(("groups", "inputs", "outputs", "block_in", "block_out"), SIZES)
def test_the_packed_kernel_has_every_weight_where_its_channels_are_read(
    groups: int, inputs: int, outputs: int, block_in: int, block_out: int
) -> None:
    found = channel_blocks(
        groups=groups, in_channels=inputs, out_channels=outputs, block_in=block_in, block_out=block_out
    )
    kernel = np.random.default_rng(1).integers(1, 100, (outputs, inputs // groups, 2, 3)).astype(np.int8)
    packed = pack_grouped_kernel(kernel, found, groups=groups, block_in=block_in, block_out=block_out)
    wide = np.zeros((outputs, -(-inputs // block_in) * block_in, 2, 3), np.int8)
    for o in range(outputs):
        first = o // (outputs // groups) * (inputs // groups)
        wide[o, first : first + inputs // groups] = kernel[o]
    for co, start in enumerate(found.starts):
        for o in range(block_out):
            if co * block_out + o >= outputs:
                assert not packed[co, ..., o, :].any()
                continue
            read = wide[co * block_out + o].copy()
            for k in range(found.count):
                channels = slice((start + k) * block_in, (start + k + 1) * block_in)
                np.testing.assert_array_equal(packed[co, k, :, :, o].transpose(2, 0, 1), read[channels])
                read[channels] = 0
            assert not read.any()


@pytest.mark.parametrize(("groups", "inputs", "outputs", "block_in", "block_out"), SIZES)
def test_the_expression_of_the_blocks_gives_the_starts(
    groups: int, inputs: int, outputs: int, block_in: int, block_out: int
) -> None:
    sizes = {
        "groups": groups, "in_channels": inputs, "out_channels": outputs, "block_in": block_in, "block_out": block_out,
    }  # fmt: skip
    found = channel_blocks(**sizes)
    tiles = [tile for tile in (1, 2, 3, 4) if len(found.starts) % tile == 0 and found.allows(tile)]
    assert 1 in tiles
    for tile in tiles:
        channel = channel_index(found, **sizes, tile_co=tile)
        for co, start in enumerate(found.starts):
            assert channel(IntImm(co), IntImm(0)) == IntImm(start)


def test_a_depthwise_layer_reads_one_block_for_each_block() -> None:
    found = channel_blocks(groups=64, in_channels=64, out_channels=64, block_in=16, block_out=16)
    assert found == ChannelBlocks((0, 1, 2, 3), 1)
    assert (found.step, found.read(2), found.allows(3)) == (1, 2, True)


def test_starts_that_stand_still_for_a_while_allow_tiles_of_that_size() -> None:
    found = channel_blocks(groups=4, in_channels=64, out_channels=128, block_in=16, block_out=16)
    assert found == ChannelBlocks((0, 0, 1, 1, 2, 2, 3, 3), 1)
    assert [found.allows(tile) for tile in (1, 2, 4)] == [True, True, False]


def test_a_tile_reads_from_its_first_block_to_its_last_whatever_pattern_the_starts_have() -> None:
    assert ChannelBlocks((0, 0, 1, 1), 1).read(4) == 2
    assert ChannelBlocks((0, 0, 1, 1), 1).read(2) == 1
    assert ChannelBlocks((0, 2, 4, 6), 2).read(2) == 4
    assert ChannelBlocks((0, 2, 4, 6), 2).read(2, 1) == 3


@pytest.mark.parametrize(
    ("config", "operator"),
    [
        ("single_lane", Conv2d(1, 7, 10, 10, 14, (3, 3), (4, 4), (1, 1, 1, 1), (3, 3), groups=7)),
        ("single_lane", Conv2d(1, 100, 4, 4, 100, (2, 2), (3, 3), groups=4)),
        ("two_lanes_in", Conv2d(1, 32, 8, 8, 32, (3, 3), padding=(1, 1, 1, 1), groups=32)),
        ("batch_16", Conv2d(1, 58, 21, 4, 29, (2, 3), (2, 2), (0, 1, 2, 0), groups=29)),
    ],
)
def test_groups_that_read_more_than_the_input_buffer_holds_at_once_are_cut(config: str, operator: Conv2d) -> None:
    check(operator, config)
