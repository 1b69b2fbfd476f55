"""The accelerator's layouts in te: packing and unpacking that the host computes, as ``vta.topi.core.layout`` does in
numpy.

Sizes that are no multiple of a block are filled up with zeros, and cut off again on the way back.
Tests: tests/vta/topi/core/test_pack.py.
"""

from collections.abc import Sequence

from vta import te
from vta.tir.expr import Expr, const
from vta.topi.core.layout import blocks
from vta.topi.core.operator import OperatorError
from vta.topi.core.sizes import sizes

__all__ = [
    "pack_activations", "pack_dense_weights", "pack_kernel", "pack_transposed_kernel", "unpack_activations",
]  # fmt: skip


def pack_activations(data: te.Tensor, *, batch: int, block: int, name: str = "pack") -> te.Tensor:
    """Return (N, C, *rest) as (N/batch, C/block, *rest, batch, block)."""
    _require_rank(data, "an activation", 2, None)
    return _tiled(data, (batch, block), name)


def pack_kernel(kernel: te.Tensor, *, block_in: int, block_out: int, name: str = "pack_kernel") -> te.Tensor:
    """Return a kernel OIHW as (O/block_out, I/block_in, KH, KW, block_out, block_in)."""
    _require_rank(kernel, "a kernel OIHW", 4, 4)
    return _tiled(kernel, (block_out, block_in), name)


def pack_transposed_kernel(kernel: te.Tensor, *, block_in: int, block_out: int, name: str = "pack_kernel") -> te.Tensor:
    """Return a kernel IOHW as (O/block_out, I/block_in, KH, KW, block_out, block_in); it is not flipped."""
    _require_rank(kernel, "a kernel IOHW", 4, 4)
    return _tiled(kernel, (block_out, block_in), name, swapped=True)


def pack_dense_weights(weights: te.Tensor, *, block_in: int, block_out: int, name: str = "pack_weights") -> te.Tensor:
    """Return weights (O, I) as (O/block_out, I/block_in, block_out, block_in)."""
    _require_rank(weights, "dense weights", 2, 2)
    return _tiled(weights, (block_out, block_in), name)


def unpack_activations(packed: te.Tensor, images: int, channels: int, name: str = "unpack") -> te.Tensor:
    """Return the first ``images`` and ``channels`` of a packed activation as (N, C, *rest)."""
    _require_rank(packed, "a packed activation", 4, None)
    n, c, *rest, batch, block = sizes(packed)
    if not (1 <= images <= n * batch and 1 <= channels <= c * block):
        raise OperatorError(
            f"packed activation {packed.name!r} holds {n * batch} images of {c * block} channels, "
            f"not {images} of {channels}"
        )

    def element(i: Expr, j: Expr, *at: Expr) -> Expr:
        return packed(i // batch, j // block, *at, i % batch, j % block)

    return te.compute((images, channels, *rest), lambda *i: element(*i), name=name, tag="injective")


def _tiled(data: te.Tensor, tile: Sequence[int], name: str, *, swapped: bool = False) -> te.Tensor:
    """Return (A, B, *rest) as (A/a, B/b, *rest, a, b); of ``swapped`` tensors A is the second dimension."""
    first, second, *rest = sizes(data)
    if swapped:
        first, second = second, first
    a, b = tile

    def element(*i: Expr) -> Expr:
        row, column = i[0] * a + i[-2], i[1] * b + i[-1]
        source = data(column, row, *i[2:-2]) if swapped else data(row, column, *i[2:-2])
        inside = [place < size for place, size, block in ((row, first, a), (column, second, b)) if size % block]
        return te.if_then_else(te.all(*inside), source, const(0, data.dtype)) if inside else source

    shape = (blocks(first, a), blocks(second, b), *rest, a, b)
    return te.compute(shape, element, name=name, tag="injective")


def _require_rank(tensor: te.Tensor, what: str, least: int, most: int | None) -> None:
    if tensor.ndim < least or (most is not None and tensor.ndim > most):
        wanted = f"{least}" if most == least else f"{least} or more"
        raise OperatorError(f"tensor {tensor.name!r}: {what} has {wanted} dimensions, not {tensor.ndim}")
