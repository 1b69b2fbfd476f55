"""Compute the same thing once.

Before::

    %0 = exp(%x) from Exp "a";
    %1 = exp(%x) from Exp "b";
    %2 = add(%0, %1);

After::

    %0 = exp(%x) from Exp "a", Exp "b";
    %1 = add(%0, %0);

Constants are the same if their types and bytes are. Functions that are called are the same if they are one object.
Tests: tests/vta/relay/transform/test_eliminate_common_subexpressions.py.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import assert_never

from vta.relay.ir.nodes import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.origin import Origin, merged
from vta.relay.ir.traverse import children, post_order
from vta.relay.ops.rewrite import with_body, with_children

__all__ = ["eliminate_common_subexpressions"]


def eliminate_common_subexpressions(function: Function) -> Function:
    """Return ``function`` with nodes that compute the same thing made one; the one has the origins of all."""
    order = post_order(function.body)
    numbers = _value_numbers(order)
    first: dict[int, Expr] = {}
    origins: dict[int, list[tuple[Origin, ...]]] = {}
    for expr in order:
        first.setdefault(numbers[expr], expr)
        if isinstance(expr, Call):
            origins.setdefault(numbers[expr], []).append(expr.origins)
    if len(first) == len(order):
        return function
    made: dict[int, Expr] = {}
    for number, expr in first.items():
        made[number] = with_children(expr, tuple([made[numbers[child]] for child in children(expr)]))
        node = made[number]
        if isinstance(node, Call) and (together := merged(origins[number])) != node.origins:
            made[number] = replace(node, origins=together)
    return with_body(function, made[numbers[function.body]])


def _value_numbers(order: list[Expr]) -> dict[Expr, int]:
    """Return a number for every node, the same for nodes that compute the same thing."""
    numbers: dict[Expr, int] = {}
    known: dict[Hashable, int] = {}
    for expr in order:
        numbers[expr] = known.setdefault(_key(expr, numbers), len(known))
    return numbers


def _key(expr: Expr, numbers: dict[Expr, int]) -> Hashable:
    """Return what is the same for nodes that compute the same thing."""
    operands = tuple([numbers[child] for child in children(expr)])
    match expr:
        case Call():
            return (Call, expr.callee, expr.attrs, operands)
        case Constant():
            return (Constant, expr.type, expr.value.tobytes())
        case Tuple():
            return (Tuple, operands)
        case TupleGetItem():
            return (TupleGetItem, expr.index, operands)
        case Var() | Let():
            return expr
        case _:
            assert_never(expr)
