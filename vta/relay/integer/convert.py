"""The walk that makes integers: every node of a float graph in turn, with what is known of it in integers.

    before                                      after
    %0 = qnn.dequantize(%x, 0.5, 0)             %0 = qnn.conv2d(%x, w)
    %1 = nn.conv2d(%0, qnn.dequantize(w, ...))  %1 = qnn.rescale(%0, bias, 0, 1717986918, shift=..., out_min=0)
    %2 = nn.bias_add(%1, b)
    %3 = nn.relu(%2)
    %4 = qnn.quantize(%3, 0.25, 0)

Tests: tests/vta/relay/integer/test_convert.py.
"""

from typing import assert_never

from runtime.executor.operators.types import RelayError
from vta.relay.integer.rules import RULES
from vta.relay.integer.values import Ints, Value
from vta.relay.ir.nodes import Call, Constant, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var, tensor_type
from vta.relay.ir.traverse import post_order
from vta.relay.ops.call import with_args

__all__ = ["to_integers"]


def to_integers(function: Function) -> Function:
    """Return ``function`` with integer operators wherever quantised numbers allow them; inputs and outputs stay.

    Functions that call functions are refused: make integers before anything is fused or partitioned.
    """
    values: dict[Expr, Value] = {}
    for expr in post_order(function.body):
        values[expr] = _value(expr, values)
    return Function(function.params, values[function.body].expr, function.attrs)


def _value(expr: Expr, values: dict[Expr, Value]) -> Value:
    match expr:
        case Var() | Constant():
            return _leaf(expr)
        case Tuple():
            parts = tuple(values[each] for each in expr.fields)
            return Value(lambda: Tuple(tuple(part.expr for part in parts)), parts=parts)
        case TupleGetItem():
            whole = values[expr.value]
            if whole.parts is not None:
                return whole.parts[expr.index]
            return Value(lambda: TupleGetItem(whole.expr, expr.index))
        case Let():
            raise RelayError("integers are made of graphs without let; write its values where they are used")
        case Call():
            return _call(expr, [values[argument] for argument in expr.args])
        case _:
            assert_never(expr)


def _leaf(expr: Var | Constant) -> Value:
    value = Value(lambda: expr)
    if not isinstance(expr, Var) or tensor_type(expr).dtype != "int8":
        return value
    return Value(lambda: expr, ints=Ints(expr, 0))


def _call(expr: Call, arguments: list[Value]) -> Value:
    def plain() -> Expr:
        return with_args(expr, [argument.expr for argument in arguments])

    match expr.callee:
        case Function() | GlobalVar():
            raise RelayError("integers are made before functions are called; this graph has been fused or partitioned")
        case op:
            rule = RULES.get(op)
            found = None if rule is None else rule(expr, arguments)
            return Value(plain) if found is None else found
