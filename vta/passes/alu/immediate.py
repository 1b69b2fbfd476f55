"""Scalars of any size as 16-bit immediates, or as an accumulator element that is filled with them.

The accumulator has 32 bits and ADD and MUL wrap, so every form here is exact. Tests:
tests/vta/passes/alu/test_alu_immediate.py and the rest of tests/vta/passes/alu.
"""

from isa.alu_semantics import ACC_BITS, ACC_LOW, alu_semantics
from isa.instructions import AluOpcode
from isa.layout import IMMEDIATE
from vta.arith.const_interval import ConstInterval
from vta.tir.expr import Expr, FloorDiv, FloorMod, IntImm, binary, const

__all__ = ["IMMEDIATES", "AluStep", "filling_steps", "immediate_steps"]

IMMEDIATES = ConstInterval(IMMEDIATE.low, IMMEDIATE.high)
"""What the immediate field of an ALU instruction holds."""

_HALF, _LOW_BITS = 1 << 15, 16
_MAX_SUMMANDS = 3

AluStep = tuple[AluOpcode, Expr]
"""An operation with its immediate."""


def _wrapped(value: int) -> int:
    """Return ``value`` as the accumulator holds it."""
    return (value - ACC_LOW) % (1 << ACC_BITS) + ACC_LOW


def immediate_steps(opcode: AluOpcode, value: int) -> tuple[AluStep, ...] | None:
    """Return immediate operations that do to an accumulator number what ``opcode`` does with ``value``.

    The operations may be repeated, each for itself, as often as ``opcode`` would be. None if there is no short form.
    """
    value = _wrapped(value)
    if value == alu_semantics(opcode).identity:
        return ()
    if value in IMMEDIATES:
        return ((opcode, const(value)),)
    if opcode is AluOpcode.ADD:
        return _summands(value)
    if opcode is AluOpcode.MUL and abs(value) & (abs(value) - 1) == 0:
        shift = (AluOpcode.SHR, const(1 - abs(value).bit_length()))
        return (shift,) if value > 0 or value == ACC_LOW else (shift, (AluOpcode.MUL, const(-1)))
    return None


def _summands(value: int) -> tuple[AluStep, ...] | None:
    piece = IMMEDIATE.high if value > 0 else IMMEDIATE.low
    full, rest = divmod(value, piece)
    pieces = [piece] * full + [rest] * (rest != 0)
    return tuple((AluOpcode.ADD, const(p)) for p in pieces) if len(pieces) <= _MAX_SUMMANDS else None


def filling_steps(value: Expr) -> tuple[AluStep, ...]:
    """Return the operations that make an accumulator number, whatever it was, ``value``: ``(0 + high) << 16 + low``."""
    clear = (AluOpcode.MUL, const(0))
    if isinstance(value, IntImm):
        short = immediate_steps(AluOpcode.ADD, value.value)
        if short is not None:
            return (clear, *short)
        value = const(_wrapped(value.value))
    remainder = binary(FloorMod, value, 1 << _LOW_BITS)
    low = _signed_half(remainder)
    carry = binary(FloorDiv, remainder + _HALF, 1 << _LOW_BITS)
    high = _signed_half(binary(FloorMod, binary(FloorDiv, value, 1 << _LOW_BITS) + carry, 1 << _LOW_BITS))
    return (clear, (AluOpcode.ADD, high), (AluOpcode.SHR, const(-_LOW_BITS)), (AluOpcode.ADD, low))


def _signed_half(bits: Expr) -> Expr:
    """Return 0..65535 as the 16-bit number with these bits."""
    return binary(FloorMod, bits + _HALF, 1 << _LOW_BITS) - _HALF
