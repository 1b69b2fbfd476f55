"""A number for each place of an image that is added to all its channels: what zero points add to sums of windows.

Where it is the same for all places, it is in the operation; otherwise a table is loaded beside the data.
Tests: tests/vta/topi/alu/test_place_offsets.py.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vta import te
from vta.environment import Environment
from vta.topi.alu.alu_operator import Head
from vta.topi.alu.alu_tiles import Demand, Inner, transfer
from vta.topi.core.operand import Argument

__all__ = ["PlaceOffsets"]


@dataclass(frozen=True, slots=True, eq=False)
class PlaceOffsets:
    """``values`` (H, W), which 32 bits hold."""

    values: npt.NDArray[np.int64]

    @property
    def _is_uniform(self) -> bool:
        return bool((self.values == self.values.flat[0]).all())

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return the table, if one is needed."""
        if self._is_uniform:
            return ()
        lanes = (1, 1, *self.values.shape, env.BATCH, env.BLOCK_OUT)
        table = np.ascontiguousarray(np.broadcast_to(self.values[None, None, :, :, None, None], lanes), np.int32)
        return (Argument("offsets", (), lambda: table),)

    def added(self, env: Environment, head: Head) -> Head:
        """Return ``head`` with the offsets added to what it computes, a packed image."""
        first = int(self.values.flat[0])
        if self._is_uniform:
            return _with_stage(head, first) if first else head
        table = te.placeholder((1, 1, *self.values.shape, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "offsets")
        before = head.tensor
        # The table is named first, so that it is loaded first, into memory of its own.
        moved = te.compute(
            before.shape, lambda *i: table(0, 0, *i[2:]) + before(*i), name="pool_offset", tag="elemwise"
        )

        def demand(inner: Inner) -> Demand:
            _, _, h, w = inner
            base = _one_more(head.demand(inner), inner)
            load = transfer((1, 1, h, w), (1, 1, *self.values.shape), env.ACC_ELEM_BYTES)
            return replace(base, elements=base.elements + h * w, load=base.load + load)

        stages = replace(
            head.stages, elementwise=(*head.stages.elementwise, moved), direct=(*head.stages.direct, table)
        )
        return Head(moved, stages, (*head.inputs, table), demand)


def _with_stage(head: Head, offset: int) -> Head:
    before = head.tensor
    moved = te.compute(before.shape, lambda *i: before(*i) + offset, name="pool_offset", tag="elemwise")
    stages = replace(head.stages, elementwise=(*head.stages.elementwise, moved))
    return Head(moved, stages, head.inputs, lambda inner: _one_more(head.demand(inner), inner))


def _one_more(base: Demand, inner: Inner) -> Demand:
    """Return the demand with one operation more on every number."""
    b, co, h, w = inner
    return replace(
        base, operations=base.operations + b * co * h * w, kernels=base.kernels + 1, temporaries=base.temporaries + 1
    )
