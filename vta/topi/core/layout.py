"""Arrays in the accelerator's layouts: numpy in, numpy out, channels and batch padded to whole blocks with zeros.

A packed activation of N images with C channels is ``(N/batch, C/block, *rest, batch, block)``; ``rest`` is (H, W) for
images (TVM's ``NCHW{batch}n{block}c``) and empty for the operands of dense layers. Sizes that are no multiple of a
block are filled up with zeros, and cut off again on the way back. Tests: tests/vta/topi/core/test_layout.py.
"""

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from runtime.executor import layouts

__all__ = [
    "LayoutError", "blocks", "pack_activations", "pack_channels", "pack_dense_weights", "pack_kernel",
    "pack_transposed_kernel", "unpack_activations",
]  # fmt: skip

Array = npt.NDArray[np.generic]


class LayoutError(VTAError, ValueError):
    """An array whose shape does not go with a layout."""


def blocks(count: int, block: int) -> int:
    """Return how many blocks hold ``count`` things."""
    return -(-count // block)


def pack_activations(array: Array, *, batch: int, block: int) -> Array:
    """Return (N, C, *rest) as (N/batch, C/block, *rest, batch, block)."""
    _require_rank(array, "an activation", 2, None)
    return layouts.packed(array, batch=batch, block=block)


def unpack_activations(packed: Array, images: int, channels: int) -> Array:
    """Return the first ``images`` and ``channels`` of a packed activation as (N, C, *rest)."""
    _require_rank(packed, "a packed activation", 4, None)
    n, c, batch, block = *packed.shape[:2], *packed.shape[-2:]
    if images > n * batch or channels > c * block:
        raise LayoutError(
            f"a packed activation of shape {packed.shape} holds {n * batch} images of {c * block} channels, "
            f"not {images} of {channels}"
        )
    return layouts.unpacked(packed, images=images, channels=channels)


def pack_kernel(kernel: Array, *, block_in: int, block_out: int) -> Array:
    """Return a kernel OIHW as (O/block_out, I/block_in, KH, KW, block_out, block_in)."""
    _require_rank(kernel, "a kernel OIHW", 4, 4)
    return _tiled(kernel, (block_out, block_in))


def pack_transposed_kernel(kernel: Array, *, block_in: int, block_out: int) -> Array:
    """Return a kernel IOHW as (O/block_out, I/block_in, KH, KW, block_out, block_in); it is not flipped."""
    _require_rank(kernel, "a kernel IOHW", 4, 4)
    return _tiled(kernel.swapaxes(0, 1), (block_out, block_in))


def pack_dense_weights(weights: Array, *, block_in: int, block_out: int) -> Array:
    """Return weights (O, I) as (O/block_out, I/block_in, block_out, block_in)."""
    _require_rank(weights, "dense weights", 2, 2)
    return _tiled(weights, (block_out, block_in))


def pack_channels(values: Array, *, batch: int, block: int, rank: int = 6) -> Array:
    """Return one value a channel, (C,), as (1, C/block, 1, ..., batch, block) of ``rank``: the same for every image."""
    _require_rank(values, "a value for each channel", 1, 1)
    if rank < 4:
        raise LayoutError(f"a packed activation has 4 dimensions or more, not {rank}")
    count = blocks(len(values), block)
    padded = np.zeros(count * block, values.dtype)
    padded[: len(values)] = values
    shape = (1, count, *[1] * (rank - 4), 1, block)
    return np.ascontiguousarray(np.broadcast_to(padded.reshape(shape), (*shape[:-2], batch, block)))


def _tiled(array: Array, tile: tuple[int, int]) -> Array:
    """Return (A, B, *rest) as (A/a, B/b, *rest, a, b), filled up with zeros."""
    return layouts.packed(array, batch=tile[0], block=tile[1])


def _require_rank(array: Array, what: str, least: int, most: int | None) -> None:
    if array.ndim < least or (most is not None and array.ndim > most):
        wanted = f"{least}" if most == least else f"{least} or more"
        raise LayoutError(f"{what} has {wanted} dimensions, not {array.ndim} (shape {array.shape})")
