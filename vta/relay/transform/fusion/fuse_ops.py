"""Make one function of operators that become one kernel.

Before::

    %0 = nn.conv2d(%x, const<float32[8, 3, 3, 3]>(#0)) from Conv "conv1";
    %1 = add(%0, const<float32[8, 1, 1]>(#1)) from Conv "conv1";
    %2 = add(%1, %skip) from Add "add1";
    %3 = nn.relu(%2) from Relu "relu1";

After::

    %0 = fn [primitive=True, name="fused_nn_conv2d_add_add_nn_relu"](%p0, %p1, %p2, %p3) {
      %0 = nn.conv2d(%p0, %p1) from Conv "conv1";
      %1 = add(%0, %p2) from Conv "conv1";
      %2 = add(%1, %p3) from Add "add1";
      %3 = nn.relu(%2) from Relu "relu1";
      %3
    }(%x, const<float32[8, 3, 3, 3]>(#0), const<float32[8, 1, 1]>(#1), %skip) from Conv "conv1", Add "add1", ...;

Every operator is in a function afterwards, alone or with others (``groups`` says with which). What a function reads
from outside is a parameter, constants of several elements among them; smaller ones are written into it. Functions that
are called already stay as they are. ``annotation.stop_fusion`` separates kernels and vanishes.
Tests: tests/vta/relay/transform/fusion/test_fuse_ops.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import TensorType, Type
from vta.relay.ir.nodes import Call, Constant, Expr, Function, FunctionAttrs, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.origin import merged
from vta.relay.ir.traverse import children, post_order
from vta.relay.ops.call import call_function
from vta.relay.ops.rewrite import with_body, with_children
from vta.relay.transform.fusion.groups import MAX_OPERATORS, Node, grouped
from vta.relay.transform.fusion.post_dominators import Edge
from vta.relay.transform.inline_lets import inline_lets

__all__ = ["fuse_ops"]

_NAMED = 5
"""Operators that a kernel's name lists."""


def fuse_ops(function: Function, max_operators: int = MAX_OPERATORS) -> Function:
    """Return ``function`` with every operator in a primitive function; its lets become plain nodes first."""
    plain = inline_lets(function)
    order = post_order(plain.body)
    nodes = [expr for expr in order if not isinstance(expr, Var | Constant)]
    roots = grouped(_described(nodes, plain.body), max_operators)
    members: dict[Expr, list[Expr]] = {}
    for node, root in zip(nodes, roots, strict=True):
        members.setdefault(nodes[root], []).append(node)
    new: dict[Expr, Expr] = {}
    for expr in order:
        if isinstance(expr, Var | Constant):
            new[expr] = expr
        elif expr in members:
            new[expr] = _made(expr, members[expr], new)
    return with_body(plain, new[plain.body])


# --- the graph as fusion sees it -------------------------------------------------------------------------------------


def _described(nodes: Sequence[Expr], result: Expr) -> list[Node]:
    """Return what fusion needs to know about each node."""
    numbers = {expr: number for number, expr in enumerate(nodes)}
    readers: list[list[Edge]] = [[] for _ in nodes]
    for number, expr in enumerate(nodes):
        for child in children(expr):
            if child in numbers:
                readers[numbers[child]].append(Edge(number, _edge_pattern(expr, child.type)))
    return [Node(_pattern(expr), tuple(each), expr is result) for expr, each in zip(nodes, readers, strict=True)]


def _pattern(expr: Expr) -> Pattern:
    match expr:
        case Call(callee=Op() as op):
            return operator(op).pattern
        case TupleGetItem():
            return Pattern.INJECTIVE
        case Tuple():
            return Pattern.TUPLE
        case _:
            return Pattern.OPAQUE


def _edge_pattern(reader: Expr, operand: Type) -> Pattern:
    """Return how ``reader`` reads an operand: element by element if it does so and the shapes are the same."""
    pattern = _pattern(reader)
    if pattern > Pattern.BROADCAST:
        return pattern
    assert isinstance(reader.type, TensorType)
    is_same = isinstance(operand, TensorType) and operand.shape == reader.type.shape
    return Pattern.ELEMWISE if is_same else Pattern.BROADCAST


# --- making functions ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Kernel:
    """A function in the making: what stands for each node in it, and what it reads from outside."""

    inside: dict[Expr, Expr] = field(default_factory=dict)
    params: list[Var] = field(default_factory=list)
    args: list[Expr] = field(default_factory=list)

    def operand(self, expr: Expr) -> Expr:
        """Return what stands for ``expr``: its place inside, itself if it is a small constant, or a parameter."""
        if expr not in self.inside:
            if isinstance(expr, Constant) and expr.value.size == 1:
                return expr
            param = Var(f"p{len(self.params)}", expr.type)
            self.params.append(param)
            self.args.append(expr)
            self.inside[expr] = param
        return self.inside[expr]


def _made(root: Expr, members: Sequence[Expr], new: dict[Expr, Expr]) -> Expr:
    """Return the call of the function that computes ``root`` by all ``members``; ``new`` has what it reads."""
    if len(members) == 1 and not (isinstance(root, Call) and isinstance(root.callee, Op)):
        return with_children(root, tuple([new[child] for child in children(root)]))
    if isinstance(root, Call) and root.callee is Op.STOP_FUSION:
        return new[root.args[0]]
    kernel = _Kernel()
    for expr in members:
        assert not isinstance(expr, Let)
        kernel.inside[expr] = with_children(expr, tuple([kernel.operand(child) for child in children(expr)]))
    calls = [expr for expr in members if isinstance(expr, Call)]
    attrs = FunctionAttrs(primitive=True, name=_name(calls))
    function = Function(tuple(kernel.params), kernel.inside[root], attrs)
    origins = merged(each.origins for each in calls)
    return call_function(function, [new[arg] for arg in kernel.args], origins)


def _name(calls: Sequence[Call]) -> str:
    """Return a name that lists the first operators: ``fused_nn_conv2d_add_nn_relu``."""
    names = [str(each.callee).replace(".", "_") for each in calls]
    rest = f"_and_{len(names) - _NAMED}_more" if len(names) > _NAMED else ""
    return f"fused_{'_'.join(names[:_NAMED])}{rest}"
