"""Layers: ``topi.nn.relu``, ``softmax``, ``dense``, ``batch_matmul``, ``layer_norm``, ...

Tests: tests/vta/topi/cpu/test_nn.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce as fold
from operator import mul

from vta import te
from vta.tir import math_ops, ops
from vta.tir.expr import Expr, ExprLike, const
from vta.topi.alu.broadcast import unary_stage
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.rearrange import reshape
from vta.topi.cpu.reductions import axes_of
from vta.topi.cpu.reductions import max as largest
from vta.topi.cpu.reductions import sum as total

__all__ = [
    "batch_matmul", "batch_norm", "bias_add", "dense", "flatten", "layer_norm", "leaky_relu", "log_softmax", "matmul",
    "prelu", "relu", "scale_shift_nchw", "softmax",
]  # fmt: skip


def relu(x: te.Tensor) -> te.Tensor:
    """Return what is above zero."""
    return unary_stage("T_relu", x, lambda value: ops.max(value, const(0, value.dtype)))


def leaky_relu(x: te.Tensor, alpha: float) -> te.Tensor:
    """Return what is above zero, and ``alpha`` times what is below."""
    return unary_stage(
        "T_leaky_relu",
        x,
        lambda value: ops.select(value > const(0, value.dtype), value, value * const(alpha, value.dtype)),
    )


def prelu(x: te.Tensor, slope: te.Tensor, axis: int = 1) -> te.Tensor:
    """Return what is above zero, and ``slope`` of its place along ``axis`` times what is below."""
    [dim] = axes_of("nn.prelu", x.ndim, axis)
    zero = const(0, x.dtype)
    return te.compute(
        x.shape, lambda *i: ops.select(x(*i) > zero, x(*i), x(*i) * slope(i[dim])), name="T_prelu", tag="elemwise"
    )


def flatten(data: te.Tensor) -> te.Tensor:
    """Return ``data`` with all dimensions but the first made one."""
    return reshape(data, [data.shape[0], fold(mul, data.shape[1:], const(1))])


def bias_add(data: te.Tensor, bias: te.Tensor, axis: int = 1) -> te.Tensor:
    """Return ``data`` with ``bias`` of its place along ``axis`` added."""
    [dim] = axes_of("nn.bias_add", data.ndim, axis)
    return te.compute(data.shape, lambda *i: data(*i) + bias(i[dim]), name="T_bias_add", tag="broadcast")


def _floats(name: str, x: te.Tensor) -> None:
    if not x.dtype.is_float:
        raise OperatorError(f"topi.nn.{name}: expected floats, got {x.dtype}")


def softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """Return exp(x) over its sum along ``axis``; the largest element is taken off first."""
    _floats("softmax", x)
    [dim] = axes_of("nn.softmax", x.ndim, axis)
    most = largest(x, dim, keepdims=True)
    powers = te.compute(x.shape, lambda *i: te.exp(x(*i) - most(*_at(i, dim))), name="T_softmax_exp", tag="injective")
    sums = total(powers, dim, keepdims=True)
    return te.compute(x.shape, lambda *i: powers(*i) / sums(*_at(i, dim)), name="T_softmax_norm", tag="softmax_output")


def log_softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """Return the logarithm of ``softmax``, without the powers' limits."""
    _floats("log_softmax", x)
    [dim] = axes_of("nn.log_softmax", x.ndim, axis)
    most = largest(x, dim, keepdims=True)
    powers = te.compute(x.shape, lambda *i: te.exp(x(*i) - most(*_at(i, dim))), name="T_log_softmax_exp")
    sums = total(powers, dim, keepdims=True)
    return te.compute(
        x.shape,
        lambda *i: x(*i) - most(*_at(i, dim)) - te.log(sums(*_at(i, dim))),
        name="T_log_softmax",
        tag="log_softmax_output",
    )


def _at(indices: Sequence[Expr], dim: int) -> list[ExprLike]:
    return [0 if d == dim else index for d, index in enumerate(indices)]


def matmul(
    a: te.Tensor, b: te.Tensor, transp_a: bool = False, transp_b: bool = False, out_dtype: str | None = None
) -> te.Tensor:
    """Return the product of two matrices, each turned round first if asked for."""
    rows, depth = a.shape[::-1] if transp_a else a.shape
    depth_b, columns = b.shape[::-1] if transp_b else b.shape
    _agree("matmul", depth, depth_b)
    kind = out_dtype or a.dtype
    k = te.reduce_axis((0, depth), name="k")

    def element(i: Expr, j: Expr) -> Expr:
        x = a(k, i) if transp_a else a(i, k)
        y = b(j, k) if transp_b else b(k, j)
        return te.sum(x.astype(kind) * y.astype(kind), axis=k)

    return te.compute((rows, columns), element, name="T_matmul", tag="matmul")


