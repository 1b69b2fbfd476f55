import numpy as np
import pytest

from tests.support.compiler.host_run import on_host
from vta import te
from vta.topi.core import layout, pack
from vta.topi.core.operator import OperatorError


def numbers(*shape: int, dtype: str = "int8") -> tuple[te.Tensor, np.ndarray]:
    values = np.random.default_rng(9).integers(-128, 128, shape).astype(dtype)
    return te.placeholder(shape, dtype, "data"), values


@pytest.mark.parametrize("shape", [(3, 21, 5, 4), (2, 16, 3, 3), (1, 33), (4, 8, 7)])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_activations_are_packed_and_unpacked_as_in_numpy(shape: tuple[int, ...], dtype: str) -> None:
    data, values = numbers(*shape, dtype=dtype)
    packed = pack.pack_activations(data, batch=2, block=8)
    expected = layout.pack_activations(values, batch=2, block=8)
    np.testing.assert_array_equal(on_host(packed, [data], values), expected)
    held = te.placeholder(expected.shape, dtype, "held")
    plain = pack.unpack_activations(held, shape[0], shape[1])
    np.testing.assert_array_equal(on_host(plain, [held], expected), values)


@pytest.mark.parametrize("shape", [(21, 9, 3, 2), (32, 16, 1, 1)])
def test_kernels_are_packed_as_in_numpy(shape: tuple[int, ...]) -> None:
    data, values = numbers(*shape)
    packed = pack.pack_kernel(data, block_in=8, block_out=16)
    np.testing.assert_array_equal(on_host(packed, [data], values), layout.pack_kernel(values, block_in=8, block_out=16))
    packed = pack.pack_transposed_kernel(data, block_in=8, block_out=16)
    np.testing.assert_array_equal(
        on_host(packed, [data], values), layout.pack_transposed_kernel(values, block_in=8, block_out=16)
    )


def test_dense_weights_are_packed_as_in_numpy() -> None:
    data, values = numbers(21, 9)
    packed = pack.pack_dense_weights(data, block_in=8, block_out=16)
    np.testing.assert_array_equal(
        on_host(packed, [data], values), layout.pack_dense_weights(values, block_in=8, block_out=16)
    )


def test_tensors_that_a_layout_is_not_for_are_refused() -> None:
    data, _ = numbers(3, 4, 5)
    with pytest.raises(OperatorError) as caught:
        pack.pack_kernel(data, block_in=8, block_out=16)
    assert str(caught.value) == "tensor 'data': a kernel OIHW has 4 dimensions, not 3"
    with pytest.raises(OperatorError) as caught:
        pack.unpack_activations(data, 1, 1)
    assert str(caught.value) == "tensor 'data': a packed activation has 4 or more dimensions, not 3"
    packed, _ = numbers(2, 3, 2, 8)
    with pytest.raises(OperatorError) as caught:
        pack.unpack_activations(packed, 5, 24)
    assert str(caught.value) == "packed activation 'data' holds 4 images of 24 channels, not 5 of 24"
