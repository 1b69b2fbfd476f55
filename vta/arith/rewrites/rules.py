"""Rules beyond the normal form of ``simplify``, for whoever asks for the shortest form: ``Analyzer.rewrite_simplify``.

The normal form is what passes rely on and listings show; these rules make expressions shorter at a price in time. Each
looks at one node and is taken where the result is smaller. As in ``simplify``, indices (int32, int64) do not
overflow. Tests: tests/vta/arith/test_rewrites.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vta.arith.const_bounds import is_index
from vta.arith.rewrites.vectors import rewritten_vector
from vta.tir.expr import (
    EQ,
    LE,
    LT,
    Add,
    And,
    BufferLoad,
    Builtin,
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Node,
    Select,
    Sub,
    binary,
    bitwise,
    const,
    same,
)
from vta.tir.traverse import map_expr, walk

if TYPE_CHECKING:
    from vta.arith.const_interval import ConstInterval
    from vta.arith.modular import ModularSet

__all__ = ["Rewriter", "size"]

_ROUNDS = 4
_STEPS = 8
_LARGEST = 800
"""The size of an expression up to which rules are tried."""

_Extreme = Min | Max
_SHIFTS = (Builtin.SHIFT_LEFT, Builtin.SHIFT_RIGHT)
_BITS = (*_SHIFTS, Builtin.BITWISE_AND, Builtin.BITWISE_OR, Builtin.BITWISE_XOR)


_SCALAR, _CONSTANT, _VECTOR = 2, 1, 8
"""What nodes weigh: one of several lanes with more scalars inside is shorter than two, and a constant is cheap."""


def size(expr: Expr) -> int:
    """Return what the rules make smaller: the nodes of an expression, weighed."""
    return sum(_CONSTANT if isinstance(node, IntImm) else _weight(node) for node in walk(expr))


def _weight(node: object) -> int:
    return _SCALAR if not isinstance(node, Node) or node.dtype.lanes == 1 else _VECTOR


@dataclass(frozen=True, slots=True)
class Rewriter:
    """The rules, with the normal form, bounds and residues of what an analyser knows."""

    simplify: Callable[[Expr], Expr]
    bounds: Callable[[Expr], ConstInterval]
    residues: Callable[[Expr], ModularSet]

    def shortest(self, expr: Expr) -> Expr:
        """Return the shortest form of an expression in normal form that the rules find."""
        best, least = expr, size(expr)
        if least > _LARGEST:
            return expr
        for _ in range(_ROUNDS):
            changed = map_expr(self._node, expr)
            if changed is expr:
                break
            now = size(changed)
            if now < least:
                best, least = changed, now
            expr = self.simplify(changed)
            now = size(expr)
            if now <= least:
                best, least = expr, now
        return best

    def _node(self, expr: Expr) -> Expr:
        least = size(expr)
        for _ in range(_STEPS):
            found = next((new for new in self._candidates(expr) if new is not None and size(new) < least), None)
            if found is None:
                return expr
            expr, least = found, size(found)
        return expr

    def _candidates(self, expr: Expr) -> Iterator[Expr | None]:
        if expr.dtype.lanes > 1:
            yield rewritten_vector(expr, self.simplify, self.residues)
            return
        match expr:
            case Add() | Sub() if is_index(expr.dtype):
                yield from self._of_sum(expr)
            case Mul() if is_index(expr.dtype):
                yield self._of_product(expr)
            case Div() if is_index(expr.dtype):
                yield _of_quotient(expr)
            case Min() | Max() if is_index(expr.dtype):
                yield from self._of_extreme(expr)
            case LT() | LE() if is_index(expr.a.dtype):
                yield from self._of_comparison(expr)
            case Select() if expr.dtype.is_int:
                yield _as_extreme(expr)
            case Call(op=Builtin.IF_THEN_ELSE):
                yield _of_one_condition(expr)
            case Call(op=op, args=(IntImm() as a, IntImm() as b)) if op in _BITS and expr.dtype.is_int:
                if op not in _SHIFTS or 0 <= b.value < expr.dtype.bits:
                    yield bitwise(op, a, b)
            case _:
                return
        if isinstance(expr, Add | Sub | Min | Max | Mul):
            yield self._of_choices(expr)

    # Sums

    def _of_sum(self, expr: Add | Sub) -> Iterator[Expr | None]:
        terms = list(_terms(expr, 1))
        for place, (factor, atom) in enumerate(terms):
            rest = terms[:place] + terms[place + 1 :]
            match atom:
                case Min() | Max() if abs(factor) == 1:
                    yield self._moved_inside(atom, factor, rest)
                case Div(a=a, b=IntImm(value=c)) if c > 0 and factor % c == 0:
                    yield self._remainder(a, c, -factor // c, rest)
                case _:
                    pass
            for other_place in range(place + 1, len(terms)):
                left = [term for k, term in enumerate(terms) if k not in (place, other_place)]
                found = self._pair(terms[place], terms[other_place])
                if found is not None:
                    yield self._sum([*left, (1, found)])
                yield self._factored(terms[place], terms[other_place], left)

    def _sum(self, terms: Sequence[tuple[int, Expr]]) -> Expr:
        """Return the sum of terms in normal form."""
        total: Expr | None = None
        for factor, atom in terms:
            part = atom if factor == 1 else binary(Mul, atom, const(factor, atom.dtype))
            total = part if total is None else binary(Add, total, part)
        assert total is not None
        return self.simplify(total)

    def _moved_inside(self, atom: _Extreme, factor: int, rest: Sequence[tuple[int, Expr]]) -> Expr:
        """Return ``min(a, b) + rest`` as ``min(a + rest, b + rest)``, and ``rest - min(a, b)`` as a ``max``."""
        kind: type[_Extreme] = type(atom) if factor == 1 else Max if isinstance(atom, Min) else Min
        return binary(kind, *(self._sum([(factor, side), *rest]) for side in (atom.a, atom.b)))

    def _remainder(self, a: Expr, divisor: int, factor: int, rest: Sequence[tuple[int, Expr]]) -> Expr:
        """Return ``rest - factor*divisor*(a / divisor)`` with the remainder of ``a``."""
        left = self._sum([*rest, (-factor, a)])
        remainder: Expr = binary(Mod, a, const(divisor, a.dtype))
        if factor != 1:
            remainder = binary(Mul, remainder, const(factor, a.dtype))
        return binary(Add, left, remainder)

    def _pair(self, one: tuple[int, Expr], other: tuple[int, Expr]) -> Expr | None:
        """Return the sum of two terms that have a shorter form together."""
        for (times, quotient), (factor, rest) in ((one, other), (other, one)):
            whole = _whole(times, quotient, factor, rest)
            if whole is not None:
                return whole
        (f, a), (g, b) = (one, other) if one[0] >= other[0] else (other, one)
        if isinstance(a, Min | Max) and isinstance(b, Min | Max):
            if f == g == 1 and type(a) is not type(b) and _same_sides(a, b):
                return self.simplify(a.a + a.b)
            return self._distance(a, b) if (f, g) == (1, -1) and type(a) is type(b) else None
        if isinstance(a, FloorDiv) and isinstance(b, FloorDiv) and (f, g) == (1, -1):
            return self._quotients(a, b)
        return None

    def _distance(self, a: _Extreme, b: _Extreme) -> Expr | None:
        """Return ``min(a, b) - min(c, d)`` where both sides are as far apart."""
        for c, d in ((b.a, b.b), (b.b, b.a)):
            first, second = self.simplify(a.a - c), self.simplify(a.b - d)
            if same(first, second):
                return first
        return None

    def _quotients(self, a: FloorDiv, b: FloorDiv) -> Expr | None:
        """Return ``(x + k)//c - x//c`` in the remainder of x."""
        between, number = self.simplify(a.a - b.a), a.b
        if not (isinstance(between, IntImm) and isinstance(number, IntImm) and number.value > 0 and same(number, b.b)):
            return None
        return binary(FloorDiv, binary(Add, binary(FloorMod, b.a, number), between), number)

    def _factored(
        self, one: tuple[int, Expr], other: tuple[int, Expr], rest: Sequence[tuple[int, Expr]]
    ) -> Expr | None:
        """Return ``x*y + x*z + rest`` with x taken out."""
        first, second = list(_factors(one[1])), list(_factors(other[1]))
        for place, factor in enumerate(first):
            twin = next((k for k, each in enumerate(second) if same(each, factor)), None)
            if twin is None or isinstance(factor, IntImm):
                continue
            left = [_product([*first[:place], *first[place + 1 :]], one[0], factor)]
            left += [_product([*second[:twin], *second[twin + 1 :]], other[0], factor)]
            whole = binary(Mul, factor, self.simplify(left[0] + left[1]))
            return binary(Add, whole, self._sum(rest)) if rest else whole
        return None

    def _of_product(self, expr: Mul) -> Expr | None:
        a, b = expr.a, expr.b
        if isinstance(a, Min | Max) and isinstance(b, Min | Max) and type(a) is not type(b) and _same_sides(a, b):
            return binary(Mul, a.a, a.b)
        return None

    # Extremes

    def _of_extreme(self, expr: _Extreme) -> Iterator[Expr | None]:
        kind = type(expr)
        dual: type[_Extreme] = Max if kind is Min else Min
        a, b = expr.a, expr.b
        for x, y in ((a, b), (b, a)):
            if self._never_negative(y - x):
                yield x if kind is Min else y
            if isinstance(x, dual) and isinstance(y, dual):
                for shared, left, other in ((x.a, x.b, y), (x.b, x.a, y)):
                    rest = other.b if same(other.a, shared) else other.a if same(other.b, shared) else None
                    if rest is not None:
                        yield binary(dual, binary(kind, left, rest), shared)
        match a, b:
            case FloorDiv(b=IntImm(value=c)), FloorDiv(b=IntImm(value=d)) if c == d > 0:
                yield binary(FloorDiv, binary(kind, a.a, b.a), const(c, a.dtype))
            case _:
                pass
        yield from self._common_part(expr, kind, dual)

    def _common_part(self, expr: _Extreme, kind: type[_Extreme], dual: type[_Extreme]) -> Iterator[Expr | None]:
        """Yield ``min(a + c, b + c)`` as ``min(a, b) + c``, also with the signs of a and b changed."""
        second = list(_terms(expr.b, 1))
        common: list[tuple[int, Expr]] = []
        for factor, atom in _terms(expr.a, 1):
            twin = next((k for k, (g, other) in enumerate(second) if g == factor and same(other, atom)), None)
            if twin is not None:
                common.append((factor, atom))
                second.pop(twin)
        if common:
            part = self._sum(common)
            left = [self.simplify(side - part) for side in (expr.a, expr.b)]
            yield binary(Add, binary(kind, *left), part)
            yield binary(Sub, part, binary(dual, *(self.simplify(0 - side) for side in left)))
        sides = [self.simplify(0 - side) for side in (expr.a, expr.b)]
        yield binary(Mul, binary(dual, *sides), const(-1, expr.dtype))

    # Comparisons

    def _of_comparison(self, expr: LT | LE) -> Iterator[Expr | None]:
        a, b = expr.a, expr.b
        least = 1 if isinstance(expr, LT) else 0
        if self._never_negative(b - a - least):
            yield const(True, "bool")
        if self._never_negative(a - b - (1 - least)):
            yield const(False, "bool")
        if not least and self._never_negative(a - b):
            yield EQ(self.simplify(a - b), const(0, a.dtype))
        yield self._of_quotients(expr, least)
        if isinstance(a, Min | Max):
            yield from self._bounded(expr, a, on_left=True)
        if isinstance(b, Min | Max):
            yield from self._bounded(expr, b, on_left=False)

    def _of_quotients(self, expr: LT | LE, least: int) -> Expr | None:
        match expr.a, expr.b:
            case FloorDiv(a=x, b=IntImm(value=c)), IntImm(value=bound) if c > 0:
                return self._checked(LT, x, (bound + 1 - least) * c, swap=False)
            case IntImm(value=bound), FloorDiv(a=x, b=IntImm(value=c)) if c > 0:
                return self._checked(LE, x, (bound + least) * c, swap=True)
            case _:
                return None

    def _checked(self, kind: type[LT | LE], x: Expr, bound: int, *, swap: bool) -> Expr | None:
        low, high = x.dtype.bounds
        if not low <= bound <= high:
            return None
        number = const(bound, x.dtype)
        return binary(kind, number, x) if swap else binary(kind, x, number)

    def _bounded(self, expr: LT | LE, extreme: _Extreme, *, on_left: bool) -> Iterator[Expr | None]:
        """Yield a comparison with a minimum or maximum as one with a side, where the other side decides nothing."""
        other = expr.b if on_left else expr.a
        least = 1 if isinstance(expr, LT) else 0

        def compared(side: Expr) -> Expr:
            return binary(type(expr), side, other) if on_left else binary(type(expr), other, side)

        def holds(side: Expr) -> bool:
            return self._never_negative((other - side if on_left else side - other) - least)

        def fails(side: Expr) -> bool:
            return self._never_negative((side - other if on_left else other - side) - (1 - least))

        either = isinstance(extreme, Min) is on_left  # one side that holds is enough
        for side, rest in ((extreme.a, extreme.b), (extreme.b, extreme.a)):
            if holds(side):
                yield const(True, "bool") if either else self.simplify(compared(rest))
            if fails(side):
                yield self.simplify(compared(rest)) if either else const(False, "bool")

    def _never_negative(self, difference: Expr) -> bool:
        """Whether a difference is at least 0; of what is rounded down, the remainder is what counts."""
        plain = self.simplify(difference)
        low = self.bounds(plain).lo
        if low is not None and low >= 0:
            return True
        terms = list(_terms(plain, 1))
        for place, (factor, atom) in enumerate(terms):
            match atom:
                case FloorDiv(a=a, b=IntImm(value=c)) if c > 0 and factor % c == 0:
                    times = factor // c
                    left = self._sum([*terms[:place], *terms[place + 1 :], (times, a)])
                    low = self.bounds(left).lo
                    if low is not None and low - max(times, 0) * (c - 1) >= 0:
                        return True
                case _:
                    continue
        return False

    # Choices

    def _of_choices(self, expr: Add | Sub | Min | Max | Mul) -> Expr | None:
        """Return an operation on two choices by one condition as one choice."""
        match expr.a, expr.b:
            case Select() as a, Select() as b if same(a.condition, b.condition):
                kind = type(expr)
                arms = [binary(kind, x, y) for x, y in ((a.true_value, b.true_value), (a.false_value, b.false_value))]
                return Select(a.condition, *map(self.simplify, arms))
            case Select() as a, b if isinstance(expr, Add | Sub) and not isinstance(b, Select):
                return self._with_one_arm_gone(a, lambda arm: binary(type(expr), arm, b))
            case a, Select() as b if isinstance(expr, Add | Sub):
                return self._with_one_arm_gone(b, lambda arm: binary(type(expr), a, arm))
            case _:
                return None

    def _with_one_arm_gone(self, choice: Select, operation: Callable[[Expr], Expr]) -> Expr | None:
        """Return an operation on a choice as a choice, where that leaves nothing of an arm."""
        arms = [self.simplify(operation(arm)) for arm in (choice.true_value, choice.false_value)]
        gone = any(isinstance(arm, IntImm) and arm.value == 0 for arm in arms)
        return Select(choice.condition, *arms) if gone else None


