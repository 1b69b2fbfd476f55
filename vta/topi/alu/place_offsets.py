"""A number for each place of an image, for all its channels: added, as zero points of windows are, or multiplied by.

Where it is the same for all places, it is in the operation; otherwise a table is loaded beside the data.
Tests: tests/vta/topi/alu/test_place_offsets.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vta import te
from vta.environment import Environment
from vta.tir.expr import Expr
from vta.topi.alu.alu_operator import Head
from vta.topi.alu.alu_tiles import Demand, Inner, transfer
from vta.topi.core.operand import Argument

__all__ = ["PlaceFactors", "PlaceOffsets"]


@dataclass(frozen=True, slots=True, eq=False)
class PlaceOffsets:
    """``values`` (H, W), which 32 bits hold, are added."""

    values: npt.NDArray[np.int64]

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return the table, if one is needed."""
        return _arguments(env, self.values, "offsets")

    def added(self, env: Environment, head: Head) -> Head:
        """Return ``head`` with the offsets added to what it computes, a packed image."""
        return _joined(env, head, self.values, lambda place, x: place + x, names=("offsets", "pool_offset"), nothing=0)


@dataclass(frozen=True, slots=True, eq=False)
class PlaceFactors:
    """Numbers are multiplied by ``values`` (H, W), which 32 bits hold."""

    values: npt.NDArray[np.int64]

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return the table, if one is needed."""
        return _arguments(env, self.values, "factors")

    def multiplied(self, env: Environment, head: Head) -> Head:
        """Return ``head`` with what it computes, a packed image, multiplied."""
        return _joined(env, head, self.values, lambda place, x: place * x, names=("factors", "pool_factor"), nothing=1)


def _is_uniform(values: npt.NDArray[np.int64]) -> bool:
    return bool((values == values.flat[0]).all())


def _arguments(env: Environment, values: npt.NDArray[np.int64], name: str) -> tuple[Argument, ...]:
    if _is_uniform(values):
        return ()
    lanes = (1, 1, *values.shape, env.BATCH, env.BLOCK_OUT)
    table = np.ascontiguousarray(np.broadcast_to(values[None, None, :, :, None, None], lanes), np.int32)
    return (Argument(name, (), lambda: table),)


def _joined(
    env: Environment,
    head: Head,
    values: npt.NDArray[np.int64],
    operation: Callable[[Expr, Expr], Expr],
    *,
    names: tuple[str, str],
    nothing: int,
) -> Head:
    """Return ``head`` with ``operation`` of a place's value and what it computes; ``nothing`` changes nothing."""
    first, (name, stage) = int(values.flat[0]), names
    before = head.tensor
    if _is_uniform(values):
        if first == nothing:
            return head
        constant = te.const(first, env.acc_dtype)
        moved = te.compute(before.shape, lambda *i: operation(before(*i), constant), name=stage, tag="elemwise")
        stages = replace(head.stages, elementwise=(*head.stages.elementwise, moved))
        return Head(moved, stages, head.inputs, lambda inner: _one_more(head.demand(inner), inner))
    table = te.placeholder((1, 1, *values.shape, env.BATCH, env.BLOCK_OUT), env.acc_dtype, name)
    # The table is named first, so that it is loaded first, into memory of its own.
    moved = te.compute(before.shape, lambda *i: operation(table(0, 0, *i[2:]), before(*i)), name=stage, tag="elemwise")

    def demand(inner: Inner) -> Demand:
        _, _, h, w = inner
        base = _one_more(head.demand(inner), inner)
        load = transfer((1, 1, h, w), (1, 1, *values.shape), env.ACC_ELEM_BYTES)
        return replace(base, elements=base.elements + h * w, load=base.load + load)

    stages = replace(head.stages, elementwise=(*head.stages.elementwise, moved), direct=(*head.stages.direct, table))
    return Head(moved, stages, (*head.inputs, table), demand)


def _one_more(base: Demand, inner: Inner) -> Demand:
    """Return the demand with one operation more on every number."""
    b, co, h, w = inner
    return replace(
        base, operations=base.operations + b * co * h * w, kernels=base.kernels + 1, temporaries=base.temporaries + 1
    )
