"""A layer, written as its operator is in Python: ``Conv2d(1, 64, 56, 56, 64, (3, 3), padding=(1, 1, 1, 1))``.

Nothing is run: names are those of the library's operators and of the steps of their epilogues, values are literals.
Tests: tests/vta/cli/test_layer_text.py.
"""

import ast
import enum
from typing import get_args

from isa.errors import VTAError
from isa.printable import short
from vta import topi
from vta.cli.reporting import UserError
from vta.topi.core.epilogue import Joint, Step
from vta.topi.core.operator import Operator

__all__ = ["is_layer_text", "layer_of"]

_OPERATORS = {name: kind for name, kind in vars(topi).items() if isinstance(kind, type) and issubclass(kind, Operator)}
_NAMES: dict[str, type] = {**_OPERATORS, **{step.__name__: step for step in get_args(Step)}}
_ENUMS: dict[str, type[enum.Enum]] = {
    "BinaryOperation": topi.BinaryOperation, "Joint": Joint, "Rounding": topi.Rounding,
}  # fmt: skip


def is_layer_text(text: str) -> bool:
    """Return whether ``text`` looks like a call, and not like a file's name."""
    return text.partition("(")[0].strip() in _NAMES and text.rstrip().endswith(")")


def layer_of(text: str) -> Operator:
    """Return the operator that ``text`` writes; raises ``UserError``."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        found = _value(tree)
    except SyntaxError as error:
        raise UserError(f"layer {short(text)}: {error.msg}") from None
    except RecursionError:
        raise UserError(f"layer {short(text)}: it is nested too deep") from None
    except TypeError as error:
        raise UserError(f"layer {short(text)}: {str(error).replace('.__init__()', '()')}") from None
    except VTAError as error:
        raise UserError(f"layer {short(text)}: {error}") from None
    if not isinstance(found, Operator):
        raise UserError(f"layer {short(text)}: expected an operator, one of {', '.join(_OPERATORS)}")
    return found


def _value(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=int() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_value(part) for part in parts)
        case ast.Attribute(value=ast.Name(id=name), attr=member) if (
            name in _ENUMS and member in _ENUMS[name].__members__
        ):
            return _ENUMS[name][member]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _NAMES:
            given = {keyword.arg: _value(keyword.value) for keyword in keywords if keyword.arg is not None}
            if len(given) == len(keywords):
                return _NAMES[name](*(_value(each) for each in args), **given)
    raise UserError(f"{short(ast.unparse(node))} is no number, text, tuple, step of an epilogue or operator")
