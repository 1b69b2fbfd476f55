"""What is known about variables: intervals, values, symbolic ranges and facts; bounds and proofs that follow.

Tests: tests/vta/arith/test_simplify*.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from vta.arith.const_bounds import const_bounds, is_index, unbound
from vta.arith.const_interval import ConstInterval
from vta.arith.facts import Fact, conjuncts, fact_of
from vta.arith.sums import Sum, exact
from vta.tir.deep import deep
from vta.tir.effects import reads_memory
from vta.tir.expr import (
    Expr,
    ExprLike,
    IterVar,
    Max,
    Min,
    Range,
    Var,
    cast_to,
    convert,
)

__all__ = ["Knowledge"]

_DEEP_CONDITION = 3
"""So many conditions inside of each other are simplified anew with everything that is learned; deeper ones are not."""

_MOST_CASES = 64
"""How many minima and maxima are looked into for one question, in all."""


class Knowledge:
    """The state of an analyser; ``sum_of`` and ``simplify`` come from the classes built on it."""

    def __init__(self, env: Mapping[Var, Range | ConstInterval | Expr] | None = None) -> None:
        self._bounds: dict[Var, ConstInterval] = {}
        self._values: dict[Var, Expr] = {}
        self._ranges: dict[Var, tuple[Expr, Expr]] = {}
        self._facts: list[Fact] = []
        self._known: list[Expr] = []
        self._cases_left: int | None = None
        self._settled: dict[int, tuple[Expr, Expr]] | None = None  # by identity, inside the outermost condition
        self._conditions = 0
        for var, value in (env or {}).items():
            self.bind(var, value)

    def bind(self, var: Var, value: Range | ConstInterval | ExprLike) -> None:
        """Tell that ``var`` lies in a range or interval, or is an expression (of the same type).

        Bind outer variables first: a range may use them. Binding a variable again replaces what was known about it. A
        variable keeps its value where memory changes: of an end or value that reads memory, only constant bounds hold.
        """
        self._bounds.pop(var, None)
        self._values.pop(var, None)
        self._ranges.pop(var, None)
        match value:
            case ConstInterval():
                self._bounds[var] = value
            case Range():
                self._bind_range(var, value)
            case _:
                self._bind_value(var, self.simplify(cast_to(convert(value), var.dtype)))

    def _bind_value(self, var: Var, value: Expr) -> None:
        if not reads_memory(value):
            self._values[var] = value
        elif is_index(value.dtype) or value.dtype.is_int:
            self._bounds[var] = const_bounds(value, self._bounds)

    def _bind_range(self, var: Var, domain: Range) -> None:
        low, high = self._ends(domain)
        settled = not (reads_memory(domain.min) or reads_memory(domain.extent))
        if settled and low.minus(high).is_const and low.const == high.const:
            self._values[var] = low.emit()
            return
        self._bounds[var] = ConstInterval(self.bounds_of(low).lo, self.bounds_of(high).hi)
        if settled and not (low.is_const and high.is_const):
            self._ranges[var] = (low.emit(), high.emit())

    def _ends(self, domain: Range) -> tuple[Sum, Sum]:
        """Return the smallest and the largest member."""
        low, high = self.sum_of(domain.min), self.sum_of(domain.min).add(self.sum_of(domain.extent))
        high.const -= 1
        return low, high

    @contextmanager
    def within_axes(self, axes: tuple[IterVar, ...]) -> Iterator[None]:
        """Let the variables of ``axes`` lie in their domains inside the ``with`` block."""
        bounds, settled = self._bounds, self._settled
        self._bounds = dict(bounds)
        if settled is not None:
            self._settled = {}
        for axis in axes:
            if axis.dom is not None:
                low, high = self._ends(axis.dom)
                self._bounds[axis.var] = ConstInterval(self.bounds_of(low).lo, self.bounds_of(high).hi)
        try:
            yield
        finally:
            self._bounds, self._settled = bounds, settled

    @contextmanager
    def constraint(self, condition: ExprLike) -> Iterator[None]:
        """Take ``condition`` for true inside the ``with`` block, which may be about statements.

        They may change memory: what the condition says of memory is left out.
        """
        with self.assuming(part for part in conjuncts(self.simplify(condition)) if not reads_memory(part)):
            yield

    @contextmanager
    def assuming(self, conditions: Iterable[Expr]) -> Iterator[None]:
        """Take these simplified conditions for true inside the ``with`` block, in which memory stays as it is."""
        facts, known, bounds, settled = len(self._facts), len(self._known), self._bounds, self._settled
        self._bounds = dict(bounds)
        for condition in conditions:
            self.learn(condition)
        try:
            yield
        finally:
            del self._facts[facts:], self._known[known:]
            self._bounds, self._settled = bounds, settled

    def learn(self, condition: Expr) -> None:
        """Take one more simplified condition for true, inside an ``assuming`` block."""
        for part in conjuncts(condition):
            self._learn_comparison(part)
            if self._settled is not None:  # what was settled with less knowledge is true, but may not be shortest
                self._settled = dict(self._settled) if self._conditions > _DEEP_CONDITION else {}

    def _learn_comparison(self, condition: Expr) -> None:
        fact = fact_of(condition, self)
        if fact is None:
            self._known.append(condition)
            return
        if len(fact.total.terms) == 1:
            ((atom, c),) = fact.total
            if isinstance(atom, Var):
                limits = _solve(c, fact.interval)
                known = self._bounds.get(atom)
                self._bounds[atom] = (unbound(atom) if known is None else known).intersect(limits)
                return
        self._facts.append(fact)

    def bounds_of(self, total: Sum) -> ConstInterval:
        """Return bounds of the mathematical value of a sum."""
        result = self._plain_bounds(total)
        for fact in self._facts:
            narrowed = fact.narrows(total)
            if narrowed is not None:
                rest, interval = narrowed
                result = result.intersect(self._plain_bounds(rest) + interval)
        return result

    def _plain_bounds(self, total: Sum) -> ConstInterval:
        lo: int | None = total.const
        hi: int | None = total.const
        for atom, c in total.terms.values():
            if isinstance(atom, Var) and is_index(atom.dtype):
                known = self._bounds.get(atom)
                bounds = unbound(atom) if known is None else known
            else:
                bounds = const_bounds(atom, self._bounds)
            low, high = (bounds.lo, bounds.hi) if c > 0 else (bounds.hi, bounds.lo)
            lo = None if lo is None or low is None else lo + c * low
            hi = None if hi is None or high is None else hi + c * high
        return ConstInterval(lo, hi)

    @deep
    def proves_nonnegative(self, total: Sum) -> bool:
        """Whether the mathematical value of ``total`` is at least 0, symbolic ranges of variables included."""
        low = self.bounds_of(total).lo
        if low is not None and low >= 0:
            return True
        for var in reversed(self._ranges):
            c = total.coefficient(var)
            if c:
                smallest = self.sum_of(self._ranges[var][0 if c > 0 else 1])
                total = total.copy().add(smallest, c)
                total.add_term(var, -c, index=True)
                low = self.bounds_of(total).lo
                if low is not None and low >= 0:
                    return True
        return self._proves_by_cases(total)

    def _proves_by_cases(self, total: Sum) -> bool:
        """Replace the first minimum or maximum by its operands: by one of them, or by each, as its sign demands.

        A question is about ``_MOST_CASES`` of these at most: n minima in a sum have 2^n cases. Beyond that nothing is
        proved, which says nothing.
        """
        outermost = self._cases_left is None
        if outermost:
            self._cases_left = _MOST_CASES
        try:
            return self._one_more_case(total)
        finally:
            if outermost:
                self._cases_left = None

    def _one_more_case(self, total: Sum) -> bool:
        assert self._cases_left is not None
        if self._cases_left <= 0:
            return False
        self._cases_left -= 1
        for atom, c in total:
            if isinstance(atom, Min | Max):
                rest = total.copy()
                rest.remove(atom)
                operands = [self.sum_of(operand) for operand in (atom.a, atom.b)]
                proofs = (exact(self, o) and self.proves_nonnegative(rest.copy().add(o, c)) for o in operands)
                return any(proofs) if (c > 0) is isinstance(atom, Max) else all(proofs)
        return False

    def sum_of(self, expr: Expr) -> Sum:
        """Return the normal form of a scalar integer expression."""
        raise NotImplementedError

    def simplify(self, expr: ExprLike) -> Expr:
        """Return an expression with the same value, in normal form."""
        raise NotImplementedError


def _solve(factor: int, interval: ConstInterval) -> ConstInterval:
    """Return the integers v with factor * v in ``interval``."""
    if factor < 0:
        factor, interval = -factor, -interval
    lo = None if interval.lo is None else -(-interval.lo // factor)
    hi = None if interval.hi is None else interval.hi // factor
    return ConstInterval(lo, hi)
