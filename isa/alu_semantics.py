"""What the operations of the tensor ALU mean: one entry for each, and everything that follows from a meaning.

Reference interpreter, sanitizer, footprints, assembler, documentation, compiler and runtime read this. The functional
simulator (``runtime/sim/alu.py``) and the hardware (``hw/compute/alu_lane.py``) are implementations of their own, and
so is the model that tests judge all of them by. Tests: ``tests/isa/test_alu_semantics.py``.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.instructions import FUSED, AluOpcode

__all__ = [
    "ACC_BITS", "ACC_HIGH", "ACC_LOW", "AluSemantics", "alu_operation", "alu_semantics", "exact_operation",
    "fused_operation",
]  # fmt: skip

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

ACC_BITS = 32
"""Bits of an accumulator number, in every configuration."""

ACC_LOW, ACC_HIGH = -(1 << (ACC_BITS - 1)), (1 << (ACC_BITS - 1)) - 1
"""The smallest and the largest accumulator number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AluSemantics:
    """One operation on x, which is ``acc[dst]``, and y, which is operand 1; both are accumulator numbers.

    ``exact`` gives the result lane by lane in 64 bits; the accumulator keeps the low 32. ``formula`` is for readers.
    ``identity`` is the y that leaves every x as it is, None if there is none; ``constant_for`` are the y with which the
    result is the same for every x; ``commutes`` says whether x and y may be exchanged.
    """

    exact: Callable[[Int64, Int64], Int64]
    formula: str
    commutes: bool
    identity: int | None
    constant_for: range = range(0)


@functools.cache
def alu_semantics(opcode: AluOpcode) -> AluSemantics:
    """Return what ``opcode`` means."""
    match opcode:
        case AluOpcode.MIN:
            formula = "acc[dst] = min(acc[dst], operand 1)"
            return AluSemantics(exact=np.minimum, formula=formula, commutes=True, identity=ACC_HIGH)
        case AluOpcode.MAX:
            formula = "acc[dst] = max(acc[dst], operand 1)"
            return AluSemantics(exact=np.maximum, formula=formula, commutes=True, identity=ACC_LOW)
        case AluOpcode.ADD:
            formula = "acc[dst] = acc[dst] + operand 1"
            return AluSemantics(exact=np.add, formula=formula, commutes=True, identity=0)
        case AluOpcode.SHR:
            formula = "acc[dst] = acc[dst] >> operand 1 (left by the absolute value if it is negative)"
            all_out = range(ACC_LOW, 1 - ACC_BITS)
            return AluSemantics(exact=_shift, formula=formula, commutes=False, identity=0, constant_for=all_out)
        case AluOpcode.MUL:
            formula = "acc[dst] = acc[dst] * operand 1"
            zero = range(1)
            return AluSemantics(exact=np.multiply, formula=formula, commutes=True, identity=1, constant_for=zero)
        case _:
            assert_never(opcode)


def exact_operation(opcode: AluOpcode, x: Int32, y: Int32 | np.int32) -> Int64:
    """Return ``opcode`` of ``x`` and ``y`` lane by lane, in 64 bits: the accumulator keeps the low 32 of them."""
    return alu_semantics(opcode).exact(x.astype(np.int64), np.asarray(y, np.int64))


def alu_operation(opcode: AluOpcode, x: Int32, y: Int32 | np.int32) -> Int32:
    """Return ``opcode`` of ``x`` and ``y`` lane by lane, as the accumulator keeps it."""
    return exact_operation(opcode, x, y).astype(np.int32)


def fused_operation(first: AluOpcode, x: Int32, y: Int32, z: Int32, count: int) -> Int32:
    """Return what a fused step that begins with ``first`` makes of x: its two operations, with y and z, and the shift.

    Each is the operation of a step of its own, and keeps 32 bits as that does.
    """
    both = alu_operation(FUSED[first], alu_operation(first, x, y), z)
    return alu_operation(AluOpcode.SHR, both, np.int32(count))


def _shift(x: Int64, y: Int64) -> Int64:
    """Return x shifted right by y, left by -y; by 32 or more, every bit is the sign (right) or a zero (left)."""
    return np.where(y >= 0, x >> np.clip(y, 0, ACC_BITS), x << np.clip(-y, 0, ACC_BITS))
