"""The arithmetic analyser: simplifies expressions, bounds them, and proves conditions about them.

What it assumes: an index (int32 or int64 arithmetic on variables and constants, see ``vta.arith.const_bounds``) whose
bounds are not known does not overflow. Everything else wraps, and its simplified form has the same machine value.
An expression that calls what may do something is simplified within its operands alone: how often and in which order
calls are made stays. Results depend on the expression and on what was bound alone: sums keep the order in which their
terms first appear.
Tests: tests/vta/arith/test_simplify.py and test_simplify_properties.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TypeVar

from vta.arith.comparison import NEGATED, compare, truth
from vta.arith.const_bounds import const_bounds
from vta.arith.const_interval import ConstInterval
from vta.arith.normal_form import NormalForm, is_scalar_int
from vta.arith.sums import exact
from vta.tir.deep import deep
from vta.tir.dtype import BOOL
from vta.tir.effects import has_effect
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    ExprLike,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Range,
    Reduce,
    Select,
    StringImm,
    Sub,
    Var,
    cast_to,
    convert,
    same,
)
from vta.tir.traverse import expr_children, map_children, substitute

__all__ = ["Analyzer", "simplify"]

_T = TypeVar("_T", bound=Expr)


class Analyzer(NormalForm):
    """Knows what variables stand for or lie between, and simplifies and proves with that."""

    def const_bounds(self, expr: ExprLike) -> ConstInterval:
        """Return bounds of an expression, see ``vta.arith.const_bounds``."""
        simplified = self.simplify(expr)
        if is_scalar_int(simplified):
            total = self.sum_of(simplified)
            if exact(self, total):
                return self.bounds_of(total)
        return const_bounds(simplified, self._bounds)

    @deep
    def can_prove(self, condition: ExprLike) -> bool:
        """Whether ``condition`` certainly holds; False says nothing."""
        simplified = self.simplify(condition)
        match simplified:
            case IntImm():
                return bool(simplified.value)
            case And():
                return self.can_prove(simplified.a) and self.can_prove(simplified.b)
            case Or():
                return self.can_prove(simplified.a) or self.can_prove(simplified.b)
            case LT() | LE() if is_scalar_int(simplified.a) and not has_effect(simplified):
                a, b = self.sum_of(simplified.a), self.sum_of(simplified.b)
                difference = b.minus(a)
                difference.const -= isinstance(simplified, LT)
                return exact(self, a) and exact(self, b) and self.proves_nonnegative(difference)
            case _:
                return False

    def can_prove_equal(self, a: ExprLike, b: ExprLike) -> bool:
        """Whether two expressions of one type certainly have the same value; False says nothing."""
        x, y = self.simplify(a), self.simplify(b)
        if x.dtype != y.dtype:
            return False
        if has_effect(x) or has_effect(y):
            return False
        if same(x, y):
            return True
        if not is_scalar_int(x):
            return False
        difference = self._finish(self.sum_of(x).minus(self.sum_of(y)))
        if difference.is_const:
            return difference.const == 0
        bounds = self.bounds_of(difference)
        return bounds.is_point and bounds.lo == 0

    @deep
    def simplify(self, expr: ExprLike) -> Expr:
        """Return an expression with the same value, in normal form; the same object if it is in that form already."""
        old = convert(expr)
        new = self._simplified(old)
        return old if new is old or same(new, old) else new

    def _simplified(self, expr: Expr) -> Expr:
        match expr:
            case IntImm() | FloatImm() | StringImm():
                return expr
            case Var():
                return self._variable(expr)
            case Compare() | Not():
                return self._condition(expr) if expr.dtype == BOOL else map_children(self.simplify, expr)
            case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max() | Div() | Mod():
                if is_scalar_int(expr) and not has_effect(expr):
                    return self.sum_of(expr).emit()
                return map_children(self.simplify, expr)
            case BufferLoad():
                return map_children(self.simplify, expr)
            case Cast():
                return self._cast(expr)
            case Select() | Call(op=Builtin.IF_THEN_ELSE):
                return self._once(self._choice, expr)
            case Let():
                return self._let(expr)
            case Reduce():
                return self._reduce(expr)
            case Call(op=Builtin.LIKELY, args=(condition,)):
                inner = self.simplify(condition)
                return inner if isinstance(inner, IntImm) else Call(inner.dtype, Builtin.LIKELY, (inner,))
            case _:
                return map_children(self.simplify, expr)

    def _variable(self, var: Var) -> Expr:
        value = self._values.get(var)
        if value is not None:
            return value
        bounds = self._bounds.get(var)
        if bounds is not None and bounds.lo is not None and bounds.lo == bounds.hi and is_scalar_int(var):
            return IntImm(bounds.lo, var.dtype)
        return var

    def _condition(self, expr: LT | LE | GT | GE | EQ | NE | And | Or | Not) -> Expr:
        match expr:
            case And() | Or():
                return self._once(self._connective, expr)
            case Not():
                result = self._negation(self.simplify(expr.a))
                return self._known_truth(result) if isinstance(result, Not) else result
            case LT() | LE() | GT() | GE() | EQ() | NE() if is_scalar_int(expr.a) and not has_effect(expr):
                return self._known_truth(compare(type(expr), self.sum_of(expr.a), self.sum_of(expr.b), self))
            case _:
                return self._known_truth(map_children(self.simplify, expr))

    def _known_truth(self, condition: Expr) -> Expr:
        """Decide a condition that was assumed as it stands, or whose opposite was."""
        for known in self._known:
            if same(condition, known):
                return truth(True)
            match known, condition:
                case (Not(a=opposite), _) if same(condition, opposite):
                    return truth(False)
                case NE(), EQ() if same(known.a, condition.a) and same(known.b, condition.b):
                    return truth(False)
                case _:
                    continue
        return condition

    def _negation(self, inner: Expr) -> Expr:
        match inner:
            case IntImm():
                return truth(not inner.value)
            case Not():
                return inner.a
            case And() | Or():  # in normal form, as what it is made of is
                kind = Or if isinstance(inner, And) else And
                return reduce(kind, map(self._negation, _operands(type(inner), inner)))
            case LT() | LE() | GT() | GE() | EQ() | NE() if is_scalar_int(inner.a):
                return self.simplify(NEGATED[type(inner)](inner.a, inner.b))
            case _:
                return Not(inner)

    def _once(self, simplified: Callable[[_T], Expr], expr: _T) -> Expr:
        """Simplify a choice or connective, or return what came of it before, with the same knowledge.

        Each looks at its conditions several times: without that, conditions inside of conditions took a multiple of
        the time per level.
        """
        outermost = self._settled is None
        settled = {} if self._settled is None else self._settled
        found = settled.get(id(expr))
        if found is not None:
            return found[1]
        self._settled = settled
        self._conditions += 1
        try:
            result = simplified(expr)
        finally:
            self._conditions -= 1
            self._settled = None if outermost else settled
        settled[id(expr)] = (expr, result)
        settled[id(result)] = (result, result)
        return result

    def _connective(self, expr: And | Or) -> Expr:
        """Simplify each operand under the others' truth (for Or: falsity); what then holds anyway goes."""
        kind = type(expr)
        if has_effect(expr):
            return map_children(self.simplify, expr)  # what an operand does may change what the others say
        parts: list[Expr] = []
        neutral = kind is And
        with self.assuming(()):
            for operand in _operands(kind, expr):
                part = self.simplify(operand)
                if isinstance(part, IntImm):
                    if bool(part.value) is not neutral:
                        return part
                    continue
                parts.extend(_operands(kind, part))
                self.learn(part if neutral else self._negation(part))
        kept: list[Expr] = []
        with self.assuming(()):
            for part in reversed(parts):
                again = self.simplify(part) if kept else part
                if not isinstance(again, IntImm):
                    kept.insert(0, part)
                    self.learn(part if neutral else self._negation(part))
                elif bool(again.value) is not neutral:
                    return again
        if not kept:
            return truth(neutral)
        result = kept[0]
        for part in kept[1:]:
            result = kind(result, part)
        return result

    def _choice(self, expr: Select | Call) -> Expr:
        condition, first, second = expr_children(expr)
        test = self.simplify(condition)
        if isinstance(test, IntImm):
            return self.simplify(first if test.value else second)
        if any(map(has_effect, (test, first, second))):
            x, y = self.simplify(first), self.simplify(second)
            return Select(test, x, y) if isinstance(expr, Select) else Call(expr.dtype, expr.op, (test, x, y))
        with self.assuming([test]):
            x = self.simplify(first)
        with self.assuming([self._negation(test)]):
            y = self.simplify(second)
        if same(x, y):
            return x
        return Select(test, x, y) if isinstance(expr, Select) else Call(expr.dtype, expr.op, (test, x, y))

    def _cast(self, expr: Cast) -> Expr:
        value = self.simplify(expr.value)
        match value:
            case Cast(value=inner) if is_scalar_int(value) and is_scalar_int(inner):
                if const_bounds(inner, self._bounds).within(ConstInterval(*value.dtype.bounds)):
                    return self.simplify(cast_to(inner, expr.dtype))
            case _:
                pass
        return cast_to(value, expr.dtype)

    def _let(self, expr: Let) -> Expr:
        value = self.simplify(expr.value)
        if isinstance(value, Var | IntImm | FloatImm):
            return self.simplify(substitute(expr.body, {expr.var: value}))
        body = self.simplify(expr.body)
        return Let(expr.var, value, body)

    def _reduce(self, expr: Reduce) -> Expr:
        with self.within_axes(expr.axis):
            return map_children(self.simplify, expr)


def _operands(kind: type[Compare], expr: Expr) -> list[Expr]:
    found: list[Expr] = []
    work = [expr]
    while work:
        part = work.pop()
        if type(part) is kind and isinstance(part, And | Or):
            work += (part.b, part.a)
        else:
            found.append(part)
    return found


@deep
def simplify(expr: ExprLike, env: Mapping[Var, Range | ConstInterval | Expr] | None = None) -> Expr:
    """Simplify one expression, its variables bound as ``env`` says (see ``Analyzer.bind``)."""
    return Analyzer(env).simplify(expr)
