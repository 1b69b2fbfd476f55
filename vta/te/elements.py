"""What a computation's function returned for one element, as an expression.

Operators and functions (``tir.max``, ``tir.select``) take tensor elements and Python numbers as they are; nodes that a
person makes directly (``tir.Select(c, x[i], 0)``, ``tir.Cast("int32", x[i])``) keep what they were given, so it is
settled here. Tests: tests/vta/te/test_elements.py.
"""

from dataclasses import fields, replace

from isa.errors import VTAError
from vta.te.tensor import Tensor
from vta.tir.dtype import DType
from vta.tir.expr import (
    Binary,
    Cast,
    Compare,
    Equality,
    Expr,
    FloatImm,
    IntImm,
    IterVar,
    Operators,
    Select,
    StringImm,
    Var,
    convert,
    match_types,
)

__all__ = ["ComputeError", "as_element"]


class ComputeError(VTAError, ValueError):
    """A computation that te cannot describe."""


def as_element(value: object, stage: str) -> Expr:
    """Return ``value`` as an expression with expressions alone in it; raises ``ComputeError`` for what is no number."""
    expected = f"compute {stage!r}: expected the function to return an expression, got "
    match value:
        case None:
            raise ComputeError(f"{expected}None; does it lack a return?")
        case str():
            raise ComputeError(f"{expected}{value!r}")
        case Tensor():
            raise ComputeError(f"{expected}tensor {value.name!r}; name an element of it, {value.name}[i, ...]")
        case _:
            return _settled(convert(value))


def _settled(node: Expr) -> Expr:
    """Return ``node`` with every operand an expression; the node itself if all are."""
    match node:
        case IntImm() | FloatImm() | StringImm() | Var():
            return node
        case Binary() | Compare():
            a, b = match_types(_operands(node.a), _operands(node.b))
            return node if a is node.a and b is node.b else type(node)(a, b)
        case Select():
            x, y = match_types(_operands(node.true_value), _operands(node.false_value))
            made = Select(_settled(convert(node.condition)), x, y)
            same = made.condition is node.condition and made.true_value is node.true_value
            return node if same and made.false_value is node.false_value else made
        case Cast():
            value = _settled(convert(node.value))
            return node if value is node.value and isinstance(node.dtype, DType) else Cast(DType(node.dtype), value)
        case _:
            olds = {field.name: getattr(node, field.name) for field in fields(node)}
            news = {name: new for name, old in olds.items() if (new := _operands(old)) is not old}
            return replace(node, **news) if news else node  # type: ignore[arg-type]  # the fields of its own class


def _operands(value: object) -> object:
    """Return what a node's field holds with its operands settled; axes, buffers and numbers stay as they are."""
    match value:
        case IterVar():
            return value
        case Operators() | Equality():
            return _settled(convert(value))
        case tuple():
            news = tuple(_operands(item) for item in value)
            return value if all(new is old for new, old in zip(news, value, strict=True)) else news
        case _:
            return value
