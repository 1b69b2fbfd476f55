"""The normal form of integer expressions: a constant plus coefficients times atoms.

An atom is what addition and multiplication by constants do not see through: a variable, a product of atoms, a division,
a minimum, a buffer element. Re-association of +, - and * is exact modulo 2^n, so a ``Sum`` always has the machine value
of the expression it came from. Its value over the mathematical integers is the same only if ``exact`` says so.

Tests: tests/vta/arith/test_simplify*.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from vta.arith.const_bounds import is_index, type_bounds
from vta.arith.const_interval import ConstInterval
from vta.tir.dtype import DType
from vta.tir.expr import Add, Expr, FloorDiv, FloorMod, IntImm, Mul, Sub, Var, same, structural_hash

_DIVISIONS = (FloorDiv, FloorMod)

_LONG = 16
"""In sums of so many terms, equal atoms are looked up instead of searched."""

__all__ = ["Context", "Sum", "exact", "factors", "parts_exact", "wrapped"]


def wrapped(value: int, dtype: DType) -> int:
    """Return ``value`` as two's complement of ``dtype``."""
    low, high = dtype.bounds
    return value if low <= value <= high else (value - low) % (1 << dtype.bits) + low


class Sum:
    """``const`` plus the coefficients times the atoms of ``terms``, in order of first appearance.

    ``terms`` is keyed by the identity of an atom (kept alive by its entry), equal atoms share one entry; no coefficient
    is zero. ``index`` tells that only indices and constants take part (see ``const_bounds``).
    """

    __slots__ = ("_keys", "const", "dtype", "has_division", "index", "terms")

    def __init__(self, dtype: DType, const: int = 0) -> None:
        self.dtype = dtype
        self.const = const
        self.terms: dict[int, tuple[Expr, int]] = {}
        self.index = is_index(dtype)
        self.has_division = False
        self._keys: dict[int, list[int]] | None = None
        """In a long sum, the keys of the atoms by what equal atoms share."""

    def __iter__(self) -> Iterator[tuple[Expr, int]]:
        return iter(self.terms.values())

    @property
    def is_const(self) -> bool:
        """Whether no atom is left."""
        return not self.terms

    def find(self, atom: Expr) -> int:
        """Return the key under which ``atom`` is, or would be, kept."""
        key = id(atom)
        if key in self.terms or isinstance(atom, Var):
            return key
        kind = type(atom)
        for other_key in self._candidates(atom):
            other, _ = self.terms.get(other_key, (None, 0))
            if type(other) is kind and other is not None and _same_atom(other, atom):
                return other_key
        return key

    def _candidates(self, atom: Expr) -> Iterable[int]:
        """Return the keys of terms that may have an equal atom."""
        if len(self.terms) < _LONG:
            return self.terms
        if self._keys is None:
            self._keys = {}
            for key, (known, _) in self.terms.items():
                self._keys.setdefault(_digest(known), []).append(key)
        return self._keys.get(_digest(atom), ())

    def coefficient(self, atom: Expr) -> int:
        """Return the coefficient of ``atom``, 0 if it does not occur."""
        entry = self.terms.get(self.find(atom))
        return 0 if entry is None else entry[1]

    def add_term(self, atom: Expr, coefficient: int, *, index: bool) -> None:
        """Add ``coefficient * atom``; ``index`` tells whether the atom is made of indices."""
        if coefficient == 0:
            return
        self.index = self.index and index
        if isinstance(atom, _DIVISIONS):
            self.has_division = True
        key = self.find(atom)
        entry = self.terms.get(key)
        if entry is None:
            self.terms[key] = (atom, coefficient)
            if self._keys is not None:
                self._keys.setdefault(_digest(atom), []).append(key)
        elif entry[1] + coefficient == 0:
            del self.terms[key]
        else:
            self.terms[key] = (entry[0], entry[1] + coefficient)

    def add(self, other: Sum, factor: int = 1) -> Sum:
        """Add ``factor * other`` to this sum, and return it."""
        self.const += other.const * factor
        if self.terms or factor == 0:
            for atom, coefficient in other.terms.values():
                self.add_term(atom, coefficient * factor, index=other.index)
        else:
            self.terms = {key: (atom, c * factor) for key, (atom, c) in other.terms.items()}
            self._keys = None
            self.has_division = other.has_division
        self.index = self.index and other.index
        return self

    def copy(self) -> Sum:
        """Return a sum of its own with the same contents."""
        new = Sum(self.dtype, self.const)
        new.terms, new.index, new.has_division = dict(self.terms), self.index, self.has_division
        return new

    def scaled(self, factor: int) -> Sum:
        """Return ``factor`` times this sum."""
        return Sum(self.dtype).add(self, factor)

    def minus(self, other: Sum) -> Sum:
        """Return the difference."""
        return self.copy().add(other, -1)

    def wrap_constants(self) -> None:
        """Bring constants that folding made too large back into the type; a sum that had one has wrapped."""
        low, high = self.dtype.bounds
        if not low <= self.const <= high:
            self.const = wrapped(self.const, self.dtype)
            self.index = False
        if any(not -high <= c <= high for _, c in self.terms.values()):
            wrapped_terms = {k: (atom, wrapped(c, self.dtype)) for k, (atom, c) in self.terms.items()}
            self.terms = {k: (atom, c) for k, (atom, c) in wrapped_terms.items() if c}
            self.index = False

    def remove(self, atom: Expr) -> None:
        """Drop the term of ``atom``."""
        del self.terms[self.find(atom)]

    def part(self, *, positive: bool) -> Sum:
        """Return the terms with positive coefficients, or the negative ones negated; without the constant."""
        new = Sum(self.dtype)
        new.index, new.has_division = self.index, self.has_division
        new.terms = {k: (atom, abs(c)) for k, (atom, c) in self.terms.items() if (c > 0) is positive}
        return new

    def emit(self) -> Expr:
        """Return the expression: positive terms, a positive constant, negative terms, a negative constant."""
        dtype = self.dtype
        if not self.terms:
            return IntImm(wrapped(self.const, dtype), dtype)
        result: Expr | None = None
        negative: list[tuple[Expr, int]] = []
        for atom, c in self.terms.values():
            coefficient = _signed(c, dtype)
            if coefficient > 0:
                term = _times(atom, coefficient, dtype)
                result = term if result is None else Add(result, term)
            elif coefficient < 0:
                negative.append((atom, coefficient))
        const = _signed(self.const, dtype)
        if const > 0:
            literal = IntImm(const, dtype)
            result = literal if result is None else Add(result, literal)
        for atom, coefficient in negative:
            if result is None:
                result = _times(atom, wrapped(coefficient, dtype), dtype)
            elif coefficient == dtype.bounds[0]:
                result = Add(result, _times(atom, coefficient, dtype))
            else:
                result = Sub(result, _times(atom, -coefficient, dtype))
        if result is None:
            return IntImm(wrapped(const, dtype), dtype)
        if const == dtype.bounds[0] < 0:
            return Add(result, IntImm(const, dtype))
        return Sub(result, IntImm(-const, dtype)) if const < 0 else result


