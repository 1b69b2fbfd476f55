"""Test a condition once before a loop, where it does not depend on the loop.

Before::

    for (i, 0, 16) {
      if (n > 4) { A[i] = 1 }
    }

After::

    if (n > 4) {
      for (i, 0, 16) { A[i] = 1 }
    }

Only for a loop whose body is nothing but an ``if`` without ``else``, and a condition that reads no memory.
May import ``vta.passes.remove_no_op``, ``vta.tir``. Tests: tests/vta/passes/test_clean_up.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.passes.remove_no_op import has_effect
from vta.tir.expr import BufferLoad, Expr
from vta.tir.func import PrimFunc
from vta.tir.stmt import For, IfThenElse, Stmt
from vta.tir.traverse import map_stmt, uses_var, walk

__all__ = ["hoist_if_then_else"]


def hoist_if_then_else(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with loop-independent conditions outside of their loops."""
    return replace(func, body=map_stmt(func.body, _hoist))


def _hoist(stmt: Stmt) -> Stmt:
    match stmt:
        case For(body=IfThenElse(else_case=None) as test) if _is_independent(test.condition, stmt):
            return replace(test, then_case=replace(stmt, body=test.then_case))
        case _:
            return stmt


def _is_independent(condition: Expr, loop: For) -> bool:
    reads_memory = any(isinstance(node, BufferLoad) for node in walk(condition))
    return not (reads_memory or has_effect(condition) or uses_var(condition, loop.loop_var))
