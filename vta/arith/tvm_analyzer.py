"""The analyser under TVM's names: ``arith.Analyzer().const_int_bound(x + 1)``, ``modular_set``, ``constraint_scope``.

Tests: tests/vta/arith/test_tvm_analyzer.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial, reduce

from isa.errors import VTAError
from vta.arith import linear
from vta.arith.const_interval import ConstInterval
from vta.arith.facts import conjuncts
from vta.arith.int_set import IntSet, int_set_of
from vta.arith.modular import EVERY_INTEGER, ModularSet, modular_set
from vta.arith.rewrites import Rewriter
from vta.arith.simplify import Analyzer
from vta.tir.dtype import Kind
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    And,
    Div,
    Expr,
    ExprLike,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Range,
    Sub,
    Var,
    binary,
    const,
    convert,
)
from vta.tir.traverse import map_expr, walk

__all__ = [
    "NEG_INF", "POS_INF", "AnalyzerError", "ConstIntBound", "TvmAnalyzer", "detect_clip_bound",
    "detect_linear_equation",
]  # fmt: skip

POS_INF = (1 << 63) - 1
NEG_INF = -POS_INF


class AnalyzerError(VTAError, ValueError):
    """Knowledge that an analyser cannot take."""


@dataclass(frozen=True, slots=True)
class ConstIntBound:
    """The integers from ``min_value`` to ``max_value``; ``NEG_INF`` and ``POS_INF`` are unbounded."""

    min_value: int
    max_value: int

    POS_INF = POS_INF
    NEG_INF = NEG_INF


class TvmAnalyzer(Analyzer):
    """An analyser with TVM's methods; what it assumes of overflow stands in ``vta.arith.simplify``."""

    def __init__(self, env: Mapping[Var, Range | ConstInterval | Expr] | None = None) -> None:
        self._residues: dict[Var, ModularSet] = {}
        self._inside = False
        super().__init__(env)

    def bind(self, var: Var, expr: Range | ConstInterval | ExprLike) -> None:
        """Tell that ``var`` lies in a range, or is an expression."""
        super().bind(var, expr)
        self._residues.pop(var, None)
        if not isinstance(expr, Range | ConstInterval):
            self._residues[var] = modular_set(convert(expr), self._residues)

    def simplify(self, expr: ExprLike, steps: int = 2) -> Expr:  # noqa: ARG002  # TVM's signature
        """Return the normal form, or a shorter one that the rules of ``vta.arith.rewrites`` find.

        ``steps`` is TVM's: how often it takes turns with its simplifiers. Here there is one, which goes on to the end.
        """
        if self._inside:  # a step of the same work
            return super().simplify(expr)
        self._inside = True
        try:
            rewriter = Rewriter(super().simplify, self.const_bounds, self.modular_set)
            found = rewriter.shortest(super().simplify(expr))
            return self._rounded_as(convert(expr), found)
        finally:
            self._inside = False

    def _rounded_as(self, given: Expr, found: Expr) -> Expr:
        """Return ``found`` with what TVM writes: negatives as differences, and divisions as ``given`` has them.

        These round to zero where all of ``given`` do, and where that is the same.
        """
        found = map_expr(_negated, found)
        kinds = {type(node) for node in walk(given)}
        if kinds & {FloorDiv, FloorMod} or not kinds & {Div, Mod}:
            return found

        def rounded(node: Expr) -> Expr:
            if not isinstance(node, FloorDiv | FloorMod):
                return node
            low, divisor = self.const_bounds(node.a).lo, self.const_bounds(node.b).lo
            if low is None or low < 0 or divisor is None or divisor < 1:
                return node
            return Div(node.a, node.b) if isinstance(node, FloorDiv) else Mod(node.a, node.b)

        return map_expr(rounded, found)

    def rewrite_simplify(self, expr: ExprLike) -> Expr:
        """Return the simplified expression; there is one simplifier here."""
        return self.simplify(expr)

    def canonical_simplify(self, expr: ExprLike) -> Expr:
        """Return the simplified expression; there is one simplifier here."""
        return self.simplify(expr)

    def const_int_bound(self, expr: ExprLike) -> ConstIntBound:
        """Return bounds of an integer expression."""
        bounds = self.const_bounds(convert(expr))
        low = NEG_INF if bounds.lo is None else max(bounds.lo, NEG_INF)
        return ConstIntBound(low, POS_INF if bounds.hi is None else min(bounds.hi, POS_INF))

    def modular_set(self, expr: ExprLike) -> ModularSet:
        """Return the residues of an integer expression."""
        return modular_set(convert(expr), self._residues)

    def int_set(self, expr: ExprLike, dom_map: Mapping[Var, IntSet]) -> IntSet:
        """Return a set with all values of an expression when variables are in sets."""
        return int_set_of(convert(expr), dom_map, self)

    def update(self, var: Var, info: ConstIntBound | ModularSet, override: bool = False) -> None:
        """Tell bounds or residues of a variable, in addition to what is known, or (``override``) in its place."""
        match info:
            case ConstIntBound():
                given = ConstInterval(
                    None if info.min_value <= NEG_INF else info.min_value,
                    None if info.max_value >= POS_INF else info.max_value,
                )
                known = self._bounds.get(var)
                self._bounds[var] = given if override or known is None else known.intersect(given)
            case ModularSet():
                before = EVERY_INTEGER if override else self._residues.get(var, EVERY_INTEGER)
                self._residues[var] = before.intersect(info)
            case _:
                raise AnalyzerError(f"update of {var.name!r}: expected a ConstIntBound or a ModularSet, got {info!r}")

    def constraint_scope(self, constraint: ExprLike) -> AbstractContextManager[None]:
        """Take ``constraint`` for true inside a ``with`` block."""
        return self._constrained(convert(constraint))

    @contextmanager
    def _constrained(self, condition: Expr) -> Iterator[None]:
        residues = dict(self._residues)
        for part in conjuncts(condition):
            match part:
                case EQ(a=FloorMod() | Mod() as rest, b=IntImm(value=base)) if isinstance(rest.a, Var):
                    if not isinstance(rest.b, IntImm) or rest.b.value <= 0:
                        continue
                    var, step = rest.a, rest.b.value
                    known = self._residues.get(var, EVERY_INTEGER)
                    self._residues[var] = known.intersect(ModularSet(step, base))
                case _:
                    continue
        try:
            with self.constraint(condition):
                yield
        finally:
            self._residues = residues