def _terms(expr: Expr, factor: int) -> Iterator[tuple[int, Expr]]:
    """Yield the terms of a sum with their constant factors, in order."""
    stack = [(factor, expr)]
    while stack:
        times, part = stack.pop()
        match part:
            case Add(a=a, b=b):
                stack += [(times, b), (times, a)]
            case Sub(a=a, b=b):
                stack += [(-times, b), (times, a)]
            case Mul(a=a, b=IntImm(value=number)) if abs(times * number) <= part.dtype.bounds[1]:
                stack.append((times * number, a))
            case IntImm(value=number) if abs(times * number) <= part.dtype.bounds[1]:
                yield 1, const(number * times, part.dtype)
            case _:
                yield times, part


def _factors(expr: Expr) -> Iterator[Expr]:
    stack = [expr]
    while stack:
        match stack.pop():
            case Mul(a=a, b=b):
                stack += [b, a]
            case part:
                yield part


def _product(factors: Sequence[Expr], number: int, like: Expr) -> Expr:
    result: Expr = const(number, like.dtype)
    for factor in factors:
        result = binary(Mul, factor, result)
    return result


def _of_one_condition(expr: Call) -> Expr | None:
    """Return a choice within a choice, with the same in both of their other cases, as one by both conditions."""
    match expr.args:
        case outer, Call(op=Builtin.IF_THEN_ELSE, args=(inner, first, second)), other if same(second, other):
            harmless = not any(isinstance(n, BufferLoad | Call | Div | Mod | FloorDiv | FloorMod) for n in walk(inner))
            return Call(expr.dtype, expr.op, (And(outer, inner), first, other)) if harmless else None
        case _:
            return None