def _signed(value: int, dtype: DType) -> int:
    """Return what ``value`` is modulo the type's size: a constant of the type, or (in a difference) a negated one."""
    high = dtype.bounds[1]
    return value if -high <= value <= high else wrapped(value, dtype)


def _times(atom: Expr, coefficient: int, dtype: DType) -> Expr:
    return atom if coefficient == 1 else Mul(atom, IntImm(coefficient, dtype))


def factors(atom: Expr) -> list[Expr]:
    """Return the factors of a product of atoms, the atom itself if it is none."""
    found: list[Expr] = []
    work = [atom]
    while work:
        part = work.pop()
        if isinstance(part, Mul) and not isinstance(part.b, IntImm):
            work += (part.b, part.a)
        else:
            found.append(part)
    return found


def _digest(atom: Expr) -> int:
    """Return a number that equal atoms share; the factors of a product in any order."""
    if isinstance(atom, Mul):
        return sum(map(structural_hash, factors(atom)))
    return structural_hash(atom)


def _same_atom(a: Expr, b: Expr) -> bool:
    """Whether two atoms are equal; the factors of a product in any order."""
    if not isinstance(a, Mul):
        return same(a, b)
    rest = factors(b)
    for factor in factors(a):
        place = next((i for i, other in enumerate(rest) if same(factor, other)), None)
        if place is None:
            return False
        del rest[place]
    return not rest


class Context(Protocol):
    """What the rules ask of the analyser."""

    def sum_of(self, expr: Expr) -> Sum:
        """Return the normal form of an integer expression."""
        ...

    def bounds_of(self, total: Sum) -> ConstInterval:
        """Return bounds of the mathematical value of a sum."""
        ...

    def proves_nonnegative(self, total: Sum) -> bool:
        """Whether the mathematical value of a sum is at least 0, symbolic ranges of variables included."""
        ...


def parts_exact(context: Context, total: Sum) -> bool:
    """Whether every sum of some of the terms of ``total`` is ``exact``."""
    limit = total.dtype.bounds[1]
    size = abs(total.const)
    for atom, c in total:
        term = Sum(total.dtype)
        term.add_term(atom, c, index=total.index)
        bounds = context.bounds_of(term)
        if bounds.lo is None or bounds.hi is None:
            return total.index
        size += max(abs(bounds.lo), abs(bounds.hi))
    return size <= limit


def exact(context: Context, total: Sum) -> bool:
    """Whether the machine value of ``total`` is its mathematical value.

    It is if the bounds fit the type. An index without bounds is taken not to overflow.
    """
    bounds = context.bounds_of(total)
    if bounds.lo is None or bounds.hi is None:
        return total.index
    return bounds.within(type_bounds(total.dtype))