def _negated(node: Expr) -> Expr:
    """Return the negative of an expression as a difference, as TVM has it."""
    match node:
        case Mul(a=a, b=IntImm(value=-1)):
            return Sub(const(0, a.dtype), a)
        case _:
            return node


def detect_linear_equation(expr: ExprLike, var_list: Sequence[Var]) -> list[Expr]:
    """Return the coefficient of each variable and the base; the empty list if there is no such form.

    Coefficients of unsigned numbers are signed ones where that is the shorter way: ``128 - c`` has -1.
    """
    form = linear.detect_linear_equation(convert(expr), list(var_list))
    return [] if form is None else [*map(_signed, form[:-1]), form[-1]]


def _signed(coefficient: Expr) -> Expr:
    dtype = coefficient.dtype
    if isinstance(coefficient, IntImm) and dtype.kind is Kind.UINT and coefficient.value > dtype.bounds[1] // 2:
        return const(coefficient.value - dtype.bounds[1] - 1, f"int{dtype.bits}")
    return coefficient


def detect_clip_bound(expr: ExprLike, var_list: Sequence[Var]) -> list[Expr | None]:
    """Return the least and the largest value of each variable; the empty list if the condition is no such bound."""
    parts = [each for part in conjuncts(convert(expr)) for each in _without_extremes(part)]
    found = linear.detect_clip_bound(reduce(partial(binary, And), parts), list(var_list))
    return [] if found is None else [end for pair in found for end in pair]


def _without_extremes(part: Expr) -> list[Expr]:
    """Return a comparison with the smaller (larger) of two numbers, where both have to hold, as both."""
    if not isinstance(part, LT | LE | GT | GE):
        return [part]
    above, below = (part.a, part.b) if isinstance(part, GT | GE) else (part.b, part.a)
    kind = GT if isinstance(part, GT | LT) else GE
    if isinstance(above, Min):
        return [kind(above.a, below), kind(above.b, below)]
    if isinstance(below, Max):
        return [kind(above, below.a), kind(above, below.b)]
    return [part]
