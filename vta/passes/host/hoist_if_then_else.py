"""Test a condition once before a loop, where it does not depend on the loop.

Before::

    for (i, 0, 16) {
      if ((n > 4) && (i < m)) { A[i] = 1 }
    }
    for (i, 0, 16) {
      if (n > 4) { B[i] = 1 } else { B[i] = 2 }
    }

After::

    if (n > 4) {
      for (i, 0, 16) {
        if (i < m) { A[i] = 1 }
    } }
    if (n > 4) {
      for (i, 0, 16) { B[i] = 1 }
    } else {
      for (i, 0, 16) { B[i] = 2 }
    }

Only for a loop whose body is nothing but an ``if``, and a condition that reads no memory and cannot fail; of a
conjunction, the first parts, and only without ``else``. Values that do not depend on a loop are no matter of TIR:
CommonSubexprElimTIR puts what occurs twice before the loops, and the native compiler the rest.

Tests: tests/vta/passes/generic/test_clean_up.py.
"""

from dataclasses import replace
from functools import reduce
from itertools import takewhile

from isa.config import VTAConfig
from vta.arith.facts import conjuncts
from vta.passes.fresh_definitions import with_fresh_definitions
from vta.tir.effects import can_fail, reads_memory
from vta.tir.expr import And, Expr, binary
from vta.tir.func import PrimFunc
from vta.tir.stmt import For, IfThenElse, Stmt
from vta.tir.traverse import map_stmt, uses_var

__all__ = ["hoist_if_then_else"]


def hoist_if_then_else(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with loop-independent conditions outside of their loops."""
    return replace(func, body=map_stmt(func.body, _hoist))


def _hoist(stmt: Stmt) -> Stmt:
    match stmt:
        case For(body=IfThenElse() as test) if _is_independent(test.condition, stmt):
            else_case = None if test.else_case is None else with_fresh_definitions(replace(stmt, body=test.else_case))
            return replace(test, then_case=replace(stmt, body=test.then_case), else_case=else_case)
        case For(body=IfThenElse(else_case=None) as test):
            return _hoist_parts(stmt, test)
        case _:
            return stmt


def _hoist_parts(loop: For, test: IfThenElse) -> Stmt:
    """Return ``loop`` under the first parts of its condition, those that do not depend on it."""
    parts = list(conjuncts(test.condition))
    outside = list(takewhile(lambda part: _is_independent(part, loop), parts))
    if not outside:
        return loop
    inside = replace(test, condition=_all(parts[len(outside) :]))
    return IfThenElse(_all(outside), replace(loop, body=inside), origin=test.origin)


def _all(parts: list[Expr]) -> Expr:
    return reduce(lambda a, b: binary(And, a, b), parts)


def _is_independent(condition: Expr, loop: For) -> bool:
    # A loop that does not run computes no condition, so one that may fail stays inside.
    return not (reads_memory(condition) or can_fail(condition) or uses_var(condition, loop.loop_var))
