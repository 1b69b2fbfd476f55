import numpy as np
import pytest

from tests.support.compiler.random_operators import environment
from vta.topi.core.images import image_shape, pack_images, packed_extents, packed_shape, unpack_images

SHAPES = [(3, 20), (1, 5, 9), (2, 33, 3, 4)]


def test_missing_dimensions_become_rows_and_columns_of_one() -> None:
    assert image_shape((3, 20)) == (3, 20, 1, 1)
    assert image_shape((3, 20, 7)) == (3, 20, 1, 7)
    assert image_shape((3, 20, 6, 7)) == (3, 20, 6, 7)


def test_a_packed_image_has_whole_blocks() -> None:
    env = environment("b2k16")
    assert packed_extents(env, (3, 20, 7)) == (2, 2, 1, 7)
    assert packed_shape(env, (3, 20, 7)) == (2, 2, 1, 7, 2, 16)


@pytest.mark.parametrize("config", ["default", "b1k8", "b2k16", "in16out32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_unpacking_is_the_inverse_of_packing(config: str, shape: tuple[int, ...]) -> None:
    env = environment(config)
    values = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    packed = pack_images(env, values)
    assert packed.shape == packed_shape(env, shape)
    np.testing.assert_array_equal(unpack_images(packed, shape), values)
