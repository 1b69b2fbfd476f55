"""Tensors of any rank from 2 to 4 as packed images of six dimensions, which the schedules of the tensor ALU take.

(N, C) becomes an image of 1x1, (N, C, L) one of 1xL. Tests: tests/vta/topi/core/test_images.py.
"""

import numpy as np
import numpy.typing as npt

from vta.environment import Environment
from vta.topi.core.layout import blocks, pack_activations, unpack_activations

__all__ = ["as_images", "image_shape", "pack_images", "packed_extents", "packed_shape", "unpack_images"]

Array = npt.NDArray[np.generic]


def image_shape(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return ``shape``, (N, C), (N, C, L) or (N, C, H, W), as (N, C, H, W)."""
    n, c, *rest = shape
    height, width = [1] * (2 - len(rest)) + rest
    return (n, c, height, width)


def packed_extents(env: Environment, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return how many blocks, rows and columns the packed tensor has: (N/batch, C/block, H, W)."""
    n, c, height, width = image_shape(shape)
    return (blocks(n, env.BATCH), blocks(c, env.BLOCK_OUT), height, width)


def packed_shape(env: Environment, shape: tuple[int, ...]) -> tuple[int, int, int, int, int, int]:
    """Return the shape of the packed tensor."""
    return (*packed_extents(env, shape), env.BATCH, env.BLOCK_OUT)


def as_images(array: Array) -> Array:
    """Return a tensor as images; an array of one dimension, which has a value a channel, stays as it is."""
    return array if array.ndim == 1 else array.reshape(image_shape(array.shape))


def pack_images(env: Environment, array: Array) -> Array:
    """Return a plain array packed."""
    return pack_activations(array.reshape(image_shape(array.shape)), batch=env.BATCH, block=env.BLOCK_OUT)


def unpack_images(packed: Array, shape: tuple[int, ...]) -> Array:
    """Return the plain array of ``shape`` that is in ``packed``."""
    return unpack_activations(packed, shape[0], shape[1]).reshape(shape)
