"""Transposed convolution under TVM's names, on every configuration; what cannot be is refused."""

from typing import NamedTuple

import numpy as np
import pytest

import vta
from tests.support.configs import CONFIGS
from tests.support.turns import in_turn
from vta import te
from vta.nd import array, empty, ext_dev
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.transposed.conv2d_transpose import (
    TransposeError,
    TransposeTemplate,
    conv2d_transpose,
    schedule_conv2d_transpose,
)

DATA = te.placeholder((1, 2, 4, 4, 1, 16), "int8", "data")
KERNEL = te.placeholder((1, 2, 3, 3, 16, 16), "int8", "kernel")


def refusal(*args: object) -> str:
    with pytest.raises(TransposeError) as error:
        conv2d_transpose(*args)  # what is tested
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


class Case(NamedTuple):
    """A packed layer: images, blocks in and out, size, kernel, strides, pads, output padding, the template's tiles."""

    images: int
    blocks: tuple[int, int]
    size: tuple[int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int, int, int]
    more: tuple[int, int]
    tiles: TransposeTemplate


CASES = {
    "tiles_that_do_not_divide": Case(
        1, (2, 2), (5, 4), (3, 3), (2, 2), (1, 1, 1, 1), (0, 0), TransposeTemplate(3, 8, 1, 2)
    ),
    "two_threads": Case(
        1, (2, 4), (4, 4), (4, 4), (2, 2), (1, 1, 1, 1), (0, 0), TransposeTemplate(4, 8, 1, 2, oc_nthread=2)
    ),
    "all_apart": Case(2, (1, 2), (3, 5), (2, 3), (2, 1), (0, 1, 1, 0), (1, 0), TransposeTemplate(2, 7)),
}


@pytest.mark.parametrize(("name", "config"), in_turn(CASES, CONFIGS))
def test_the_template_is_numpys(name: str, config: str) -> None:
    case = CASES[name]
    with vta.Environment(CONFIGS[config]) as env:
        taken, made = case.blocks
        data = te.placeholder((case.images, taken, *case.size, env.BATCH, env.BLOCK_IN), env.inp_dtype, "data")
        kernel = te.placeholder((made, taken, *case.kernel, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "kernel")
        sums = conv2d_transpose(data, kernel, case.strides, case.padding, output_padding=case.more)
        appended = epilogue.append(sums, (ShiftRight(6), Bias(), Clip(-100, 100)), env)
        args = [data, kernel, *appended.inputs, appended.result]
        module = vta.build(schedule_conv2d_transpose([appended.result], case.tiles), args, target=env.target)
        rng = np.random.default_rng(1)
        values = [rng.integers(-90, 90, [int(n) for n in t.shape]).astype(str(t.dtype)) for t in args[:-1]]
        device = ext_dev(0)
        result = empty(appended.result.shape, env.out_dtype, device)
        module(*(array(value, device) for value in values), result)
    np.testing.assert_array_equal(result.numpy(), expected(case, *values))


def expected(case: Case, data: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return the correlation with the flipped kernel over the dilated, padded data."""
    dilated = np.zeros(
        (*data.shape[:2], *((n - 1) * s + 1 for n, s in zip(case.size, case.strides, strict=True)), *data.shape[4:])
    )
    dilated[:, :, :: case.strides[0], :: case.strides[1]] = data
    around = [
        (k - 1 - before, k - 1 - after + more)
        for k, before, after, more in zip(case.kernel, case.padding[:2], case.padding[2:], case.more, strict=True)
    ]
    padded = np.pad(dilated, ((0, 0), (0, 0), *around, (0, 0), (0, 0)))
    rows, columns = (n - k + 1 for n, k in zip(padded.shape[2:4], case.kernel, strict=True))
    sums = sum(
        np.einsum("ncyxbi,ocpi->noyxbp", padded[:, :, i : i + rows, j : j + columns], kernel[:, :, i, j])
        for i in range(case.kernel[0])
        for j in range(case.kernel[1])
    )
    return np.clip((sums.astype(np.int64) >> 6) + bias, -100, 100)
