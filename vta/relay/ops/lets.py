"""Lets moved to the front of what they are in, which means the same: nothing here has side effects.

    add(%x, (let %v = exp(%x); %v))     let %v = exp(%x); add(%x, %v)

Tests: tests/vta/relay/ops/test_lets.py.
"""

from dataclasses import dataclass

from vta.relay.ir.nodes import Expr, Let, Var
from vta.relay.ir.traverse import children
from vta.relay.ops.rewrite import with_children

__all__ = ["Bindings", "bindings"]


@dataclass(frozen=True, slots=True)
class Bindings:
    """What is bound, in an order in which every value reads earlier variables only, and the result. No lets within."""

    bound: tuple[tuple[Var, Expr], ...]
    result: Expr


def bindings(root: Expr) -> Bindings:
    """Return ``root`` as a list of bindings and a result without lets."""
    bound: list[tuple[Var, Expr]] = []
    plain: dict[Expr, Expr] = {}
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        expr, is_ready = stack.pop()
        if expr in plain:
            continue
        if isinstance(expr, Let):
            if expr.value not in plain:
                stack += [(expr, False), (expr.value, False)]
            elif not is_ready:
                bound.append((expr.var, plain[expr.value]))
                stack += [(expr, True), (expr.body, False)]
            else:
                plain[expr] = plain[expr.body]
        elif is_ready or not children(expr):
            plain[expr] = with_children(expr, tuple([plain[child] for child in children(expr)]))
        else:
            stack.append((expr, True))
            stack.extend((child, False) for child in reversed(children(expr)))
    return Bindings(tuple(bound), plain[root])
