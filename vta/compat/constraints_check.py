"""``tvm.testing.check_int_constraints_trans_consistency``: rewritten systems of integers, tried on all values.

Tests: tests/vta/compat/test_constraints_check.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from isa.errors import VTAError
from vta.arith.int_constraints import IntConstraints, IntConstraintsTransform
from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.expr import Expr, ExprLike, IntImm, Range, Var, const, convert
from vta.tir.traverse import free_vars, substitute

__all__ = ["ConsistencyError", "check_bool_expr_is_true", "check_int_constraints_trans_consistency"]

_UNBOUNDED = range(-5, 6)
"""What is tried of a variable without a range."""

_MOST_POINTS = 2000


class ConsistencyError(VTAError, AssertionError):
    """A condition that does not hold for all values."""


def check_bool_expr_is_true(bool_expr: ExprLike, vranges: Mapping[Var, Range], cond: ExprLike | None = None) -> None:
    """Fail unless a condition holds for all values of its variables (where ``cond`` holds).

    Of more than 2,000 combinations of values, evenly spaced ones are tried.
    """
    wanted = convert(bool_expr)
    whole = wanted if cond is None else ops.any(~convert(cond), wanted)
    analyzer = Analyzer()
    variables = free_vars(whole)
    values = [_values(vranges.get(var)) for var in variables]
    total = 1
    for each in values:
        total *= len(each)
    step = max(1, total // _MOST_POINTS)
    for point in itertools.islice(itertools.product(*values), 0, None, step):
        given: dict[Var, Expr] = {v: const(n, v.dtype) for v, n in zip(variables, point, strict=True)}
        result = analyzer.simplify(substitute(whole, given))
        if not isinstance(result, IntImm) or not result.value:
            shown = ", ".join(f"{var.name} = {n}" for var, n in zip(variables, point, strict=True))
            raise ConsistencyError(f"{wanted} does not hold for {shown}")


def _values(dom: Range | None) -> range:
    if dom is None:
        return _UNBOUNDED
    low, count = Analyzer().simplify(dom.min), Analyzer().simplify(dom.extent)
    if not (isinstance(low, IntImm) and isinstance(count, IntImm)):
        return _UNBOUNDED
    return range(low.value, low.value + count.value)


def check_int_constraints_trans_consistency(
    constraints_trans: IntConstraintsTransform, vranges: Mapping[Var, Range] | None = None
) -> None:
    """Fail unless solutions of either system are solutions of the other one, there and back."""
    made = constraints_trans
    _forward(made.src, made.dst, made.src_to_dst, made.dst_to_src, vranges or {})
    _forward(made.dst, made.src, made.dst_to_src, made.src_to_dst, vranges or {})


def _forward(
    first: IntConstraints,
    second: IntConstraints,
    to_second: Mapping[Var, Expr],
    to_first: Mapping[Var, Expr],
    vranges: Mapping[Var, Range],
) -> None:
    wanted: list[Expr] = []
    for var in first.variables:
        if var in to_second:
            wanted.append((var == substitute(to_second[var], dict(to_first))).asexpr())
    wanted += [substitute(relation, dict(to_first)) for relation in [*second.relations, *_limits(second)]]
    given: Sequence[Expr] = [*first.relations, *_limits(first)]
    check_bool_expr_is_true(
        ops.all(*wanted) if wanted else True, {**vranges, **first.ranges}, ops.all(*given) if given else None
    )


def _limits(system: IntConstraints) -> list[Expr]:
    return [e for var, dom in system.ranges.items() for e in (var >= dom.min, var < dom.min + dom.extent)]