def _agree(name: str, a: Expr, b: Expr) -> None:
    if str(a) != str(b):
        raise OperatorError(f"topi.nn.{name}: {a} and {b} elements are multiplied; expected as many of both")


def dense(data: te.Tensor, weight: te.Tensor, bias: te.Tensor | None = None, out_dtype: str | None = None) -> te.Tensor:
    """Return ``data`` (batch, in) times ``weight`` (out, in) turned round, with ``bias`` (out) added."""
    if data.ndim != 2 or weight.ndim != 2:
        raise OperatorError(f"topi.nn.dense: expected two matrices, got {data.ndim} and {weight.ndim} dimensions")
    product = matmul(data, weight, transp_b=True, out_dtype=out_dtype)
    if bias is None:
        return product
    return te.compute(
        product.shape, lambda i, j: product(i, j) + bias(j).astype(product.dtype), name="T_dense_bias", tag="broadcast"
    )


def batch_matmul(
    a: te.Tensor, b: te.Tensor, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = True
) -> te.Tensor:
    """Return the products of matrices, pair by pair; a batch of one goes with every other."""
    rows, depth = (a.shape[2], a.shape[1]) if transpose_a else (a.shape[1], a.shape[2])
    columns, depth_b = (b.shape[1], b.shape[2]) if transpose_b else (b.shape[2], b.shape[1])
    _agree("batch_matmul", depth, depth_b)
    one_a, one_b = str(a.shape[0]) == "1", str(b.shape[0]) == "1"
    if not (one_a or one_b):
        _agree("batch_matmul", a.shape[0], b.shape[0])
    kind = out_dtype or a.dtype
    k = te.reduce_axis((0, depth), name="k")

    def element(n: Expr, i: Expr, j: Expr) -> Expr:
        at_a, at_b = (const(0) if one_a else n), (const(0) if one_b else n)
        x = a(at_a, k, i) if transpose_a else a(at_a, i, k)
        y = b(at_b, j, k) if transpose_b else b(at_b, k, j)
        return te.sum(x.astype(kind) * y.astype(kind), axis=k)

    return te.compute((b.shape[0] if one_a else a.shape[0], rows, columns), element, name="T_batch_matmul")


def scale_shift_nchw(inputs: te.Tensor, scale: te.Tensor, shift: te.Tensor) -> te.Tensor:
    """Return ``inputs`` times ``scale`` plus ``shift`` of the channel, dimension 1."""
    return te.compute(
        inputs.shape, lambda n, c, *i: inputs(n, c, *i) * scale(c) + shift(c), name="T_scale_shift", tag="broadcast"
    )


def batch_norm(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    moving_mean: te.Tensor,
    moving_var: te.Tensor,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> list[te.Tensor]:
    """Return the normalised data with the given mean and variance of each place along ``axis``, and these two."""
    _floats("batch_norm", data)
    [dim] = axes_of("nn.batch_norm", data.ndim, axis)

    def element(*i: Expr) -> Expr:
        c = i[dim]
        value = (data(*i) - moving_mean(c)) / te.sqrt(moving_var(c) + const(epsilon, data.dtype))
        value = value * gamma(c) if scale else value
        return value + beta(c) if center else value

    return [te.compute(data.shape, element, name="T_batch_norm", tag="broadcast"), moving_mean, moving_var]


def layer_norm(
    data: te.Tensor, gamma: te.Tensor, beta: te.Tensor | None, axis: Sequence[int], epsilon: float = 1e-5
) -> te.Tensor:
    """Return ``data`` less its average over its deviation, both along ``axis``, times ``gamma`` plus ``beta``."""
    _floats("layer_norm", data)
    axes = axes_of("nn.layer_norm", data.ndim, list(axis))
    count = fold(mul, (data.shape[d] for d in axes)).astype(data.dtype)
    sums = total(data, axes, keepdims=True)

    def kept(i: Sequence[Expr]) -> list[ExprLike]:
        return [0 if d in axes else index for d, index in enumerate(i)]

    away = te.compute(data.shape, lambda *i: data(*i) - sums(*kept(i)) / count, name="T_layer_norm_centred")
    squares = te.compute(data.shape, lambda *i: away(*i) * away(*i), name="T_layer_norm_squares", tag="elemwise")
    variance = total(squares, axes, keepdims=True)

    def element(*i: Expr) -> Expr:
        own = [i[d] for d in axes]
        value = away(*i) * math_ops.rsqrt(variance(*kept(i)) / count + const(epsilon, data.dtype)) * gamma(*own)
        return value if beta is None else value + beta(*own)

    return te.compute(data.shape, element, name="T_layer_norm", tag="injective")