def _whole(times: int, quotient: Expr, factor: int, rest: Expr) -> Expr | None:
    """Return ``(x/n)*n*factor + (x%n)*factor`` as ``x*factor``; either pair of operations, n a number or not."""
    if not isinstance(rest, Mod | FloorMod):
        return None
    kind = Div if isinstance(rest, Mod) else FloorDiv
    x, n = rest.a, rest.b
    scaled = factor * n.value if isinstance(n, IntImm) else None
    if scaled is not None and scaled == times and isinstance(quotient, kind):
        found = same(quotient.a, x) and same(quotient.b, n)
    elif isinstance(quotient, Mul) and times == factor:
        sides = ((quotient.a, quotient.b), (quotient.b, quotient.a))
        found = any(isinstance(q, kind) and same(q.a, x) and same(q.b, n) and same(other, n) for q, other in sides)
    else:
        return None
    return binary(Mul, x, const(factor, x.dtype)) if found else None


def _of_quotient(expr: Div) -> Expr | None:
    """Return ``(x / b) / c``, both rounded towards zero, as ``x / (b*c)``."""
    match expr:
        case Div(a=Div(a=x, b=IntImm(value=b)), b=IntImm(value=c)) if b > 0 and c > 0:
            return binary(Div, x, const(b * c, x.dtype)) if b * c <= x.dtype.bounds[1] else None
        case Div(a=a, b=b) if same(a, b):  # dividing by zero means nothing
            return const(1, a.dtype)
        case _:
            return None


def _as_extreme(expr: Select) -> Expr | None:
    """Return the choice of the smaller or larger of two integers as such."""
    match expr.condition:
        case LT(a=a, b=b) | LE(a=a, b=b):
            if same(a, expr.true_value) and same(b, expr.false_value):
                return binary(Min, a, b)
            if same(b, expr.true_value) and same(a, expr.false_value):
                return binary(Max, a, b)
            return None
        case _:
            return None


def _same_sides(a: _Extreme, b: _Extreme) -> bool:
    straight = same(a.a, b.a) and same(a.b, b.b)
    return straight or (same(a.a, b.b) and same(a.b, b.a))
