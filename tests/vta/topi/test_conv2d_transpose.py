"""Transposed convolution under TVM's names: what cannot be is refused."""

import pytest

from vta import te
from vta.topi.conv2d_transpose import TransposeError, conv2d_transpose

DATA = te.placeholder((1, 2, 4, 4, 1, 16), "int8", "data")
KERNEL = te.placeholder((1, 2, 3, 3, 16, 16), "int8", "kernel")


def refusal(*args: object) -> str:
    with pytest.raises(TransposeError) as error:
        conv2d_transpose(*args)  # type: ignore[arg-type]  # what is tested
    return str(error.value)


def test_tensors_must_be_packed() -> None:
    plain = te.placeholder((1, 2, 4, 4), "int8", "plain")
    assert refusal(plain, KERNEL, (2, 2), (1, 1, 1, 1)) == (
        "conv2d_transpose: data 'plain' is packed, of 6 dimensions, not of 4"
    )
    assert refusal(DATA, plain, (2, 2), (1, 1, 1, 1)) == (
        "conv2d_transpose: kernel 'plain' is packed, of 6 dimensions, not of 4"
    )


def test_data_and_kernel_have_the_same_channels() -> None:
    narrow = te.placeholder((1, 1, 3, 3, 16, 16), "int8", "narrow")
    assert refusal(DATA, narrow, (2, 2), (1, 1, 1, 1)) == (
        "conv2d_transpose: data 'data' has 2 blocks of 16 channels, and kernel 'narrow' takes 1 of 16"
    )


def test_pads_are_smaller_than_the_kernel() -> None:
    assert refusal(DATA, KERNEL, (2, 2), (1, 3, 1, 1)) == (
        "conv2d_transpose: pads are smaller than the kernel, 3x3; got (top, left, bottom, right) = (1, 3, 1, 1)"
    )


def test_output_padding_makes_the_result_larger() -> None:
    plain = conv2d_transpose(DATA, KERNEL, (2, 2), (1, 1, 1, 1))
    larger = conv2d_transpose(DATA, KERNEL, (2, 2), (1, 1, 1, 1), output_padding=(1, 1))
    assert [int(n) for n in plain.shape] == [1, 1, 7, 7, 1, 16]
    assert [int(n) for n in larger.shape] == [1, 1, 8, 8, 1, 16]
