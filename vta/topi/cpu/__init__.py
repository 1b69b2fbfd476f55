"""Operators for the CPU under TVM's names: any types and shapes that ``te`` takes, for ``tvm.topi`` in scripts.

What the host computes belongs here. What the accelerator does has its operators in the rooms beside (``conv``,
``matmul``, ``alu``). Tests: tests/vta/topi/cpu.
"""

from vta.topi.cpu import (
    blocked_convolution,
    byte_products,
    convolution,
    convolutions,
    elementwise,
    matrices,
    nn,
    norms,
    ordering,
    pairs,
    pooling,
    rearrange,
    reductions,
    resize,
    row_schedules,
    scatters,
    schedules,
    spatial,
)

__all__ = [
    "blocked_convolution", "byte_products", "convolution", "convolutions", "elementwise", "matrices", "nn", "norms",
    "ordering", "pairs", "pooling", "rearrange", "reductions", "resize", "row_schedules", "scatters", "schedules",
    "spatial",
]  # fmt: skip
