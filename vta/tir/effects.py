"""What computing an expression may do or depend on, beside its variables.

A pass that computes an expression at another place, once instead of twice, or not at all asks here. Tests:
tests/vta/tir/test_effects.py.
"""

from vta.tir.expr import BufferLoad, Call, Div, Expr, FloorDiv, FloorMod, IntImm, Mod
from vta.tir.traverse import walk

__all__ = ["can_fail", "has_effect", "reads_memory"]


def has_effect(expr: Expr) -> bool:
    """Whether computing ``expr`` may change anything: it calls something that is not known to be pure."""
    return any(isinstance(node, Call) and not node.op.is_pure for node in walk(expr))


def reads_memory(expr: Expr) -> bool:
    """Whether ``expr`` may have another value after a store or a call, with the same variables."""
    return any(isinstance(node, BufferLoad) or (isinstance(node, Call) and not node.op.is_pure) for node in walk(expr))


def can_fail(expr: Expr) -> bool:
    """Whether computing ``expr`` may end the function: it divides integers by what may be zero."""
    return any(
        isinstance(node, Div | Mod | FloorDiv | FloorMod)
        and node.dtype.is_int
        and not (isinstance(node.b, IntImm) and node.b.value)
        for node in walk(expr)
    )
