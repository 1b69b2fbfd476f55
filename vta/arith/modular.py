"""Residues: which remainder an integer expression leaves, whatever its variables are.

``x*4 + y*6 + 1`` is ``2*k + 1``. Tests: tests/vta/arith/test_modular.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from vta.arith.const_bounds import is_index
from vta.tir.deep import deep
from vta.tir.expr import (
    Add,
    Builtin,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Select,
    Sub,
    Var,
)

__all__ = ["EVERY_INTEGER", "ModularSet", "modular_set"]


@dataclass(frozen=True, slots=True)
class ModularSet:
    """The integers ``base`` + k * ``coeff``; with ``coeff`` 0, ``base`` alone. ``base`` is 0 to ``coeff`` - 1."""

    coeff: int
    base: int

    def __post_init__(self) -> None:
        if self.coeff:
            object.__setattr__(self, "coeff", abs(self.coeff))
            object.__setattr__(self, "base", self.base % abs(self.coeff))

    def __contains__(self, value: int) -> bool:
        return value == self.base if self.coeff == 0 else value % self.coeff == self.base

    def union(self, other: ModularSet) -> ModularSet:
        """Return a set with the integers of both."""
        step = gcd(self.coeff, other.coeff, self.base - other.base)
        return ModularSet(step, self.base)

    def intersect(self, other: ModularSet) -> ModularSet:
        """Return the integers that are in both; this set if that is not a set of this kind, or none."""
        if self.coeff == 0 or other.coeff == 0:
            return self if self.coeff == 0 else other
        step = self.coeff * other.coeff // gcd(self.coeff, other.coeff)
        for k in range(step // self.coeff):
            if self.base + k * self.coeff in other:
                return ModularSet(step, self.base + k * self.coeff)
        return self

    def __add__(self, other: ModularSet) -> ModularSet:
        return ModularSet(gcd(self.coeff, other.coeff), self.base + other.base)

    def __neg__(self) -> ModularSet:
        return ModularSet(self.coeff, -self.base)

    def __mul__(self, other: ModularSet) -> ModularSet:
        step = gcd(self.coeff * other.coeff, self.coeff * other.base, other.coeff * self.base)
        return ModularSet(step, self.base * other.base)

    def floordiv(self, divisor: int) -> ModularSet:
        """Return the quotients, rounded down."""
        if self.coeff % divisor:
            return EVERY_INTEGER
        return ModularSet(self.coeff // divisor, self.base // divisor)

    def floormod(self, divisor: int) -> ModularSet:
        """Return the remainders, with the sign of the divisor."""
        if self.coeff % divisor == 0:
            return ModularSet(0, self.base % divisor)
        return ModularSet(gcd(self.coeff, divisor), self.base)


EVERY_INTEGER = ModularSet(1, 0)


@deep
def modular_set(expr: Expr, env: Mapping[Var, ModularSet]) -> ModularSet:
    """Return the residues of ``expr`` when each variable is in its set of ``env`` (others: any integer).

    Every value that the expression can take is in the set. What may wrap keeps remainders by powers of two alone.
    """
    found = _residues(expr, env)
    if is_index(expr.dtype) or isinstance(expr, Var | IntImm):
        return found
    if not expr.dtype.is_int:
        return EVERY_INTEGER
    return ModularSet(gcd(found.coeff, 1 << expr.dtype.bits), found.base)


def _residues(expr: Expr, env: Mapping[Var, ModularSet]) -> ModularSet:
    match expr:
        case Var():
            return env.get(expr, EVERY_INTEGER)
        case IntImm():
            return ModularSet(0, expr.value)
        case Add() | Sub() | Mul():
            a, b = modular_set(expr.a, env), modular_set(expr.b, env)
            return a + b if isinstance(expr, Add) else a + -b if isinstance(expr, Sub) else a * b
        case FloorDiv(b=IntImm(value=divisor)) if divisor > 0:
            return modular_set(expr.a, env).floordiv(divisor)
        case FloorMod(b=IntImm(value=divisor)) if divisor > 0:
            return modular_set(expr.a, env).floormod(divisor)
        case Min() | Max():
            return modular_set(expr.a, env).union(modular_set(expr.b, env))
        case Select():
            return modular_set(expr.true_value, env).union(modular_set(expr.false_value, env))
        case Call(op=Builtin.IF_THEN_ELSE, args=(_, first, second)):
            return modular_set(first, env).union(modular_set(second, env))
        case Call(op=Builtin.SHIFT_LEFT, args=(value, IntImm(value=count))) if 0 <= count < expr.dtype.bits:
            return modular_set(value, env) * ModularSet(0, 1 << count)
        case Cast() if is_index(expr.dtype) and is_index(expr.value.dtype) and expr.dtype.bits >= expr.value.dtype.bits:
            return modular_set(expr.value, env)
        case _:
            return EVERY_INTEGER
