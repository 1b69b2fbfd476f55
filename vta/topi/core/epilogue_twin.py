"""What an epilogue does, in numpy. Used through ``vta.topi.core.epilogue``.

Tests: tests/vta/topi/core/test_epilogue.py.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

import numpy as np
import numpy.typing as npt

from vta.topi.core.epilogue_steps import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    EpilogueError,
    Fork,
    Joint,
    Multiply,
    PerChannel,
    Primitive,
    Relu,
    Residual,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
    primitive,
    readers,
)

__all__ = ["applied", "reference"]

Array = npt.NDArray[np.generic]
Ints = npt.NDArray[np.int32]


def reference(sums: Array, steps: Sequence[Step], values: Sequence[Array]) -> npt.NDArray[np.int8]:
    """Return the int8 numbers that ``steps`` make of a layer's plain ``sums`` (N, C, *rest), in int32.

    ``values`` are the plain arrays for ``operands``, in order.
    """
    return applied(sums, steps, values).astype(np.int8)


def applied(sums: Array, steps: Sequence[Step], values: Sequence[Array]) -> Ints:
    """Return the same before the low bits are taken: the accumulator's numbers."""
    if len(values) != (count := len(list(readers(steps)))):
        raise EpilogueError(f"the epilogue reads {count} tensors, and {len(values)} were given")
    with np.errstate(over="ignore"):
        return _after(sums.astype(np.int32), steps, iter(values))


def _after(now: Ints, steps: Sequence[Step], given: Iterator[Array]) -> Ints:
    for step in primitive(steps):
        now = _done(now, step, given)
    return now


def _done(now: Ints, step: Primitive, given: Iterator[Array]) -> Ints:
    """Return what ``step`` makes of ``now``."""
    match step:
        case Bias() | Scale() | ChannelShift() | ChannelMinimum() | ChannelMaximum():
            return _with_channels(now, step, next(given).astype(np.int32).reshape(1, -1, *[1] * (now.ndim - 2)))
        case Residual():
            return now + next(given).astype(np.int32) * np.int32(step.multiplier)
        case ShiftRight():
            return now >> np.int32(step.bits)
        case ShiftLeft():
            return now << np.int32(step.bits)
        case Add():
            return now + np.int32(step.constant)
        case Multiply():
            return now * np.int32(step.constant)
        case Relu():
            return np.maximum(now, np.int32(0))
        case Clip():
            return np.clip(now, np.int32(step.low), np.int32(step.high))
        case Fork():
            return _joined(step.joint, _after(now, step.steps, given), _after(now, step.others, given))
        case _:
            assert_never(step)


def _with_channels(now: Ints, step: PerChannel, values: Ints) -> Ints:
    match step:
        case Bias():
            return now + values
        case Scale():
            return now * values
        case ChannelShift():
            return _shifted(now, values)
        case ChannelMinimum():
            return np.minimum(now, values)
        case ChannelMaximum():
            return np.maximum(now, values)
        case _:
            assert_never(step)


def _joined(joint: Joint, a: Ints, b: Ints) -> Ints:
    match joint:
        case Joint.ADD:
            return a + b
        case Joint.MULTIPLY:
            return a * b
        case Joint.MINIMUM:
            return np.minimum(a, b)
        case Joint.MAXIMUM:
            return np.maximum(a, b)
        case _:
            assert_never(joint)


def _shifted(now: Ints, counts: Ints) -> Ints:
    """Return ``now`` shifted right by ``counts``, left where they are negative; 32 and more shift everything out."""
    wide = now.astype(np.int64)
    right = wide >> np.clip(counts, 0, 32)
    left = wide << np.clip(-counts.astype(np.int64), 0, 32)
    return np.where(counts >= 0, right, left).astype(np.int32)
