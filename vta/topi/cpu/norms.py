"""Normalisations and losses: ``topi.nn.lrn``, ``l2_normalize``, ``instance_norm``, ``topi.nll_loss``.

Tests: tests/vta/topi/cpu/test_norms.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta import te
from vta.tir import math_ops, ops
from vta.tir.expr import Expr, ExprLike, const
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.rearrange import sizes_of
from vta.topi.cpu.reductions import axes_of
from vta.topi.cpu.reductions import sum as total
from vta.topi.nn.pad import pad

__all__ = ["binarize_pack", "binary_dense", "instance_norm", "l2_normalize", "lrn", "nll_loss"]


def lrn(
    data: te.Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2
) -> te.Tensor:
    """Return each element over (bias + alpha / size * squares of ``size`` neighbours along ``axis``) ** beta."""
    [dim] = axes_of("nn.lrn", data.ndim, axis)
    if not data.dtype.is_float or size < 1 or size % 2 == 0:
        raise OperatorError(f"topi.nn.lrn: expected floats and an odd number of neighbours, got {data.dtype}, {size}")
    widths = [size // 2 if d == dim else 0 for d in range(data.ndim)]
    padded = pad(data, widths, widths, 0, name="pad_temp")
    k = te.reduce_axis((0, size), "k")

    def squares(*i: Expr) -> Expr:
        value = padded(*i[:dim], i[dim] + k, *i[dim + 1 :])
        return te.sum(value * value, axis=k)

    sums = te.compute(data.shape, squares, name="T_lrn_squares", tag="comm_reduce")
    kind = data.dtype

    def element(*i: Expr) -> Expr:
        return data(*i) / ops.power(const(bias, kind) + const(alpha / size, kind) * sums(*i), const(beta, kind))

    return te.compute(data.shape, element, name="T_lrn", tag="broadcast")


def l2_normalize(data: te.Tensor, eps: float, axis: Sequence[int] | None = None) -> te.Tensor:
    """Return ``data`` over the root of its squares' sum along ``axis``, of ``eps`` at least."""
    axes = axes_of("nn.l2_normalize", data.ndim, None if axis is None else list(axis))
    squares = te.compute(data.shape, lambda *i: data(*i) * data(*i), name="T_squares", tag="elemwise")
    sums = total(squares, axes, keepdims=True)

    def element(*i: Expr) -> Expr:
        kept: list[ExprLike] = [0 if d in axes else index for d, index in enumerate(i)]
        return data(*i) / te.sqrt(ops.max(sums(*kept), const(eps, data.dtype)))

    return te.compute(data.shape, element, name="T_l2_normalize", tag="broadcast")


def instance_norm(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    channel_axis: int,
    axis: Sequence[int],
    epsilon: float = 1e-5,
) -> te.Tensor:
    """Return ``data`` less its average over its deviation, both along ``axis``, times ``gamma`` plus ``beta``."""
    if not data.dtype.is_float:
        raise OperatorError(f"topi.nn.instance_norm: expected floats, got {data.dtype}")
    axes = axes_of("nn.instance_norm", data.ndim, list(axis))
    [channel] = axes_of("nn.instance_norm", data.ndim, channel_axis)
    count = const(1)
    for d in axes:
        count = count * data.shape[d]
    kind = data.dtype
    sums = total(data, axes, keepdims=True)

    def kept(i: Sequence[Expr]) -> list[ExprLike]:
        return [0 if d in axes else index for d, index in enumerate(i)]

    away = te.compute(data.shape, lambda *i: data(*i) - sums(*kept(i)) / count.astype(kind), name="T_centred")
    squares = te.compute(data.shape, lambda *i: away(*i) * away(*i), name="T_squares", tag="elemwise")
    variance = total(squares, axes, keepdims=True)

    def element(*i: Expr) -> Expr:
        root = math_ops.rsqrt(variance(*kept(i)) / count.astype(kind) + const(epsilon, kind))
        return away(*i) * root * gamma(i[channel]) + beta(i[channel])

    return te.compute(data.shape, element, name="T_instance_norm", tag="injective")


def nll_loss(
    predictions: te.Tensor,
    targets: te.Tensor,
    weights: te.Tensor,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> te.Tensor:
    """Return the negative prediction of each target, weighted; their sum, or weighted mean, unless ``reduction`` is
    "none". Targets equal to ``ignore_index`` do not count."""
    if reduction not in ("mean", "sum", "none"):
        raise OperatorError(f"topi.nll_loss: reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    zero, last = const(0, predictions.dtype), predictions.shape[1] - 1

    def chosen(i: Sequence[Expr]) -> tuple[Expr, Expr]:
        target = targets(*i)
        return target != ignore_index, ops.max(ops.min(target.astype("int32"), last), 0)  # type: ignore[return-value]

    def loss(*i: Expr) -> Expr:
        counts, place = chosen(i)
        value = -predictions(*i[:1], place, *i[1:]) * weights(place) if i else -predictions(place) * weights(place)
        return ops.select(ops.all(counts), value, zero)

    def weight(*i: Expr) -> Expr:
        counts, place = chosen(i)
        return ops.select(ops.all(counts), weights(place), zero)

    losses = te.compute(targets.shape, loss, name="T_nll_loss", tag="injective")
    if reduction == "none":
        return losses
    whole = total(losses, list(range(targets.ndim)))
    if reduction == "sum":
        return whole
    counted = total(te.compute(targets.shape, weight, name="T_nll_weights"), list(range(targets.ndim)))
    return te.compute(whole.shape, lambda *i: whole(*i) / counted(*i), name="T_nll_mean", tag="elemwise")


def binarize_pack(data: te.Tensor, axis: int | None = None, name: str = "PackedInput") -> te.Tensor:
    """Return 32 signs along ``axis`` in a uint32 each, the first in its highest bit: 1 for an element of at least 0."""
    [dim] = axes_of("nn.binarize_pack", data.ndim, data.ndim - 1 if axis is None else axis)
    size = sizes_of(data, "nn.binarize_pack")[dim]
    if size % 32:
        raise OperatorError(f"topi.nn.binarize_pack: {size} elements along dimension {dim} are no multiple of 32")

    def element(*i: Expr) -> Expr:
        word = const(0, "uint32")
        for k in range(32):
            value = data(*i[:dim], i[dim] * 32 + k, *i[dim + 1 :])
            word = word | ((value >= const(0, data.dtype)).astype("uint32") << const(31 - k, "uint32"))
        return word

    extents = [const(size // 32) if d == dim else e for d, e in enumerate(data.shape)]
    return te.compute(extents, element, name=name, tag="binarize_pack")


def binary_dense(data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return products of rows of signs, as ``binarize_pack`` packs them: how many agree less how many do not."""
    if data.ndim != 2 or weight.ndim != 2 or data.dtype != weight.dtype or str(data.shape[1]) != str(weight.shape[1]):
        raise OperatorError(f"topi.nn.binary_dense: {data!r} and {weight!r} do not go together")
    k = te.reduce_axis((0, data.shape[1]), "k")
    bits = data.dtype.bits

    def differing(i: Expr, j: Expr) -> Expr:
        return te.sum(math_ops.popcount(data(i, k) ^ weight(j, k)).astype("int32"), axis=k)

    different = te.compute((data.shape[0], weight.shape[0]), differing, name="T_binary_dense_bits")
    return te.compute(
        different.shape, lambda i, j: data.shape[1] * bits - 2 * different(i, j), name="T_binary_dense", tag="elemwise"
    )
