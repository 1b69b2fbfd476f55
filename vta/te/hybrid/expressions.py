"""The expressions of hybrid script: Python's syntax to expressions of TIR, or to values that are known.

A list, a tuple, a shape and whatever is made of constants alone is known while a function is read.
Tests: tests/vta/te/hybrid/test_expressions.py.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from isa.errors import VTAError
from vta.te.hybrid.emulation import CASTS
from vta.te.hybrid.errors import HybridError
from vta.te.tensor import Tensor, TensorSlice
from vta.tir import math_ops, ops
from vta.tir.deep import deep
from vta.tir.expr import Equality, Expr, FloatImm, IntImm, Mul, Node, Not, ProducerLoad, const, convert
from vta.tir.expr.coercion import binary, cast_to, match_types

__all__ = ["ExpressionReader", "is_known"]

_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: ops.power, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(ops, name) for name in (
        "sqrt", "log", "exp", "tanh", "sigmoid", "power", "round", "floor", "ceil", "trunc", "abs", "likely",
    )},
    **{name: getattr(math_ops, name) for name in ("rsqrt", "erf", "popcount", "sin", "cos")},
}  # fmt: skip


def is_known(value: object) -> bool:
    """Whether a value is a number that is known while the function is read."""
    return isinstance(value, bool | int | float | IntImm | FloatImm)


class ExpressionReader:
    """Reads expressions; ``names`` has what names stand for, ``where`` the file of the function."""

    def __init__(self, names: dict[str, Any], where: Callable[[ast.AST], str]) -> None:
        self.names = names
        self.where = where
        self.called: Callable[[ast.Call, Any, list[Any]], Any] | None = None

    def refusal(self, node: ast.AST, message: str) -> HybridError:
        """Return the error of what stands at ``node``."""
        return HybridError(f"{self.where(node)}: {message}")

    def expr(self, node: ast.expr) -> Expr:
        """Return the expression of a number."""
        value = self.value(node)
        if isinstance(value, Tensor):
            raise self.refusal(node, f"{ast.unparse(node)} is a tensor; name an element of it, {value.name}[i, ...]")
        if not isinstance(value, Node | Equality | bool | int | float):
            raise self.refusal(node, f"expected a number, got {ast.unparse(node)}")
        return convert(value)

    def constant(self, node: ast.expr, what: str) -> int:
        """Return an integer that is known."""
        value = self.value(node)
        if not isinstance(value, int | IntImm):
            raise self.refusal(node, f"{what}: expected a constant, got {ast.unparse(node)}")
        return int(value)

    @deep
    def value(self, node: ast.expr) -> Any:
        """Return what an expression stands for."""
        try:
            return self._value(node)
        except HybridError:
            raise
        except (VTAError, TypeError, IndexError, ZeroDivisionError) as error:
            raise self.refusal(node, f"{ast.unparse(node)}: {error}") from error

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                return node.value
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Tuple() | ast.List():
                return tuple(self.value(item) for item in node.elts)
            case ast.BinOp(op=ast.Div()):
                return self._quotient(node)
            case ast.BinOp():
                return self._operation(node, node.op, self.value(node.left), self.value(node.right))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                return self._connective(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._element(node)
            case ast.Call():
                return self._call(node)
            case _:
                raise self.refusal(node, f"{ast.unparse(node)!r} has no meaning in a hybrid script")

    def _named(self, node: ast.AST, name: str) -> Any:
        if name not in self.names:
            raise self.refusal(node, f"{name!r} is not known here; what a loop assigns ends with it")
        value = self.names[name]
        return value.scalar() if hasattr(value, "scalar") else value

    def _operation(self, node: ast.AST, op: ast.AST, a: Any, b: Any) -> Any:
        if type(op) not in _OPERATORS:
            raise self.refusal(node, f"operator {type(op).__name__} has no meaning in a hybrid script")
        if isinstance(a, tuple | list) or isinstance(b, tuple | list):
            raise self.refusal(node, f"{ast.unparse(node)}: operators are for numbers")
        if any(isinstance(value, Tensor) for value in (a, b)):
            raise self.refusal(node, f"{ast.unparse(node)}: operators are for elements of tensors, not for whole ones")
        if isinstance(op, ast.Pow) and not isinstance(a, Node) and not isinstance(b, Node):
            return a**b
        result = _OPERATORS[type(op)](a, b)
        return result.asexpr() if isinstance(result, Equality) else result

    def _quotient(self, node: ast.BinOp) -> Any:
        a, b = self.value(node.left), self.value(node.right)
        if not isinstance(a, Node) and not isinstance(b, Node):
            return a / b
        x, y = match_types(convert(a), convert(b))
        if not x.dtype.is_float:
            raise self.refusal(node, f"{ast.unparse(node)}: / of integers is a float; use //, or float32(...) first")
        if isinstance(y, FloatImm) and y.value:
            return binary(Mul, x, const(1 / y.value, x.dtype))  # as TVM has it
        return x / y

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        match node.op:
            case ast.USub():
                return -value
            case ast.UAdd():
                return value
            case ast.Not():
                return not value if is_known(value) else Not(_condition(value))
            case _:
                return ~value

    def _connective(self, node: ast.BoolOp) -> Any:
        """Return a conjunction or disjunction; a known part that decides it ends it, as in Python."""
        parts: list[Expr] = []
        deciding = isinstance(node.op, ast.Or)
        for item in node.values:
            value = self.value(item)
            if is_known(value):
                if bool(value) is deciding:
                    parts.append(const(deciding, "bool"))
                    break
                continue
            parts.append(_condition(value))
        return (ops.any if deciding else ops.all)(*parts) if parts else not deciding

    def _comparison(self, node: ast.Compare) -> Any:
        values = [self.value(item) for item in (node.left, *node.comparators)]
        pairs = zip(node.ops, values[:-1], values[1:], strict=True)
        found = [self._operation(node, op, a, b) for op, a, b in pairs]
        if all(isinstance(item, bool) for item in found):
            return all(found)
        return found[0] if len(found) == 1 else ops.all(*(convert(item) for item in found))

    def _choice(self, node: ast.IfExp) -> Any:
        condition = self.value(node.test)
        if is_known(condition):
            return self.value(node.body if condition else node.orelse)
        return ops.if_then_else(_condition(condition), self.expr(node.body), self.expr(node.orelse))

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, Tensor) and node.attr in ("shape", "dtype"):
            return getattr(owner, node.attr)
        if isinstance(owner, ProducerLoad) and node.attr == "dtype":
            return owner.dtype
        raise self.refusal(node, f"{ast.unparse(node)}: tensors have .shape and .dtype, nothing else has attributes")

    def _element(self, node: ast.Subscript) -> Any:
        owner, index = self.value(node.value), self.value(node.slice)
        if isinstance(owner, tuple | list):
            places = index if isinstance(index, tuple) else (index,)
            if not all(isinstance(place, int | IntImm) for place in places):
                raise self.refusal(node, f"{ast.unparse(node)}: expected an index that is a constant")
            return reduce(lambda items, place: items[int(place)], places, owner)
        if not isinstance(owner, Tensor | TensorSlice):
            raise self.refusal(node, f"{ast.unparse(node.value)} has no elements")
        element = owner[index]
        return element.asexpr() if len(element.indices) == element.tensor.ndim else element

    def _call(self, node: ast.Call) -> Any:
        if node.keywords and not (isinstance(node.func, ast.Name) and node.func.id in ("allocate", "output_tensor")):
            raise self.refusal(node, f"{ast.unparse(node)}: arguments have no names in a hybrid script")
        if not isinstance(node.func, ast.Name):
            raise self.refusal(node, f"{ast.unparse(node.func)} cannot be called in a hybrid script")
        name = node.func.id
        if name in self.names:
            assert self.called is not None
            return self.called(node, self.names[name], [self.value(item) for item in node.args])
        given = [self.value(item) for item in node.args]
        match name, given:
            case "len", [tuple() | list() as items]:
                return len(items)
            case "len", [Tensor() as tensor]:
                return tensor.shape[0]
            case (("min" | "max"), [_, _, *_]):
                return self._extreme(name, given)
            case "ceil_div", [a, b]:
                return (a + b - 1) // b
            case "max_num_threads", _:
                return 1
            case _, [value] if name in CASTS:
                return cast_to(convert(value), const(0, name).dtype)
            case _ if name in _FUNCTIONS:
                return _FUNCTIONS[name](*given)
            case _:
                raise self.refusal(node, f"{ast.unparse(node)}: {name!r} is no function of hybrid script")

    def _extreme(self, name: str, given: list[Any]) -> Any:
        if all(isinstance(value, int | float) for value in given):
            return (min if name == "min" else max)(given)
        best = given[0]
        for value in given[1:]:
            best = (ops.min if name == "min" else ops.max)(best, value)
        return best


def _condition(value: Any) -> Expr:
    expr = convert(value)
    return expr if expr.dtype == "bool" else convert(expr != 0)
