"""Definitions in te that no template is written for, small enough to be measured."""

from collections.abc import Callable

from vta import te, topi
from vta.environment import get_env
from vta.intrin import depthwise_product
from vta.tir.expr import Expr

__all__ = [
    "convolution", "dense", "depthwise", "depthwise_taps", "gated", "pool_with_residual", "two_products",
]  # fmt: skip


def _image(blocks: int, height: int, width: int, name: str = "data") -> te.Tensor:
    env = get_env()
    return te.placeholder((1, blocks, height, width, env.BATCH, env.BLOCK_IN), env.inp_dtype, name)


def _kernel(blocks_out: int, blocks_in: int, size: int, name: str = "kernel") -> te.Tensor:
    env = get_env()
    return te.placeholder((blocks_out, blocks_in, size, size, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, name)


def _bias(blocks: int) -> te.Tensor:
    env = get_env()
    return te.placeholder((1, blocks, 1, 1, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "bias")


def _stored(sums: te.Tensor, low: int, high: int) -> te.Tensor:
    return topi.cast(topi.clip(sums, low, high), get_env().out_dtype)


def convolution(blocks_in: int, size: int, blocks_out: int, kernel: int = 3, stride: int = 1) -> list[te.Tensor]:
    """Return a convolution with a shift, a bias and limits."""
    data, weights, bias = _image(blocks_in, size, size), _kernel(blocks_out, blocks_in, kernel), _bias(blocks_out)
    sums = topi.conv2d(data, weights, (stride,) * 2, (kernel // 2,) * 4, (1, 1))
    return [data, weights, bias, _stored(topi.add(topi.right_shift(sums, 6), bias), -100, 100)]


def pool_with_residual(blocks: int, size: int, kind: str = "max") -> list[te.Tensor]:
    """Return a pool of 2x2, a tensor added to it, and limits."""
    env = get_env()
    cells = (env.BATCH, env.BLOCK_OUT)
    data = te.placeholder((1, blocks, 2 * size, 2 * size, *cells), "int8", "data")
    other = te.placeholder((1, blocks, size, size, *cells), "int8", "other")
    layout = f"NCHW{env.BATCH}n{env.BLOCK_OUT}c"
    wide = topi.cast(data, "int32") if kind == "max" else data
    pooled = topi.nn.pool2d(wide, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), kind, layout=layout)
    return [data, other, _stored(topi.add(pooled, topi.cast(other, "int32")), -128, 127)]


def gated(blocks_in: int, height: int, width: int, blocks_out: int, kernel: int = 3) -> list[te.Tensor]:
    """Return a convolution times what limits make of another one of the same data."""
    data = _image(blocks_in, height, width)
    first, second = (_kernel(blocks_out, blocks_in, kernel, name) for name in ("kernel", "gate"))
    sums, gate = (topi.conv2d(data, each, (1, 1), (kernel // 2,) * 4, (1, 1)) for each in (first, second))
    opened = topi.clip(topi.right_shift(gate, 7), 0, 64)
    scaled = topi.right_shift(topi.multiply(topi.right_shift(sums, 6), opened), 6)
    return [data, first, second, _stored(scaled, -128, 127)]


def depthwise(blocks: int, height: int, width: int, stride: int = 1) -> list[te.Tensor]:
    """Return a convolution of 3x3 with weights in the diagonals, a bias, a shift and limits."""
    data, kernel, bias = _image(blocks, height, width), _kernel(blocks, 1, 3), _bias(blocks)
    sums = topi.group_conv2d(data, kernel, (stride,) * 2, (1, 1, 1, 1), (1, 1), blocks)
    return [data, kernel, bias, _stored(topi.right_shift(topi.add(sums, bias), 6), 0, 127)]


def depthwise_taps(blocks: int, height: int, width: int) -> list[te.Tensor]:
    """Return a depthwise convolution of rows of DEPTHWISE_TAPS places, of which a step takes one, and a residual."""
    env = get_env()
    taps = env.config.depthwise_taps
    data, kernel = _image(blocks, height, width + taps - 1), _kernel(blocks, 1, 1)
    other = te.placeholder((1, blocks, height, width, env.BATCH, env.BLOCK_OUT), "int8", "other")
    lanes = te.reduce_axis((0, env.BLOCK_IN), "lanes")

    def element(n: Expr, c: Expr, h: Expr, w: Expr, b: Expr, o: Expr) -> Expr:
        value: Callable[[Expr], Expr] = lambda tap: data(n, c, h, w + tap, b, o).astype(env.acc_dtype)  # noqa: E731
        return te.sum(
            depthwise_product(value, kernel(c, 0, 0, 0, o, lanes).astype(env.acc_dtype), lanes.var, taps), axis=[lanes]
        )

    sums = te.compute((1, blocks, height, width, env.BATCH, env.BLOCK_OUT), element, name="own")
    return [data, kernel, other, _stored(topi.add(topi.right_shift(sums, 4), topi.cast(other, "int32")), -128, 127)]


def dense(rows: int, inner: int, columns: int) -> list[te.Tensor]:
    """Return a product of matrices of one's own, the weights in front, with a bias and a shift."""
    env = get_env()
    data = te.placeholder((rows, inner, env.BATCH, env.BLOCK_IN), env.inp_dtype, "data")
    weights = te.placeholder((columns, inner, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "weights")
    bias = te.placeholder((1, columns, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "bias")
    k, i = te.reduce_axis((0, inner), "k"), te.reduce_axis((0, env.BLOCK_IN), "i")
    wide = env.acc_dtype
    sums = te.compute(
        (rows, columns, env.BATCH, env.BLOCK_OUT),
        lambda n, c, b, o: te.sum(weights(c, k, o, i).astype(wide) * data(n, k, b, i).astype(wide), axis=[k, i]),
        name="own",
    )
    return [data, weights, bias, _stored(topi.right_shift(topi.add(sums, bias), 5), -128, 127)]


def two_products() -> list[te.Tensor]:
    """Return two convolutions of one padded image whose results are multiplied."""
    env = get_env()
    data, kernel = _image(1, 4, 4), _kernel(1, 1, 3)
    other = te.placeholder(kernel.shape, env.wgt_dtype, "other")
    padded = topi.nn.pad(data, [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0])
    first, second = (topi.conv2d(padded, each, (1, 1), (0, 0, 0, 0), (1, 1)) for each in (kernel, other))
    return [data, kernel, other, topi.cast(topi.right_shift(topi.multiply(first, second), 9), env.out_dtype)]
