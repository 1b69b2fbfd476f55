"""Visiting and rewriting programs under TVM's names: ``tir.stmt_functor.post_order_visit``, ``ir_transform``, ...

Passes of this project walk with ``vta.tir.traverse``; these functions are for scripts that bring visitors of their own.
Tests: tests/vta/tir/test_stmt_functor.py.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar, overload

from isa.errors import VTAError
from vta.tir import traverse
from vta.tir.deep import deep
from vta.tir.expr import Expr, ExprLike, Node, Var, convert
from vta.tir.func import PrimFunc
from vta.tir.stmt import SeqStmt, Stmt
from vta.tir.traverse import TirNode, children, map_children, map_stmt_children

__all__ = ["VisitError", "ir_transform", "post_order_visit", "pre_order_visit", "substitute"]

Rewrite: TypeAlias = Callable[[TirNode], TirNode | None]
"""Returns what stands for a node, or None to leave it."""
_N = TypeVar("_N", bound=TirNode)


class VisitError(VTAError, ValueError):
    """Something that cannot be visited, or that stands where it cannot."""


def _node(node: object, name: str) -> TirNode:
    if isinstance(node, PrimFunc):
        return node.body
    if not isinstance(node, Node | Stmt):
        raise VisitError(f"{name} takes a statement or an expression, not {type(node).__name__}")
    return node  # type: ignore[return-value]  # Node is the base of what Expr unites


def post_order_visit(node: TirNode | PrimFunc, fvisit: Callable[[TirNode], None]) -> None:
    """Call ``fvisit`` on everything in ``node``, children before parents, an object that occurs twice once."""
    stack: list[tuple[TirNode, bool]] = [(_node(node, "post_order_visit"), False)]
    seen: set[int] = set()
    while stack:
        top, ready = stack.pop()
        if ready:
            fvisit(top)
        elif id(top) not in seen:
            seen.add(id(top))
            stack.append((top, True))
            stack.extend((child, False) for child in reversed(children(top)))


def pre_order_visit(node: TirNode | PrimFunc, fvisit: Callable[[TirNode], bool]) -> None:
    """Call ``fvisit`` on everything in ``node``, parents first; below a node for which it returns False, on nothing."""
    stack: list[TirNode] = [_node(node, "pre_order_visit")]
    seen: set[int] = set()
    while stack:
        top = stack.pop()
        if id(top) not in seen:
            seen.add(id(top))
            if fvisit(top):
                stack.extend(reversed(children(top)))


def ir_transform(
    stmt: Stmt,
    preorder: Rewrite | None,
    postorder: Rewrite | None,
    only_enable: Collection[str] | None = None,
) -> Stmt:
    """Return ``stmt`` rewritten.

    ``preorder`` sees a node first: what it returns stands for the node, and nothing below is looked at; after None the
    children are rewritten, then ``postorder`` may replace the result. ``only_enable`` has the kinds of nodes that the
    two see, as "tir.For"; all if it is left out. Raises ``VisitError`` for a statement in an expression's place.
    """
    kinds = None if only_enable is None else set(only_enable)

    def offered(rewrite: Rewrite | None, node: _N) -> _N | None:
        if rewrite is None or (kinds is not None and f"tir.{type(node).__name__}" not in kinds):
            return None
        result = rewrite(node)
        if result is not None and isinstance(result, Stmt) is not isinstance(node, Stmt):
            raise VisitError(f"ir_transform: {type(result).__name__} cannot stand for {type(node).__name__}")
        return result  # type: ignore[return-value]  # of the same family

    @deep
    def on_expr(expr: Expr) -> Expr:
        early = offered(preorder, expr)
        if early is not None:
            return early
        mapped = map_children(on_expr, expr)
        late = offered(postorder, mapped)
        return mapped if late is None else late

    @deep
    def on_stmt(inner: Stmt) -> Stmt:
        early = offered(preorder, inner)
        if early is not None:
            return early
        mapped: Stmt
        if isinstance(inner, SeqStmt):  # every statement stays, also one that does nothing now
            parts = tuple(map(on_stmt, inner.stmts))
            mapped = inner if all(map(operator.is_, parts, inner.stmts)) else replace(inner, stmts=parts)
        else:
            mapped = map_stmt_children(inner, on_stmt, on_expr)
        late = offered(postorder, mapped)
        return mapped if late is None else late

    start = _node(stmt, "ir_transform")
    if not isinstance(start, Stmt):
        raise VisitError(f"ir_transform takes a statement, not {type(start).__name__}")
    return on_stmt(start)


@overload
def substitute(node: Stmt, vmap: Mapping[Var, ExprLike]) -> Stmt: ...
@overload
def substitute(node: Expr, vmap: Mapping[Var, ExprLike]) -> Expr: ...
def substitute(node: TirNode, vmap: Mapping[Var, ExprLike]) -> TirNode:
    """Return ``node`` with variables replaced by values (numbers take the variable's type); nothing is folded."""
    values = {var: value if isinstance(value, Node) else convert(value, var.dtype) for var, value in vmap.items()}
    return traverse.substitute(_node(node, "substitute"), values)  # type: ignore[arg-type]
