"""TVM's ``pool2d`` and ``global_pool`` on packed images: windows reduced in the accumulator's type.

``vta.topi.schedule_alu`` puts them on the tensor ALU.

Tests: tests/vta/topi/nn/test_pool.py.
"""

from collections.abc import Sequence

import numpy as np

from vta import te
from vta.environment import Environment, get_env
from vta.topi.alu.average import Average
from vta.topi.alu.division import Rounding
from vta.topi.alu.pool_reduction import Combine, PoolReduction
from vta.topi.alu.pool_window import PoolAxis
from vta.topi.core.operator import OperatorError
from vta.topi.core.sizes import sizes

__all__ = ["global_pool", "pool2d"]


def pool2d(
    data: te.Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "",
    count_include_pad: bool = True,
    *,
    rounding: Rounding = Rounding.TRUNCATE,
    env: Environment | None = None,
) -> te.Tensor:
    """Return the largest cell ("max") or the average ("avg") of windows of a packed image (N, C, H, W, batch, block).

    ``padding`` is (top, left, bottom, right). Averages are of int8 cells; TVM's integer division truncates. ``layout``
    is TVM's name of the packed layout ("NCHW1n16c"), or empty. Raises ``OperatorError``.
    """
    shape = sizes(data)
    if len(shape) != 6 or (layout and not {"n", "c"} <= set(layout)):
        raise OperatorError(
            f"pool2d takes packed images of six dimensions, not layout {layout or 'NCHW'!r} of {len(shape)}; pack them "
            "(vta.topi.core.pack), or use vta.topi.MaxPool2d and AveragePool2d"
        )
    combine = _combine(pool_type)
    top, left, bottom, right = padding
    pads = ((top, bottom), (left, right))
    height, width = (
        PoolAxis(name, shape[2 + i], kernel[i], stride[i], *pads[i], dilation[i], ceil_mode)
        for i, name in enumerate(("height", "width"))
    )
    env = env or get_env()
    way = PoolReduction.chosen(env, combine, (height, width), str(data.dtype))
    reduced = way.reduced(env, data).tensor
    if combine is Combine.MAX:
        return reduced
    counts = (axis.with_pads if count_include_pad else axis.existing for axis in (height, width))
    average = Average(np.outer(*counts), rounding)
    if not average.is_uniform or str(data.dtype) != "int8":
        raise OperatorError(
            f"pool2d of {data.dtype}: averages are of int8, and all windows have as many cells; "
            "vta.topi.AveragePool2d has tables for windows that differ"
        )
    return average.of(env, reduced).tensor


def global_pool(data: te.Tensor, pool_type: str, layout: str = "", *, env: Environment | None = None) -> te.Tensor:
    """Return the largest cell or the average of every channel of a packed image."""
    shape = sizes(data)
    kernel = shape[2:4] if len(shape) == 6 else (1, 1)
    return pool2d(data, kernel, (1, 1), (1, 1), (0, 0, 0, 0), pool_type, layout=layout, env=env)


def _combine(pool_type: str) -> Combine:
    match pool_type:
        case "max":
            return Combine.MAX
        case "avg":
            return Combine.SUM
        case _:
            raise OperatorError(f"pool_type is 'max' or 'avg', not {pool_type!r}")
