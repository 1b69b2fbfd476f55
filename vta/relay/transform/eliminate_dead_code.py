"""Leave out what nothing reads.

Before::

    let %unused = exp(%x);
    %0 = (%x, %y);
    %1 = %0[1];
    %1

After::

    %y

A node that nothing reads is in no graph to begin with; lets and tuples are what can hold one.
Tests: tests/vta/relay/transform/test_eliminate_dead_code.py.
"""

from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Expr, Function, GlobalVar, Let, Tuple, TupleGetItem
from vta.relay.ir.traverse import calls, free_vars
from vta.relay.ops.rewrite import rewrite_function

__all__ = ["eliminate_dead_code", "eliminate_dead_functions"]


def eliminate_dead_code(function: Function) -> Function:
    """Return ``function`` without lets that nothing reads and without tuples of which values are taken."""
    return rewrite_function(function, _alive)


def _alive(expr: Expr) -> Expr:
    match expr:
        case Let() if expr.var not in free_vars(expr.body):
            return expr.body
        case TupleGetItem(value=Tuple(fields=items)):
            return items[expr.index]
        case _:
            return expr


def eliminate_dead_functions(module: IRModule, roots: tuple[str, ...] = ("main",)) -> IRModule:
    """Return ``module`` with the functions of ``roots`` and those that are called from there."""
    reached: list[str] = []
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.append(name)
            waiting.extend(_called(module[name]))
    return IRModule({name: function for name, function in module.functions.items() if name in reached})


def _called(function: Function) -> list[str]:
    """Return the names of functions that ``function`` calls, within functions that it calls, too."""
    found: list[str] = []
    for call in calls(function):
        match call.callee:
            case GlobalVar(name=name):
                found.append(name)
            case Function():
                found.extend(_called(call.callee))
            case _:
                pass
    return found
