"""Expressions of TVMScript: Python's syntax tree to nodes of TIR.

Tests: tests/vta/tir/script/test_parser.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from isa.errors import VTAError
from vta.tir import math_ops, ops
from vta.tir.buffer import Buffer
from vta.tir.calls import call_intrin, ret
from vta.tir.deep import deep
from vta.tir.dtype import BOOL, DType
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    Broadcast,
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterKind,
    IterVar,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Node,
    Not,
    Ramp,
    Range,
    Select,
    Shuffle,
    Sub,
    Var,
    arithmetic,
    binary,
    bitwise,
    cast_to,
    const,
    convert,
    match_types,
)

__all__ = ["Reader", "ScriptError"]


class ScriptError(VTAError, ValueError):
    """A function that the script cannot be read as; the message has its place."""


_BINARY: Mapping[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: lambda a, b: binary(Add, a, b),
    ast.Sub: lambda a, b: binary(Sub, a, b),
    ast.Mult: lambda a, b: binary(Mul, a, b),
    ast.FloorDiv: lambda a, b: binary(FloorDiv, a, b),
    ast.Mod: lambda a, b: binary(FloorMod, a, b),
    ast.Div: lambda a, b: a / b,
    ast.LShift: lambda a, b: bitwise(Builtin.SHIFT_LEFT, a, b),
    ast.RShift: lambda a, b: bitwise(Builtin.SHIFT_RIGHT, a, b),
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
}
_COMPARE: Mapping[type[ast.cmpop], Any] = {
    ast.Eq: EQ, ast.NotEq: NE, ast.Lt: LT, ast.LtE: LE, ast.Gt: GT, ast.GtE: GE,
}  # fmt: skip
_PLAIN: Mapping[str, Any] = {
    "min": Min, "max": Max, "truncdiv": Div, "truncmod": Mod, "floordiv": FloorDiv, "floormod": FloorMod
}  # fmt: skip
_RAW: Mapping[str, Any] = {name: getattr(arithmetic, name) for name in arithmetic.__all__}
"""Nodes by their own names: of constants they stay what they are."""

_TYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)
_BY_NAME: Mapping[str, Builtin] = {str(op).removeprefix("tir."): op for op in Builtin}


class Reader:
    """Reads expressions; ``names`` is what names stand for, ``where`` says the place of a node for errors."""

    def __init__(self, names: dict[str, Any], where: Callable[[ast.AST], str]) -> None:
        self.names = names
        self.where = where

    def refusal(self, node: ast.AST, text: str) -> ScriptError:
        """Return the error of ``node``."""
        return ScriptError(f"{self.where(node)}: {text}")

    def expr(self, node: ast.expr) -> Expr:
        """Return what must be an expression of TIR."""
        value = self.value(node)
        try:
            return convert(value)
        except VTAError as error:
            raise self.refusal(node, str(error)) from None

    @deep
    def value(self, node: ast.expr) -> Any:
        """Return what an expression of Python stands for: a node, a buffer, a number, a text, a list."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node)
            case ast.Tuple() | ast.List():
                return [self.value(item) for item in node.elts]
            case ast.Dict():
                keys = [self.value(key) for key in node.keys if key is not None]
                return dict(zip(keys, map(self.value, node.values), strict=True))
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp():
                return self._guarded(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self.call(node)
            case _:
                raise self.refusal(node, f"{ast.unparse(node)} has no meaning in a script")

    def _name(self, node: ast.Name) -> Any:
        if node.id not in self.names:
            raise self.refusal(node, f"{node.id!r} is not defined here")
        return self.names[node.id]

    def _guarded(self, node: ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp) -> Any:
        try:
            return self._operation(node)
        except ScriptError:
            raise
        except (VTAError, TypeError, ZeroDivisionError) as error:
            raise self.refusal(node, str(error)) from None

    def _operation(self, node: ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp) -> Any:
        match node:
            case ast.BinOp(left=left, right=right, op=op) if type(op) in _BINARY:
                a, b = self.value(left), self.value(right)
                if not isinstance(a, Node) and not isinstance(b, Node):
                    return eval(compile(ast.Expression(ast.fix_missing_locations(  # two numbers
                        ast.BinOp(ast.Constant(a), op, ast.Constant(b)))), "script", "eval"), {})  # fmt: skip
                return _BINARY[type(op)](*match_types(a, b))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.expr(operand)
                return const(not inner.value, BOOL) if isinstance(inner, IntImm) else Not(inner)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return ~self.expr(operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return binary(_COMPARE[type(op)], *match_types(self.value(left), self.value(right)))
            case ast.BoolOp(op=op, values=values):
                join = ops.all if isinstance(op, ast.And) else ops.any
                return join(*(self.expr(value) for value in values))
            case _:
                raise self.refusal(node, f"{ast.unparse(node)} has no meaning in a script")

    def _subscript(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        match base:
            case Buffer():
                return self.load(node, base)
            case list() | tuple():
                return base[int(self.value(node.slice))]
            case _:
                raise self.refusal(node, f"{ast.unparse(node.value)} has no elements")

    def load(self, node: ast.Subscript, buffer: Buffer) -> BufferLoad:
        """Return an element."""
        return BufferLoad(buffer, self.indices(node, buffer))

    def indices(self, node: ast.Subscript, buffer: Buffer) -> tuple[Expr, ...]:
        """Return the indices of an element, as many as the buffer has dimensions."""
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        result: list[Expr] = []
        for item in items:
            if isinstance(item, ast.Slice):
                raise self.refusal(item, "a slice stands in T.reads and T.writes alone")
            result.append(self.expr(item))
        if len(result) != len(buffer.shape):
            raise self.refusal(node, f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, not {len(result)}")
        return tuple(result)

    def _attribute(self, node: ast.Attribute) -> Any:
        base = self.value(node.value)
        if isinstance(base, Buffer) and node.attr in ("data", "shape", "dtype", "elem_offset", "strides"):
            return list(value) if isinstance(value := getattr(base, node.attr), tuple) else value
        if isinstance(base, Node) and node.attr == "dtype":
            return base.dtype
        raise self.refusal(node, f"{ast.unparse(node)} has no meaning in a script")

    # Calls

    def word(self, node: ast.expr) -> str:
        """Return the word after ``T.`` ("" if it is none)."""
        text = ast.unparse(node)
        head, _, rest = text.partition(".")
        return rest if head in ("T", "tir") and head not in self.names else ""

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Return the values of a call's arguments."""
        given = [self.value(arg) for arg in node.args]
        return given, {word.arg: self.value(word.value) for word in node.keywords if word.arg is not None}

    def call(self, node: ast.Call) -> Any:
        """Return what a call of a word stands for."""
        word = self.word(node.func)
        if not word:
            raise self.refusal(node, f"{ast.unparse(node.func)} is no word of the script; words begin with T.")
        given, named = self.arguments(node)
        try:
            return self._made(word, given, named, node)
        except ScriptError:
            raise
        except (VTAError, TypeError, ValueError, IndexError) as error:
            raise self.refusal(node, f"T.{word}: {error}") from None

    def _made(self, word: str, given: Sequence[Any], named: Mapping[str, Any], node: ast.Call) -> Any:
        match word, given:
            case "var", [kind, *_]:
                return Var("v", DType(kind))
            case "span", [low, extent]:
                return Range(*match_types(low, extent))
            case "iter_var", [var, dom, kind, tag]:
                return IterVar(dom, var, IterKind(kind), tag)
            case "cast", [value, kind]:
                held, dtype = convert(value), DType(kind)
                return held if held.dtype == dtype else Cast(dtype, held)
            case "Select", [condition, a, b]:
                return Select(convert(condition), *match_types(a, b))
            case "if_then_else", [condition, a, b]:
                return ops.if_then_else(condition, a, b)
            case "Let", [var, value, body]:
                return Let(var, convert(value), convert(body))
            case "ramp", [base, stride, lanes]:
                return Ramp(*match_types(base, stride), int(lanes))
            case "broadcast", [value, lanes]:
                return Broadcast(convert(value), int(lanes))
            case "Shuffle", [vectors, places]:
                return Shuffle(tuple(map(convert, vectors)), tuple(places))
            case "max_value" | "min_value", [kind]:
                return getattr(ops, word)(kind)
            case (("call_extern" | "call_pure_extern" | "tvm_call_packed"), [*args]):
                return Call(DType(named["dtype"]), _BY_NAME[word], tuple(map(convert, args)))
            case "ret", [value]:
                return ret(value)
            case "call_packed", [*args]:
                return Call(DType(named.get("dtype", "int32")), Builtin.CALL_PACKED, tuple(map(convert, args)))
            case "call_intrin", [kind, op, *args]:
                return call_intrin(kind, op, *args)
            case _ if word in _TYPES and len(given) == 1:
                return _number(given[0], DType(word))
            case _ if word in _RAW and len(given) == 2:
                return _RAW[word](*match_types(*given))
            case _ if word in _PLAIN and len(given) == 2:
                return binary(_PLAIN[word], *match_types(*given))
            case _ if word in _BY_NAME and "dtype" in named:
                return Call(DType(named["dtype"]), _BY_NAME[word], tuple(map(convert, given)))
            case _ if word in ops.__all__ or word in math_ops.__all__:
                return getattr(ops if word in ops.__all__ else math_ops, word)(*given)
            case _:
                raise self.refusal(node, f"T.{word} is no word that the script has here")


def _number(value: Any, dtype: DType) -> Expr:
    if isinstance(value, Node):
        return cast_to(value.asexpr(), dtype)
    if dtype.is_float:
        return FloatImm(float(value), dtype)
    return const(value, dtype)
