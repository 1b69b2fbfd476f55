"""Rules for divisions and remainders of sums.

The rules reason about mathematical values, so they apply where a sum is ``exact`` (see ``vta.arith.sums``); a division
of anything else keeps its operands. A division by zero is kept as it is.

Tests: tests/vta/arith/test_simplify*.py.
"""

from __future__ import annotations

from math import gcd

from vta.arith.const_bounds import type_bounds
from vta.arith.sums import Context, Sum, exact, factors, parts_exact
from vta.tir.expr import Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Mul

__all__ = ["floordiv", "floormod", "truncdiv", "truncmod"]


def _atom(kind: type[FloorDiv | FloorMod | Div | Mod], a: Sum, b: Sum) -> Sum:
    """Return the sum whose one term is the division itself."""
    result = Sum(a.dtype)
    result.add_term(kind(a.emit(), b.emit()), 1, index=a.index and b.index)
    return result


def _by(kind: type[FloorDiv | FloorMod | Div | Mod], a: Sum, divisor: int) -> Sum:
    return _atom(kind, a, Sum(a.dtype, divisor))


def _split(total: Sum, divisor: int) -> tuple[Sum, Sum]:
    """Return (quotient, rest) with total = quotient * divisor + rest, each coefficient split towards zero."""
    quotient, rest = Sum(total.dtype, total.const // divisor), Sum(total.dtype, total.const % divisor)
    quotient.index = rest.index = total.index
    for atom, c in total:
        whole = abs(c) // divisor * (1 if c > 0 else -1)
        quotient.add_term(atom, whole, index=total.index)
        rest.add_term(atom, c - whole * divisor, index=total.index)
    return quotient, rest


def _same_quotient(total: Sum, divisor: int, context: Context) -> int | None:
    """Return the quotient if it is the same for all values of ``total``."""
    bounds = context.bounds_of(total)
    if bounds.lo is None or bounds.hi is None or bounds.lo // divisor != bounds.hi // divisor:
        return None
    return bounds.lo // divisor


def _common_factor(total: Sum, divisor: int) -> int:
    result = divisor
    for _, c in total:
        result = gcd(result, c)
    return result


def _divided(total: Sum, divisor: int) -> Sum:
    """Return the terms divided by ``divisor``, which they are multiples of, and the constant rounded down."""
    result = Sum(total.dtype, total.const // divisor)
    result.index = total.index
    for atom, c in total:
        result.add_term(atom, c // divisor, index=total.index)
    return result


def _digits(total: Sum, divisor: int, context: Context) -> tuple[int, Sum, Sum] | None:
    """Find total = base * high + low with 0 <= low < base, for a base that divides ``divisor``."""
    bases = sorted({gcd(c, divisor) for _, c in total} - {1, divisor}, reverse=True)
    for base in bases:
        high, low = Sum(total.dtype, total.const - total.const % base), Sum(total.dtype, total.const % base)
        high.index = low.index = total.index
        for atom, c in total:
            (low if c % base else high).add_term(atom, c, index=total.index)
        if not high.is_const and _same_quotient(low, base, context) == 0:
            return base, _divided(high, base), low
    return None


def floordiv(a: Sum, b: Sum, context: Context) -> Sum:
    """Return a // b, rounded down."""
    if not b.is_const:
        return _by_symbol(FloorDiv, a, b, context)
    divisor = b.const
    if divisor == 1:
        return a
    if divisor == 0 or not exact(context, a):
        return _atom(FloorDiv, a, b)
    if divisor < 0:
        negated = a.scaled(-1)
        return _floordiv_const(negated, -divisor, context) if exact(context, negated) else _atom(FloorDiv, a, b)
    return _floordiv_const(a, divisor, context)


def _floordiv_const(a: Sum, divisor: int, context: Context) -> Sum:
    if divisor == 1:
        return a
    quotient, rest = _split(a, divisor)
    constant = _same_quotient(rest, divisor, context)
    if constant is not None:
        quotient.const += constant
        return quotient
    if not exact(context, rest):
        return _by(FloorDiv, a, divisor)
    common = _common_factor(rest, divisor)
    if common > 1:
        return quotient.add(_floordiv_const(_divided(rest, common), divisor // common, context))
    digits = _digits(rest, divisor, context)
    if digits is not None:
        base, high, _ = digits
        return quotient.add(_floordiv_const(high, divisor // base, context))
    return quotient.add(_nested_floordiv(rest, divisor, context))


def _nested_floordiv(rest: Sum, divisor: int, context: Context) -> Sum:
    """Return (x // n + k) // m as (x + k*n) // (n*m) where that fits, the plain division otherwise."""
    if len(rest.terms) == 1:
        ((atom, c),) = rest.terms.values()
        if c == 1 and isinstance(atom, FloorDiv) and isinstance(atom.b, IntImm) and atom.b.value > 0:
            inner = atom.b.value
            total = context.sum_of(atom.a)
            total.const += rest.const * inner
            if divisor * inner in type_bounds(rest.dtype) and (rest.const == 0 or exact(context, total)):
                return _by(FloorDiv, total, divisor * inner)
    return _by(FloorDiv, rest, divisor)


def floormod(a: Sum, b: Sum, context: Context) -> Sum:
    """Return the remainder with the sign of ``b``."""
    if not b.is_const:
        return _by_symbol(FloorMod, a, b, context)
    divisor = b.const
    if divisor in (1, -1):
        return Sum(a.dtype)
    if divisor == 0 or not exact(context, a):
        return _atom(FloorMod, a, b)
    if divisor < 0:
        negated = a.scaled(-1)
        if not exact(context, negated):
            return _atom(FloorMod, a, b)
        return _floormod_const(negated, -divisor, context).scaled(-1)
    return _floormod_const(a, divisor, context)


def _floormod_const(a: Sum, divisor: int, context: Context) -> Sum:
    _, rest = _split(a, divisor)
    rest = _without_inner_remainders(rest, divisor, context)
    constant = _same_quotient(rest, divisor, context)
    if constant is not None:
        return rest.add(Sum(rest.dtype, -constant * divisor))
    if not exact(context, rest):
        return _by(FloorMod, a, divisor)
    common = _common_factor(rest, divisor)
    if common > 1:
        inner = _floormod_const(_divided(rest, common), divisor // common, context)
        return inner.scaled(common).add(Sum(rest.dtype, rest.const % common))
    digits = _digits(rest, divisor, context)
    if digits is not None:
        base, high, low = digits
        return _floormod_const(high, divisor // base, context).scaled(base).add(low)
    return _nested_floormod(rest, divisor)


def _without_inner_remainders(rest: Sum, divisor: int, context: Context) -> Sum:
    """Replace the terms x % n, n a multiple of ``divisor``, by x."""
    for atom, c in rest:
        if isinstance(atom, FloorMod) and isinstance(atom.b, IntImm) and atom.b.value % divisor == 0 < atom.b.value:
            new = rest.copy()
            new.remove(atom)
            _, new = _split(new.add(context.sum_of(atom.a), c), divisor)
            if parts_exact(context, new):
                return _without_inner_remainders(new, divisor, context)
    return rest


def _nested_floormod(rest: Sum, divisor: int) -> Sum:
    """Return (x // n) % m as (x % (n*m)) // n where that fits, the plain remainder otherwise."""
    if len(rest.terms) == 1 and rest.const == 0:
        ((atom, c),) = rest.terms.values()
        if c == 1 and isinstance(atom, FloorDiv) and isinstance(atom.b, IntImm) and atom.b.value > 0:
            inner = atom.b.value
            if divisor * inner in type_bounds(rest.dtype) and not isinstance(atom.a, FloorMod):
                result = Sum(rest.dtype)
                remainder = FloorMod(atom.a, IntImm(divisor * inner, rest.dtype))
                result.add_term(FloorDiv(remainder, atom.b), 1, index=rest.index)
                return result
    return _by(FloorMod, rest, divisor)


def _by_symbol(kind: type[FloorDiv | FloorMod], a: Sum, b: Sum, context: Context) -> Sum:
    """Divide by an expression: multiples of it go, if what is left lies between 0 and it."""
    if not (a.index and b.index and exact(context, a)) or b.const or len(b.terms) != 1:
        return _atom(kind, a, b)
    ((symbol, factor),) = b.terms.values()
    if factor != 1:
        return _atom(kind, a, b)
    quotient, rest = Sum(a.dtype), Sum(a.dtype, a.const)
    for atom, c in a:
        other = _without_factors(atom, factors(symbol))
        if other is None:
            rest.add_term(atom, c, index=True)
        elif isinstance(other, IntImm):
            quotient.const += c
        else:
            quotient.add_term(other, c, index=True)
    inside = rest.is_const and rest.const == 0
    if not inside:
        inside = context.proves_nonnegative(rest) and context.proves_nonnegative(b.minus(rest).add(Sum(a.dtype, -1)))
    if not inside:
        return _atom(kind, a, b)
    return quotient if kind is FloorDiv else rest


def _without_factors(atom: Expr, divisor: list[Expr]) -> Expr | None:
    """Return the product ``atom`` divided by the product of ``divisor``; None if it does not divide it."""
    rest = factors(atom)
    for factor in divisor:
        place = next((i for i, other in enumerate(rest) if bool(other == factor)), None)
        if place is None:
            return None
        del rest[place]
    if not rest:
        return IntImm(1, atom.dtype)
    result = rest[0]
    for factor in rest[1:]:
        result = Mul(result, factor)
    return result


def _rounds_down(a: Sum, b: Sum, context: Context) -> bool:
    """Whether rounding towards zero is rounding down."""
    low, divisor_low = context.bounds_of(a).lo, context.bounds_of(b).lo
    signs = low is not None and low >= 0 and divisor_low is not None and divisor_low > 0
    return signs and exact(context, a) and exact(context, b)


def _is_multiple(a: Sum, divisor: Sum, context: Context) -> bool:
    """Whether every term of ``a`` is a multiple of a positive constant."""
    step = divisor.const
    if not divisor.is_const or step <= 0 or a.const % step:
        return False
    return _common_factor(a, step) == step and exact(context, a)


def truncdiv(a: Sum, b: Sum, context: Context) -> Sum:
    """Return the quotient rounded towards zero."""
    if _is_multiple(a, b, context):
        return _divided(a, b.const)
    return floordiv(a, b, context) if _rounds_down(a, b, context) else _atom(Div, a, b)


def truncmod(a: Sum, b: Sum, context: Context) -> Sum:
    """Return the remainder with the sign of ``a``."""
    if _is_multiple(a, b, context):
        return Sum(a.dtype)
    return floormod(a, b, context) if _rounds_down(a, b, context) else _atom(Mod, a, b)
