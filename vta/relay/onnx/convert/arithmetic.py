"""Element by element and with broadcasting: arithmetic, comparisons, logic, and functions of one number.

Tests: tests/vta/relay/onnx/test_backend_cases.py.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

from runtime.executor.operators.names import Op
from vta.relay.ir.nodes import Expr
from vta.relay.onnx.convert.converter import Converter, all_inputs, direct
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS"]


def _folded(op: Op) -> Converter:
    """Return the converter of an operator of any number of inputs that ``op`` takes two at a time."""

    def convert(node: Node) -> Sequence[Expr]:
        inputs = all_inputs(node)
        if not inputs:
            node.refuse("it has no inputs")
        return [reduce(lambda left, right: node.call(op, (left, right)), inputs)]

    return convert


def _mean(node: Node) -> Sequence[Expr]:
    [total] = _folded(Op.ADD)(node)
    return [node.call(Op.DIVIDE, (total, node.scalar(len(node.inputs))))]


def _reciprocal(node: Node) -> Sequence[Expr]:
    return [node.call(Op.DIVIDE, (node.scalar(1), node.input(0)))]


def _modulo(node: Node) -> Sequence[Expr]:
    if not node.flag("fmod"):
        return [node.call(Op.FLOOR_MOD, all_inputs(node))]
    # The result has the sign of the dividend: a - b * trunc(a / b), computed on magnitudes, which floor.
    a, b = all_inputs(node)
    magnitude = node.call(Op.FLOOR_MOD, (node.call(Op.ABS, (a,)), node.call(Op.ABS, (b,))))
    negative = node.call(Op.LESS, (a, node.scalar(0)))
    return [node.call(Op.WHERE, (negative, node.call(Op.NEGATIVE, (magnitude,)), magnitude))]


def _bit_shift(node: Node) -> Sequence[Expr]:
    direction = node.text("direction", choices=("LEFT", "RIGHT"))
    return [node.call(Op.LEFT_SHIFT if direction == "LEFT" else Op.RIGHT_SHIFT, all_inputs(node))]


_DIRECT = {
    "Abs": Op.ABS, "Acos": Op.ACOS, "Add": Op.ADD, "And": Op.LOGICAL_AND, "Asin": Op.ASIN, "Atan": Op.ATAN,
    "Ceil": Op.CEIL, "Cos": Op.COS, "Cosh": Op.COSH, "Div": Op.DIVIDE, "Equal": Op.EQUAL, "Erf": Op.ERF, "Exp": Op.EXP,
    "Floor": Op.FLOOR, "Greater": Op.GREATER, "GreaterOrEqual": Op.GREATER_EQUAL, "Identity": Op.COPY, "Less": Op.LESS,
    "LessOrEqual": Op.LESS_EQUAL, "Log": Op.LOG, "Mul": Op.MULTIPLY, "Neg": Op.NEGATIVE, "Not": Op.LOGICAL_NOT,
    "Or": Op.LOGICAL_OR, "Pow": Op.POWER, "Round": Op.ROUND, "Sigmoid": Op.SIGMOID, "Sign": Op.SIGN, "Sin": Op.SIN,
    "Sinh": Op.SINH, "Sqrt": Op.SQRT, "Sub": Op.SUBTRACT, "Tan": Op.TAN, "Tanh": Op.TANH, "Where": Op.WHERE,
    "Xor": Op.LOGICAL_XOR, "Relu": Op.RELU,
}  # fmt: skip

CONVERTERS: Mapping[str, Converter] = {
    **{kind: direct(op) for kind, op in _DIRECT.items()},
    "BitShift": _bit_shift,
    "Max": _folded(Op.MAXIMUM),
    "Mean": _mean,
    "Min": _folded(Op.MINIMUM),
    "Mod": _modulo,
    "Reciprocal": _reciprocal,
    "Sum": _folded(Op.ADD),
}
