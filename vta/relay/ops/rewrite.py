"""Rebuilding graphs: what is shared stays shared, and what does not change stays the same object.

Tests: tests/vta/relay/ops/test_rewrite.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from vta.relay.ir.nodes import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.traverse import children, post_order
from vta.relay.ops.call import with_args

__all__ = ["Rewriter", "replace_nodes", "rewrite", "rewrite_function", "substitute", "with_body", "with_children"]

Rewriter: TypeAlias = Callable[[Expr], Expr]
"""Gets a node whose operands are rewritten already; returns it, or what stands for it from now on."""


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """Return ``expr`` with other direct operands, in the order of ``children``; itself if none differs."""
    if all(a is b for a, b in zip(new, children(expr), strict=True)):
        return expr
    match expr:
        case Call():
            return with_args(expr, new)
        case Tuple():
            return Tuple(new)
        case TupleGetItem():
            return TupleGetItem(new[0], expr.index)
        case Let():
            return Let(expr.var, new[0], new[1])
        case Var() | Constant():
            return expr
        case _:
            assert_never(expr)


def rewrite(root: Expr, rewriter: Rewriter) -> Expr:
    """Return the graph with every node replaced by what ``rewriter`` returns for it, from the leaves up.

    A variable that a ``Let`` binds must keep its type; it is not replaced where it is bound.
    """
    new: dict[Expr, Expr] = {}
    for expr in post_order(root):
        below = children(expr)
        rebuilt = with_children(expr, tuple([new[child] for child in below])) if below else expr
        new[expr] = rewriter(rebuilt)
    return new[root]


def rewrite_function(function: Function, rewriter: Rewriter) -> Function:
    """Return ``function`` with its body rewritten; itself if nothing changed."""
    return with_body(function, rewrite(function.body, rewriter))


def with_body(function: Function, body: Expr) -> Function:
    """Return ``function`` with another body; itself if it is the same."""
    return function if body is function.body else replace(function, body=body)


def replace_nodes(root: Expr, mapping: Mapping[Expr, Expr]) -> Expr:
    """Return the graph with the nodes that are keys of ``mapping`` replaced; what only they used is gone."""
    new: dict[Expr, Expr] = dict(mapping)
    for expr in post_order(root):
        if expr not in new:
            new[expr] = with_children(expr, tuple([new[child] for child in children(expr)]))
    return new[root]


def substitute(root: Expr, mapping: Mapping[Var, Expr]) -> Expr:
    """Return the graph with variables replaced."""
    return replace_nodes(root, dict(mapping.items()))
