"""Running a graph with numpy: what it means. For integers, this is the reference that every engine must equal.

Tests: tests/vta/relay/test_interpreter.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, assert_never

import numpy as np

from runtime.executor.operators.names import Op
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import Array, RelayError, TensorType, TupleType, Type
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Call, Constant, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.origin import where
from vta.relay.ir.traverse import children, post_order

__all__ = ["AfterNode", "Value", "evaluate", "run"]

Value: TypeAlias = "Array | tuple[Value, ...]"
"""A tensor, or the values of a tuple."""

AfterNode: TypeAlias = Callable[[Call, Value], None]
"""Called with every call of the outermost function and its result, in the order of evaluation."""


def run(
    given: Function | IRModule, inputs: Sequence[Array] | Mapping[str, Array], after_node: AfterNode | None = None
) -> Value:
    """Return the result of a function (of a module: ``main``) for ``inputs``, by position or by name.

    Raises ``RelayError`` for inputs that are missing, too many, or of another type than their parameter. A value is
    let go as soon as nothing reads it any more.
    """
    module = given if isinstance(given, IRModule) else IRModule.from_expr(given)
    function = module["main"]
    return _Run(module, after_node).function(function, _arranged(function, inputs))


def evaluate(expr: Expr) -> Value:
    """Return the value of an expression without free variables."""
    return _Run(IRModule({}), None).expression(expr, {})


def _arranged(function: Function, inputs: Sequence[Array] | Mapping[str, Array]) -> list[Value]:
    """Return ``inputs`` in the order of the parameters, each of its type."""
    names = [param.name for param in function.params]
    if isinstance(inputs, Mapping):
        missing = [name for name in names if name not in inputs]
        unknown = [name for name in inputs if name not in names]
        if missing or unknown:
            raise RelayError(f"expected inputs {', '.join(names) or 'none'}, got {', '.join(inputs) or 'none'}")
        inputs = [inputs[name] for name in names]
    if len(inputs) != len(names):
        raise RelayError(f"expected {len(names)} inputs ({', '.join(names)}), got {len(inputs)}")
    for param, value in zip(function.params, inputs, strict=True):
        if (found := _type_of(value)) != param.type:
            raise RelayError(f"input {param.name!r}: expected {param.type}, got {found}")
    return list(inputs)


def _type_of(value: Value) -> Type:
    if isinstance(value, tuple):
        return TupleType(tuple(_type_of(each) for each in value))
    return TensorType(value.shape, value.dtype.name)


class _Run:
    """One evaluation."""

    def __init__(self, module: IRModule, after_node: AfterNode | None) -> None:
        self.module = module
        self.after_node = after_node
        self.depth = 0

    def function(self, function: Function, args: Sequence[Value]) -> Value:
        """Return the result of ``function``."""
        return self.expression(function.body, dict(zip(function.params, args, strict=True)))

    def expression(self, root: Expr, values: dict[Expr, Value]) -> Value:
        """Return the value of ``root``; ``values`` are those of its free variables."""
        order = post_order(root)
        bound = {expr.var: expr.value for expr in order if isinstance(expr, Let)}
        last_use = {child: index for index, expr in enumerate(order) for child in children(expr)}
        dying: dict[int, list[Expr]] = {}
        for expr, index in last_use.items():
            dying.setdefault(index, []).append(expr)
        for index, expr in enumerate(order):
            if expr not in values:
                values[expr] = (
                    values[bound[expr]]
                    if isinstance(expr, Var) and bound.get(expr) in values
                    else self._node(expr, values)
                )
            if isinstance(expr, Call) and self.after_node is not None and self.depth == 0:
                self.after_node(expr, values[expr])
            for dead in dying.get(index, ()):
                if dead is not root and not isinstance(dead, Var):
                    values.pop(dead, None)
        return values[root]

    def _node(self, expr: Expr, values: Mapping[Expr, Value]) -> Value:
        match expr:
            case Call():
                return self._call(expr, [values[arg] for arg in expr.args])
            case Constant():
                return expr.value
            case Tuple():
                return tuple(values[each] for each in expr.fields)
            case TupleGetItem():
                return values[expr.value][expr.index]
            case Let():
                return values[expr.body]
            case Var():
                raise RelayError(f"the variable {expr.name!r} has no value here")
            case _:
                assert_never(expr)

    def _call(self, call: Call, args: Sequence[Value]) -> Value:
        match call.callee:
            case Op() as op:
                arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
                result = operator(op).evaluate(arrays, call.attrs)
                assert _type_of(result) == call.type, (
                    f"{where(op, call.origins)} gave {_type_of(result)}, not {call.type}"
                )
                return result
            case GlobalVar(name=name):
                return self._inner(self.module[name], args)
            case Function() as function:
                return self._inner(function, args)

    def _inner(self, function: Function, args: Sequence[Value]) -> Value:
        self.depth += 1
        try:
            return self.function(function, args)
        finally:
            self.depth -= 1
