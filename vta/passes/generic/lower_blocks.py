"""Turn the blocks of ``tir.Schedule`` into plain statements.

Expects what ``te.create_prim_func`` and the schedule's primitives make. Afterwards there are no blocks: axes are what
they stand for, a reduction's start is guarded by its axes, predicates are conditions, memory of a block is realised.

Before::

    for (i, 0, 8) {
      for (k, 0, 4) {
        block "C" {
          IterVar(vi, [0:8], "DataPar", "") = i
          IterVar(vk, [0:4], "CommReduce", "") = k
          init { C[vi] = 0 }
          C[vi] = C[vi] + A[vi, vk]
        }
      }
    }

After::

    for (i, 0, 8) {
      for (k, 0, 4) {
        if (k == 0) { C[i] = 0 }
        C[i] = C[i] + A[i, k]
      }
    }

Tests: tests/vta/passes/generic/test_lower_blocks.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.blocks import without_blocks
from vta.tir.func import PrimFunc

__all__ = ["lower_blocks"]


def lower_blocks(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` without blocks."""
    return replace(func, body=without_blocks(func.body))
