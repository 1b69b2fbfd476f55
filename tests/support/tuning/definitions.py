"""Definitions in te that no template is written for, small enough to be measured."""

from vta import te, topi
from vta.environment import get_env

__all__ = ["convolution", "pool_with_residual", "two_products"]


def convolution(blocks_in: int, size: int, blocks_out: int) -> list[te.Tensor]:
    """Return a convolution of 3x3 with a shift, a bias and limits."""
    env = get_env()
    data = te.placeholder((1, blocks_in, size, size, env.BATCH, env.BLOCK_IN), env.inp_dtype, "data")
    kernel = te.placeholder((blocks_out, blocks_in, 3, 3, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "kernel")
    bias = te.placeholder((1, blocks_out, 1, 1, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "bias")
    sums = topi.conv2d(data, kernel, (1, 1), (1, 1, 1, 1), (1, 1))
    result = topi.clip(topi.add(topi.right_shift(sums, 6), bias), -100, 100)
    return [data, kernel, bias, topi.cast(result, env.out_dtype)]


def pool_with_residual(blocks: int, size: int) -> list[te.Tensor]:
    """Return a pool of 2x2, a tensor added to it, and limits."""
    env = get_env()
    cells = (env.BATCH, env.BLOCK_OUT)
    data = te.placeholder((1, blocks, 2 * size, 2 * size, *cells), "int8", "data")
    other = te.placeholder((1, blocks, size, size, *cells), "int8", "other")
    layout = f"NCHW{env.BATCH}n{env.BLOCK_OUT}c"
    pooled = topi.nn.pool2d(topi.cast(data, "int32"), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max", layout=layout)
    result = topi.clip(topi.add(pooled, topi.cast(other, "int32")), -128, 127)
    return [data, other, topi.cast(result, env.out_dtype)]


def two_products() -> list[te.Tensor]:
    """Return two convolutions whose results are multiplied."""
    env = get_env()
    data, kernel, *_ = convolution(1, 4, 1)
    other = te.placeholder(kernel.shape, env.wgt_dtype, "other")
    first, second = (topi.conv2d(data, each, (1, 1), (1, 1, 1, 1), (1, 1)) for each in (kernel, other))
    return [data, kernel, other, topi.cast(topi.right_shift(topi.multiply(first, second), 9), env.out_dtype)]
