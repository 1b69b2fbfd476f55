"""Whether two graphs are the same, up to the names of variables. Tests: tests/vta/relay/ir/test_structural.py.

What is shared in one must be shared in the other; constants are compared by their numbers, names and origins take no
part unless asked for.
"""

from collections.abc import Iterator
from typing import assert_never

import numpy as np

from runtime.executor.operators.names import Op
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Call, Callee, Constant, Expr, Function, GlobalVar, Let, TupleGetItem, Var
from vta.relay.ir.traverse import children, post_order

__all__ = ["first_difference", "structural_equal"]

Graph = IRModule | Function


def structural_equal(a: Graph, b: Graph) -> bool:
    """Whether two graphs are the same, see ``first_difference``."""
    return first_difference(a, b) is None


def first_difference(a: Graph, b: Graph) -> str | None:
    """Return where two graphs first differ in the order of evaluation, and how; None if they are the same."""
    match a, b:
        case Function(), Function():
            return next(_functions(a, b), None)
        case IRModule(), IRModule():
            if list(a.functions) != list(b.functions):
                return f"functions {', '.join(a.functions)} and {', '.join(b.functions)}"
            found = (next(_functions(a[name], b[name]), None) for name in a.functions)
            return next((difference for difference in found if difference), None)
        case _:
            return f"a {type(a).__name__} and a {type(b).__name__}"


def _functions(a: Function, b: Function) -> Iterator[str]:
    if [param.type for param in a.params] != [param.type for param in b.params]:
        yield f"parameters {_types(a)} and {_types(b)}"
        return
    if a.attrs != b.attrs:
        yield f"function attributes {a.attrs} and {b.attrs}"
    partner: dict[Expr, Expr] = dict(zip(a.params, b.params, strict=True))
    left, right = post_order(a.body), post_order(b.body)
    places = {expr: index for index, expr in enumerate(_plain(right))}
    for index, (x, y) in enumerate(zip(_plain(left), _plain(right), strict=False)):
        if isinstance(x, Let) and isinstance(y, Let):
            partner.setdefault(x.var, y.var)
        yield from (f"node {index}: {difference}" for difference in _nodes(x, y, partner, places))
        partner.setdefault(x, y)
    if len(_plain(left)) != len(_plain(right)):
        yield f"{len(_plain(left))} and {len(_plain(right))} nodes"
    elif not _same_operand(a.body, b.body, partner, places):
        yield "the results differ"


def _types(function: Function) -> str:
    return f"({', '.join(str(param.type) for param in function.params)})"


def _plain(order: list[Expr]) -> list[Expr]:
    """Return the nodes that are compared one by one: constants are, where they are read."""
    return [expr for expr in order if not isinstance(expr, Constant | Var)]


def _nodes(x: Expr, y: Expr, partner: dict[Expr, Expr], places: dict[Expr, int]) -> Iterator[str]:
    if type(x) is not type(y):
        yield f"a {type(x).__name__} and a {type(y).__name__}"
        return
    match x, y:
        case Call(), Call():
            yield from _calls(x, y)
        case TupleGetItem(), TupleGetItem() if x.index != y.index:
            yield f"values {x.index} and {y.index} of a tuple"
        case _:
            pass
    if x.type != y.type:
        yield f"types {x.type} and {y.type}"
    if len(children(x)) != len(children(y)):
        yield f"{len(children(x))} and {len(children(y))} operands"
    for place, (a, b) in enumerate(zip(children(x), children(y), strict=False)):
        if not _same_operand(a, b, partner, places):
            yield f"operand {place} differs"


def _same_operand(a: Expr, b: Expr, partner: dict[Expr, Expr], places: dict[Expr, int]) -> bool:
    match a, b:
        case Constant(), Constant():
            return a.type == b.type and np.array_equal(a.value, b.value, equal_nan=a.value.dtype.kind == "f")
        case Var(), Var():
            return partner.setdefault(a, b) is b
        case _:
            return b in places and partner.get(a) is b


def _calls(x: Call, y: Call) -> Iterator[str]:
    if type(x.callee) is not type(y.callee):
        yield f"calls of {_name(x.callee)} and {_name(y.callee)}"
        return
    match x.callee, y.callee:
        case Function() as f, Function() as g:
            yield from _functions(f, g)
        case f, g if f != g:
            yield f"calls of {_name(f)} and {_name(g)}"
        case _:
            pass
    if x.attrs != y.attrs:
        yield f"attributes {x.attrs} and {y.attrs}"


def _name(callee: Callee) -> str:
    match callee:
        case Op():
            return callee.value
        case GlobalVar():
            return f"@{callee.name}"
        case Function():
            return "a function"
        case _:
            assert_never(callee)
