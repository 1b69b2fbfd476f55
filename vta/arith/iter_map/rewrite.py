"""Index expressions as sums of splits.

A quotient or remainder is taken of one split: a sum becomes one by fusing, where scales and extents are those of mixed
digits (``x*20 + y*5 + z`` with extents 4 and 5 of y and z), or where lower digits reach further than the next scale
(``x*4 + y`` with six values of y), which hits every value, some several times.
Tests: tests/vta/arith/iter_map/test_detect.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vta.arith.iter_map.nodes import IterMapError, IterMark, IterSplitExpr, IterSumExpr
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import Add, Cast, Expr, FloorDiv, FloorMod, IntImm, Mul, Sub, Var, const, same
from vta.tir.traverse import uses_var

__all__ = ["Rewriter"]


@dataclass(slots=True)
class Rewriter:
    """``iters`` has what every iterator is; ``bijective`` refuses sums that give a value several times."""

    iters: Mapping[Var, IterSumExpr]
    analyzer: Analyzer
    bijective: bool = False
    fused: list[tuple[IterSumExpr, IterMark]] = field(default_factory=list)
    limits: list[tuple[IterSplitExpr, Expr, IterMark]] = field(default_factory=list)
    """Splits whose values a predicate limits, their first one, and the marks that count from it."""

    padded: list[tuple[IterMark, Expr, Expr]] = field(default_factory=list)
    """Marks with values that do not occur: how many come before those that do, and where these end."""

    # Sums

    def is_one(self, expr: Expr) -> bool:
        """Whether an expression is certainly 1."""
        return self.equal(expr, const(1, expr.dtype))

    def equal(self, a: Expr, b: Expr) -> bool:
        """Whether two expressions are certainly equal."""
        return same(a, b) or self.analyzer.can_prove_equal(a, b)

    @deep
    def sum_of(self, expr: Expr) -> IterSumExpr:
        """Return an expression as a sum of splits; raises ``IterMapError``."""
        match expr:
            case Var() if expr in self.iters:
                return self.iters[expr]
            case _ if not uses_var(expr, self.iters):
                return IterSumExpr((), self.analyzer.simplify(expr))
            case Add():
                return self.added(self.sum_of(expr.a), self.sum_of(expr.b), const(1, expr.dtype))
            case Sub():
                return self.added(self.sum_of(expr.a), self.sum_of(expr.b), const(-1, expr.dtype))
            case Mul():
                return self._product(self.sum_of(expr.a), self.sum_of(expr.b))
            case FloorDiv() | FloorMod():
                divisor = self.sum_of(expr.b)
                if divisor.args:
                    raise IterMapError(f"{expr}: it is divided by an iterator")
                digits = self._quotient if isinstance(expr, FloorDiv) else self._remainder
                return digits(self.sum_of(expr.a), divisor.base)
            case Cast() if expr.dtype.is_int and expr.value.dtype.is_int:
                return self.sum_of(expr.value)
            case _:
                raise IterMapError(f"{expr} is no sum, quotient or remainder of iterators")

    def added(self, a: IterSumExpr, b: IterSumExpr, sign: Expr) -> IterSumExpr:
        """Return ``a + sign * b``; equal digits are put together."""
        args = list(a.args)
        for arg in b.args:
            scale = self.analyzer.simplify(arg.scale * sign)
            for i, own in enumerate(args):
                if self._same_digit(own, arg):
                    total = self.analyzer.simplify(own.scale + scale)
                    args[i : i + 1] = [] if _is_zero(total) else [_scaled(own, total)]
                    break
            else:
                args.append(_scaled(arg, scale))
        return IterSumExpr(args, self.analyzer.simplify(a.base + b.base * sign))

    def _same_digit(self, a: IterSplitExpr, b: IterSplitExpr) -> bool:
        return a.source is b.source and self.equal(a.lower_factor, b.lower_factor) and self.equal(a.extent, b.extent)

    def _product(self, a: IterSumExpr, b: IterSumExpr) -> IterSumExpr:
        if a.args and b.args:
            raise IterMapError("a product of iterators is no sum of them")
        total, factor = (b, a.base) if b.args else (a, b.base)
        if _is_zero(factor):
            return IterSumExpr((), factor)
        args = [_scaled(arg, self.analyzer.simplify(arg.scale * factor)) for arg in total.args]
        return IterSumExpr(args, self.analyzer.simplify(total.base * factor))

    # Fusing

    def fuse(self, total: IterSumExpr) -> IterSumExpr:
        """Return a sum of at most one split with the same value; raises ``IterMapError``."""
        total = self._with_limits(total)
        if not total.args:
            return total
        ordered = self._ordered(total.args)
        base = ordered[-1].scale
        digits = [_scaled(arg, self._exact(arg.scale, base)) for arg in ordered]
        extent = self._extent(digits)
        if len(digits) == 1:
            return IterSumExpr((_scaled(digits[0], base),), total.base)
        source = IterSumExpr(digits, const(0, base.dtype))
        mark = self._known(source)
        if mark is None:
            mark = IterMark(source, extent)
            self.fused.append((source, mark))
        return IterSumExpr((IterSplitExpr(mark, const(1), mark.extent, base),), total.base)

    def limit(self, total: IterSumExpr, low: Expr | None, end: Expr | None) -> None:
        """Take it for true that ``low <= total < end``; the sum has positive scales and no base."""
        whole = self.fuse(total)
        (split,) = whole.args
        if not self.is_one(split.scale):
            raise IterMapError("a predicate is about a multiple of an iterator")
        zero = const(0, split.extent.dtype)
        if low is not None:
            low = self.analyzer.simplify(low - whole.base)
        if end is not None:
            end = self.analyzer.simplify(end - whole.base)
        first = zero if low is None or self.analyzer.can_prove(low <= 0) else low
        last = split.extent if end is None or self.analyzer.can_prove(split.extent <= end) else end
        source = IterSumExpr((split,), self.analyzer.simplify(0 - first))
        self.limits.append((split, first, IterMark(source, self.analyzer.simplify(last - first))))

    def _with_limits(self, total: IterSumExpr) -> IterSumExpr:
        """Return a sum with limited marks in place of the digits that a predicate is about."""
        for split, first, mark in self.limits:
            parts = self._parts(split)
            found = [next((a for a in total.args if self._same_digit(a, part)), None) for part in parts]
            if any(arg is None for arg in found):
                continue
            args = [arg for arg in found if arg is not None]
            scale = self.analyzer.simplify(args[-1].scale // parts[-1].scale)
            if not all(self.equal(arg.scale, p.scale * scale) for arg, p in zip(args, parts, strict=True)):
                continue
            kept = [arg for arg in total.args if not any(arg is own for own in args)]
            whole = IterSplitExpr(mark, const(1), mark.extent, scale)
            total = IterSumExpr([whole, *kept], self.analyzer.simplify(total.base + first * scale))
        return total

    def _parts(self, split: IterSplitExpr) -> tuple[IterSplitExpr, ...]:
        """Return the digits that a whole fused mark is made of; a split by itself."""
        source = split.source.source
        limited = any(split.source is mark for _, _, mark in self.limits)
        if not limited and isinstance(source, IterSumExpr) and self.equal(split.extent, split.source.extent):
            return source.args
        return (split,)

    def _known(self, source: IterSumExpr) -> IterMark | None:
        """Return the mark of a sum that was fused before."""
        for known, mark in self.fused:
            if len(known.args) == len(source.args) and all(
                self._same_digit(a, b) and self.equal(a.scale, b.scale)
                for a, b in zip(known.args, source.args, strict=True)
            ):
                return mark
        return None

    def _ordered(self, args: Sequence[IterSplitExpr]) -> list[IterSplitExpr]:
        """Return splits by scale, the smallest last."""
        if all(isinstance(arg.scale, IntImm) for arg in args):
            scales = [arg.scale.value if isinstance(arg.scale, IntImm) else 0 for arg in args]
            if any(scale <= 0 for scale in scales):
                raise IterMapError("an iterator runs backwards, or not at all")
            order = sorted(range(len(args)), key=lambda i: (-scales[i], i))
            return [args[i] for i in order]
        left, found = list(args), list[IterSplitExpr]()
        expected: Expr | None = None
        while left:
            if expected is None:
                at = next((i for i, arg in enumerate(left) if self.is_one(arg.scale)), None)
                at = at if at is not None else next((i for i, a in enumerate(left) if isinstance(a.scale, IntImm)), 0)
            else:
                wanted = expected
                at = next((i for i, arg in enumerate(left) if self.equal(arg.scale, wanted)), None)
                if at is None:
                    raise IterMapError("scales of iterators are not those of digits")
            arg = left.pop(at)
            found.append(arg)
            expected = self.analyzer.simplify(arg.scale * arg.extent)
        return found[::-1]

    def _exact(self, scale: Expr, base: Expr) -> Expr:
        if isinstance(scale, IntImm) and isinstance(base, IntImm):
            if scale.value % base.value:
                raise IterMapError(f"scale {scale.value} is no multiple of {base.value}")
            return const(scale.value // base.value, scale.dtype)
        return self.analyzer.simplify(scale // base) if not self.is_one(base) else scale

    def _extent(self, digits: Sequence[IterSplitExpr]) -> Expr:
        """Return the number of values of a sum of digits that takes all from 0 on."""
        reach: Expr | None = None
        for digit in reversed(digits):
            if reach is None:
                reach = digit.extent
                continue
            if self.equal(digit.scale, reach):
                reach = self.analyzer.simplify(digit.extent * reach)
                continue
            if self.bijective or not self.analyzer.can_prove(digit.scale < reach):
                raise IterMapError(f"scale {digit.scale} does not go with the {reach} values of the digits below")
            reach = self.analyzer.simplify((digit.extent - 1) * digit.scale + reach)
        assert reach is not None
        return reach

    # Quotients and remainders

    def _quotient(self, total: IterSumExpr, divisor: Expr) -> IterSumExpr:
        if self.is_one(divisor):
            return total
        parts = self._divided(total, divisor)
        if parts is not None:
            return parts[0]
        split, base, scale = self._digit(total, divisor)
        shift = self.analyzer.simplify(base // scale)
        high, _, offset = self._halves(split, shift, self._ratio(divisor, scale))
        return IterSumExpr(() if high is None else (high,), offset)

    def _remainder(self, total: IterSumExpr, divisor: Expr) -> IterSumExpr:
        if self.is_one(divisor):
            return IterSumExpr((), const(0, divisor.dtype))
        parts = self._divided(total, divisor)
        if parts is not None:
            return parts[1]
        try:
            split, base, scale = self._digit(total, divisor)
        except IterMapError:
            kept = [arg for arg in total.args if not self._is_multiple(arg.scale, divisor)]
            split, base, scale = self._digit(IterSumExpr(kept, total.base), divisor)
        shift, rest = self.analyzer.simplify(base // scale), self.analyzer.simplify(base % scale)
        _, low, _ = self._halves(split, shift, self._ratio(divisor, scale))
        args = () if low is None else (_scaled(low, scale),)
        return IterSumExpr(args, rest)

    def _digit(self, total: IterSumExpr, divisor: Expr) -> tuple[IterSplitExpr, Expr, Expr]:
        """Return a sum as ``split * scale + base``."""
        if isinstance(divisor, IntImm) and divisor.value <= 0:
            raise IterMapError(f"it is divided by {divisor.value}")
        whole = self.fuse(total)
        (split,) = whole.args
        return _scaled(split, const(1, split.scale.dtype)), whole.base, split.scale

    def _divided(self, total: IterSumExpr, divisor: Expr) -> tuple[IterSumExpr, IterSumExpr] | None:
        """Return quotient and remainder where some splits are multiples of the divisor, the others stay below it."""
        high = [arg for arg in total.args if self._is_multiple(arg.scale, divisor)]
        low = [arg for arg in total.args if not any(arg is other for other in high)]
        rest = self.analyzer.simplify(total.base % divisor)
        most = rest
        for arg in low:
            if not self.analyzer.can_prove(arg.scale > 0):
                return None
            most = most + (arg.extent - 1) * arg.scale
        if low and not self.analyzer.can_prove(most < divisor):
            return None
        args = [_scaled(arg, self.analyzer.simplify(arg.scale // divisor)) for arg in high]
        return IterSumExpr(args, self.analyzer.simplify(total.base // divisor)), IterSumExpr(low, rest)

    def _is_multiple(self, value: Expr, divisor: Expr) -> bool:
        return self.equal(value % divisor, const(0, value.dtype))

    def _ratio(self, divisor: Expr, scale: Expr) -> Expr:
        if not self._is_multiple(divisor, scale):
            raise IterMapError(f"divisor {divisor} does not go with scale {scale}")
        return self.analyzer.simplify(divisor // scale)

    def _halves(
        self, split: IterSplitExpr, shift: Expr, divisor: Expr
    ) -> tuple[IterSplitExpr | None, IterSplitExpr | None, Expr]:
        """Return ``(split + shift) // divisor`` and ``% divisor``, as splits, and what to add to the quotient.

        A half that is a constant is None: the quotient is the offset alone then, the remainder 0 for a divisor of 1.
        """
        zero = const(0, divisor.dtype)
        offset = self.analyzer.simplify(shift // divisor)
        left = self.analyzer.simplify(shift % divisor)
        if self.is_one(divisor):
            return split, None, shift
        if self.equal(left, zero):
            if self._is_multiple(split.extent, divisor):
                high = self.analyzer.simplify(split.extent // divisor)
                lower = self.analyzer.simplify(split.lower_factor * divisor)
                upper = None if self.is_one(high) else IterSplitExpr(split.source, lower, high)
                return upper, IterSplitExpr(split.source, split.lower_factor, divisor), offset
            if self.analyzer.can_prove(split.extent <= divisor):
                return None, split, offset
        return self._padded(split, left, divisor, offset)

    def _padded(
        self, split: IterSplitExpr, left: Expr, divisor: Expr, offset: Expr
    ) -> tuple[IterSplitExpr | None, IterSplitExpr | None, Expr]:
        """Return the halves of values that do not fill their last part, or begin within one."""
        end = self.analyzer.simplify(split.extent + left)
        parts = self.analyzer.simplify((end + divisor - 1) // divisor)
        for mark, low, known in self.padded:
            source = mark.source
            same_values = isinstance(source, IterSumExpr) and self._same_digit(source.args[0], split)
            same_ends = self.equal(low, left) and self.equal(known, end)
            if same_values and same_ends and self._is_multiple(mark.extent, divisor):
                break
        else:
            mark = IterMark(IterSumExpr((split,), left), self.analyzer.simplify(parts * divisor), padded=True)
            self.padded.append((mark, left, end))
        upper = None if self.is_one(parts) else IterSplitExpr(mark, divisor, parts)
        return upper, IterSplitExpr(mark, const(1), divisor), offset


def _scaled(split: IterSplitExpr, scale: Expr) -> IterSplitExpr:
    """Return a split with another scale."""
    return IterSplitExpr(split.source, split.lower_factor, split.extent, scale)


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 0
