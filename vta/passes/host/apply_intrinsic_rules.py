"""Calls of intrinsics become what a script's rules for the target say: ``register_intrin_lowering`` and its like.

With a rule for ``tir.mylog`` on "llvm"::

    B[i] = @tir.mylog(A[i], dtype=float32)

becomes::

    B[i] = @tir.call_pure_extern("logf", A[i], dtype=float32)

What a rule gives is looked at again, but not by rules for what it was made of. Raises ``IntrinsicRuleError`` for a rule
that changes the type of a value. Tests: tests/vta/passes/host/test_apply_intrinsic_rules.py.
"""

from dataclasses import dataclass

from isa.errors import VTAError
from vta.tir.deep import deep
from vta.tir.expr import Call, Expr
from vta.tir.expr.own_intrinsic import IntrinsicCall, Rule, rule_for
from vta.tir.func import PrimFunc
from vta.tir.traverse import map_children, map_stmt

__all__ = ["IntrinsicRuleError", "apply_intrinsic_rules"]


class IntrinsicRuleError(VTAError, ValueError):
    """A rule whose result cannot stand for the call."""


def apply_intrinsic_rules(func: PrimFunc, target: str) -> PrimFunc:
    """Return ``func`` with the rules of a kind of target applied."""
    rule = rule_for(target)
    return func if rule is None else func.with_body(map_stmt(func.body, None, _Rules(rule).visit))


@dataclass(frozen=True, slots=True)
class _Rules:
    rule: Rule
    done: tuple[str, ...] = ()
    settled: tuple[Expr, ...] = ()

    @deep
    def visit(self, expr: Expr) -> Expr:
        """Return ``expr`` with the rules applied, arguments first; what is settled stays."""
        if any(expr is each for each in self.settled):
            return expr
        node = map_children(self.visit, expr)
        return self._called(node) if isinstance(node, Call) else node

    def _called(self, node: Call) -> Expr:
        call = IntrinsicCall.of(node)
        result = None if call.op in self.done else self.rule(call)
        if result is None:
            return node
        if result.dtype != node.dtype:
            raise IntrinsicRuleError(
                f"the rule for {call.op!s} makes {result.dtype} of a call that is {node.dtype}; cast what it returns"
            )
        return _Rules(self.rule, (*self.done, call.op), (*self.settled, *call.args)).visit(result)
