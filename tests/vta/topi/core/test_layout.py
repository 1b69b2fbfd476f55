import numpy as np
import pytest

from vta.topi.core.layout import (
    LayoutError,
    blocks,
    pack_activations,
    pack_channels,
    pack_dense_weights,
    pack_kernel,
    pack_transposed_kernel,
    unpack_activations,
)

RNG = np.random.default_rng(41)


def numbers(*shape: int) -> np.ndarray:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def test_a_part_of_a_block_takes_a_block() -> None:
    assert [blocks(count, 16) for count in (0, 1, 16, 17)] == [0, 1, 1, 2]


@pytest.mark.parametrize("rest", [(), (5,), (5, 7)])
def test_an_element_of_a_packed_activation_lies_where_the_layout_says(rest: tuple[int, ...]) -> None:
    array = numbers(3, 21, *rest)
    packed = pack_activations(array, batch=2, block=8)
    assert packed.shape == (2, 3, *rest, 2, 8)
    for n, c, *where in np.ndindex(4, 24, *rest):
        expected = array[(n, c, *where)] if n < 3 and c < 21 else 0
        assert packed[(n // 2, c // 8, *where, n % 2, c % 8)] == expected


@pytest.mark.parametrize("rest", [(), (5, 7)])
def test_unpacking_undoes_packing(rest: tuple[int, ...]) -> None:
    array = numbers(3, 21, *rest)
    np.testing.assert_array_equal(unpack_activations(pack_activations(array, batch=2, block=8), 3, 21), array)


def test_an_element_of_a_packed_kernel_lies_where_the_layout_says() -> None:
    kernel = numbers(21, 9, 3, 2)
    packed = pack_kernel(kernel, block_in=4, block_out=8)
    transposed = pack_transposed_kernel(kernel.swapaxes(0, 1), block_in=4, block_out=8)
    assert packed.shape == (3, 3, 3, 2, 8, 4)
    for o, i, y, x in np.ndindex(24, 12, 3, 2):
        assert packed[o // 8, i // 4, y, x, o % 8, i % 4] == (kernel[o, i, y, x] if o < 21 and i < 9 else 0)
    np.testing.assert_array_equal(transposed, packed)


def test_an_element_of_packed_dense_weights_lies_where_the_layout_says() -> None:
    weights = numbers(21, 9)
    packed = pack_dense_weights(weights, block_in=4, block_out=8)
    assert packed.shape == (3, 3, 8, 4)
    for o, i in np.ndindex(24, 12):
        assert packed[o // 8, i // 4, o % 8, i % 4] == (weights[o, i] if o < 21 and i < 9 else 0)


@pytest.mark.parametrize("rank", [4, 6])
def test_a_value_for_each_channel_is_the_same_for_every_image_of_a_tile(rank: int) -> None:
    values = numbers(21)
    packed = pack_channels(values, batch=2, block=8, rank=rank)
    assert packed.shape == (1, 3, *[1] * (rank - 4), 2, 8)
    for image in range(2):
        np.testing.assert_array_equal(packed[..., image, :].reshape(24), [*values, 0, 0, 0])


def test_a_packed_array_has_the_type_of_the_plain_one() -> None:
    assert pack_channels(np.ones(3, np.int32), batch=1, block=8).dtype == np.int32
    assert pack_activations(np.ones((1, 3), np.int16), batch=1, block=8).dtype == np.int16


def test_shapes_that_do_not_go_with_a_layout_are_refused() -> None:
    with pytest.raises(LayoutError) as caught:
        pack_kernel(numbers(2, 3, 4), block_in=8, block_out=8)
    assert str(caught.value) == "a kernel OIHW has 4 dimensions, not 3 (shape (2, 3, 4))"
    with pytest.raises(LayoutError) as caught:
        pack_activations(numbers(2), batch=1, block=8)
    assert str(caught.value) == "an activation has 2 or more dimensions, not 1 (shape (2,))"
    with pytest.raises(LayoutError) as caught:
        pack_channels(numbers(2), batch=1, block=8, rank=3)
    assert str(caught.value) == "a packed activation has 4 dimensions or more, not 3"
    with pytest.raises(LayoutError) as caught:
        unpack_activations(numbers(1, 2, 3, 4, 1, 8), 1, 17)
    assert str(caught.value) == (
        "a packed activation of shape (1, 2, 3, 4, 1, 8) holds 1 images of 16 channels, not 1 of 17"
    )
