"""ALU immediates of any size, as sequences of operations whose immediates fit the 16-bit field.

The accumulator has 32 bits and ADD and MUL wrap, so both are exact modulo 2^32 however they are split:

- SHR: a count of 32 or more behaves as 32 does, to the right and to the left.
- ADD: a sum of pieces, or from seven pieces on six operations. Three odd 16-bit factors whose product is 1 modulo 2^32
  give the accumulator back, and what is added between them reaches every number:
  ``((x*a + p)*b + q)*c + r = x + p*b*c + q*c + r``.
- MUL: a product of up to three 16-bit factors and a left shift.
- MIN and MAX: an immediate at the end of the 32-bit range changes nothing. No other one can be split: a 16-bit MIN or
  MAX maps some 2^31 values to one, and more of them would have to stay apart. The operand must come from a tile.

Tests: ``tests/runtime/queue/test_alu_immediate.py``.
"""

from collections.abc import Callable
from typing import assert_never

import numpy as np

from isa.alu_semantics import ACC_BITS, ACC_HIGH, ACC_LOW, alu_semantics
from isa.instructions import AluOpcode
from isa.layout import IMMEDIATE
from runtime.queue.uop_kernel import KernelError

__all__ = ["ImmediateStep", "split_immediate"]

ImmediateStep = tuple[AluOpcode, int]
"""An operation and its 16-bit immediate."""

_LOW, _HIGH = IMMEDIATE.low, IMMEDIATE.high
_MODULUS = 1 << ACC_BITS
_SHIFT_ALL = ACC_BITS

# a*b*c = 1 modulo 2^32. b*c is near 2^30 and c near 2^15, so rounding twice leaves remainders that fit 16 bits.
_A, _B, _C = -8843, 31069, 32641


def split_immediate(opcode: AluOpcode, imm: int, *, each_once: Callable[[], bool]) -> tuple[ImmediateStep, ...]:
    """Return operations that, one after the other, do to every accumulator what ``opcode`` with ``imm`` does.

    ``each_once`` tells whether the kernel visits no accumulator twice: only then may operations be used whose sequence
    is not the same when each is applied several times in a row. Raises ``KernelError`` if there is no exact form.
    """
    if not ACC_LOW <= imm <= ACC_HIGH:
        raise KernelError(f"ALU {opcode.name}: the immediate {imm} does not fit the accumulator's 32 bits")
    if _LOW <= imm <= _HIGH:
        return ((opcode, imm),)
    if imm == alu_semantics(opcode).identity:
        return ()
    match opcode:
        case AluOpcode.SHR:
            return ((opcode, _SHIFT_ALL if imm > 0 else -_SHIFT_ALL),)
        case AluOpcode.ADD:
            return _split_sum(imm, each_once)
        case AluOpcode.MUL:
            return _split_product(imm)
        case AluOpcode.MIN | AluOpcode.MAX:
            raise KernelError(
                f"ALU {opcode.name}: the immediate {imm} is outside of {_LOW} to {_HIGH}, and no sequence of "
                f"operations with immediates in that range does the same; use a tile of {imm} as the second operand"
            )
        case _:
            assert_never(opcode)


def _split_sum(imm: int, each_once: Callable[[], bool]) -> tuple[ImmediateStep, ...]:
    piece = _HIGH if imm > 0 else _LOW
    full, rest = divmod(imm, piece)
    pieces = [piece] * full + [rest] * (rest != 0)
    affine = _affine_sum(imm)
    if len(pieces) > len(affine) and each_once():
        return affine
    return tuple((AluOpcode.ADD, value) for value in pieces)


def _affine_sum(imm: int) -> tuple[ImmediateStep, ...]:
    first = round(imm / (_B * _C))
    imm -= first * _B * _C
    second = round(imm / _C)
    third = imm - second * _C
    steps: list[ImmediateStep] = []
    for factor, summand in ((_A, first), (_B, second), (_C, third)):
        steps.append((AluOpcode.MUL, factor))
        if summand:
            steps.append((AluOpcode.ADD, summand))
    return tuple(steps)


def _split_product(imm: int) -> tuple[ImmediateStep, ...]:
    two = _two_factors(imm)
    if two is not None:
        return tuple((AluOpcode.MUL, factor) for factor in two)
    shift = (imm & -imm).bit_length() - 1
    odd = imm >> shift
    tail: tuple[ImmediateStep, ...] = ((AluOpcode.SHR, -shift),) if shift else ()
    if _LOW <= odd <= _HIGH:
        return ((AluOpcode.MUL, odd), *tail)
    two = _two_factors(odd)
    factors = _three_factors(odd) if two is None else two
    return (*((AluOpcode.MUL, factor) for factor in factors), *tail)


def _two_factors(product: int) -> tuple[int, int] | None:
    """Return two 16-bit factors of ``product``, or None."""
    divisors = np.arange(_HIGH, 1, -1, dtype=np.int64)
    cofactors, rests = np.divmod(product, divisors)
    fits = np.flatnonzero((rests == 0) & (cofactors >= _LOW) & (cofactors <= _HIGH))
    if not fits.size:
        return None
    return int(divisors[fits[0]]), int(cofactors[fits[0]])


def _three_factors(odd: int) -> tuple[int, int, int]:
    """Return three 16-bit factors whose product is ``odd`` modulo 2^32.

    There are 2^45 triples of odd factors for 2^31 odd residues, so a first factor that works is soon found.
    """
    for magnitude in range(_HIGH, 1, -2):
        for first in (magnitude, -magnitude):
            product = odd * pow(first, -1, _MODULUS) % _MODULUS
            product -= _MODULUS if product > ACC_HIGH else 0
            two = _two_factors(product)
            if two is not None:
                return first, *two
    raise AssertionError(f"every odd number modulo 2^32 has three 16-bit factors, and {odd} was not found to")
