"""Walking over a graph: every node once, however often it is used, and however deep the graph is.

Nothing here recurses: networks are deeper than Python's stack. What is inside of functions that are called is not
walked; a pass that must go there does so call by call. Tests: tests/vta/relay/ir/test_traverse.py.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

from vta.relay.ir.nodes import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var

__all__ = ["calls", "children", "constants", "free_vars", "post_order", "use_counts", "users"]


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct operands of ``expr``, in the order in which they are evaluated."""
    match expr:
        case Call():
            return expr.args
        case Var() | Constant():
            return ()
        case Tuple():
            return expr.fields
        case TupleGetItem():
            return (expr.value,)
        case Let():
            return (expr.value, expr.body)
        case _:
            assert_never(expr)


def post_order(*roots: Expr) -> list[Expr]:
    """Return every node below ``roots`` once, operands before those who use them, in the order of evaluation."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        expr, is_done = stack.pop()
        if is_done:
            order.append(expr)
        elif expr not in seen:
            seen.add(expr)
            stack.append((expr, True))
            stack.extend((child, False) for child in reversed(children(expr)) if child not in seen)
    return order


def calls(root: Expr | Function) -> list[Call]:
    """Return the calls below ``root``, in the order of evaluation."""
    return [expr for expr in post_order(_body(root)) if isinstance(expr, Call)]


def constants(root: Expr | Function) -> list[Constant]:
    """Return the constants below ``root``, in the order of evaluation."""
    return [expr for expr in post_order(_body(root)) if isinstance(expr, Constant)]


def users(roots: Sequence[Expr]) -> dict[Expr, list[Expr]]:
    """Return who reads each node below ``roots``: once for every operand that it is."""
    found: dict[Expr, list[Expr]] = {}
    for expr in post_order(*roots):
        found.setdefault(expr, [])
        for child in children(expr):
            found[child].append(expr)
    return found


def use_counts(root: Expr) -> dict[Expr, int]:
    """Return how often each node below ``root`` is read; the root itself is read once more, from the outside."""
    found = {expr: len(readers) for expr, readers in users([root]).items()}
    found[root] += 1
    return found


def free_vars(root: Expr, bound: Iterable[Var] = ()) -> list[Var]:
    """Return the variables that ``root`` reads and neither binds by a ``Let`` nor has in ``bound``."""
    order = post_order(root)
    known = {*bound, *(expr.var for expr in order if isinstance(expr, Let))}
    return [expr for expr in order if isinstance(expr, Var) and expr not in known]


def _body(root: Expr | Function) -> Expr:
    return root.body if isinstance(root, Function) else root
